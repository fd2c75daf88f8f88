// SPDX-License-Identifier: MIT
//
// cuda.cuh - what every kernel of filters/ shares: views on the device, loads and
// stores of samples, dispatch over element types, and the check after a launch.
//
// F is the compute type (float or double), T the stored one. Conversions are those
// of samples.h, to the bit: value = (code - bias) * scale; stores round half to
// even, clamp, and note NaN and clipping.
//
// A kernel is usually templated on F and the input's T (12 instances), with the
// output's type a run-time switch that is the same for every thread
// (fc_dev_store_any): all 72 pairs would take minutes to compile and a vector store
// is worth it for few of them.
#ifndef FC_FILTERS_CUDA_CUH
#define FC_FILTERS_CUDA_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#include "core/contract/view.h"

// ---- views ---------------------------------------------------------------

// A view as a kernel argument.
struct fc_dev_view {
  char *data;
  int64_t shape[FC_AXES];
  int64_t stride[FC_AXES]; // bytes
  int32_t dtype;

  __device__ __forceinline__ char *at(int64_t n, int64_t y, int64_t x, int64_t c) const {
    return data + n * stride[FC_AXIS_N] + y * stride[FC_AXIS_Y] + x * stride[FC_AXIS_X] +
           c * stride[FC_AXIS_C];
  }
};

static inline fc_dev_view fc_dev_view_of(const fc_view *v) {
  fc_dev_view d;
  d.data = static_cast<char *>(v->data);
  d.dtype = v->dtype;
  for (int a = 0; a < FC_AXES; a++) d.shape[a] = v->shape[a], d.stride[a] = v->stride[a];
  return d;
}

// ---- samples -------------------------------------------------------------

// fc_scaling in the compute type, with the inverse that stores multiply by (a power
// of two, so exact).
template <typename F> struct fc_dev_map {
  F scale, inverse;
  int32_t bias;
};

template <typename F> static inline fc_dev_map<F> fc_dev_map_of(int kind, int dtype) {
  fc_scaling s = fc_scaling_of(kind, dtype);
  fc_dev_map<F> m = {static_cast<F>(s.scale), static_cast<F>(1.0 / s.scale), static_cast<int32_t>(s.bias)};
  return m;
}

template <typename T> struct fc_dev_limits;
template <> struct fc_dev_limits<uint8_t> { static constexpr int32_t low = 0, high = 255; };
template <> struct fc_dev_limits<int16_t> { static constexpr int32_t low = -32768, high = 32767; };
template <> struct fc_dev_limits<uint16_t> { static constexpr int32_t low = 0, high = 65535; };
template <> struct fc_dev_limits<int32_t> { static constexpr int32_t low = INT32_MIN, high = INT32_MAX; };

// The real value of one stored sample.
template <typename F, typename T> __device__ __forceinline__ F fc_dev_value(T code, fc_dev_map<F> map) {
  return (static_cast<F>(code) - static_cast<F>(map.bias)) * map.scale;
}
template <> __device__ __forceinline__ float fc_dev_value(float v, fc_dev_map<float>) {
  return v;
}
template <> __device__ __forceinline__ float fc_dev_value(double v, fc_dev_map<float>) {
  return static_cast<float>(v);
}
template <> __device__ __forceinline__ double fc_dev_value(float v, fc_dev_map<double>) {
  return v;
}
template <> __device__ __forceinline__ double fc_dev_value(double v, fc_dev_map<double>) {
  return v;
}

template <typename F, typename T>
__device__ __forceinline__ F fc_dev_load(const void *from, fc_dev_map<F> map) {
  return fc_dev_value<F, T>(*static_cast<const T *>(from), map);
}

// The element type chosen at run time.
template <typename F>
__device__ __forceinline__ F fc_dev_load_any(const void *from, int dtype, fc_dev_map<F> map) {
  switch (dtype) {
  case FC_U8: return fc_dev_load<F, uint8_t>(from, map);
  case FC_I16: return fc_dev_load<F, int16_t>(from, map);
  case FC_U16: return fc_dev_load<F, uint16_t>(from, map);
  case FC_I32: return fc_dev_load<F, int32_t>(from, map);
  case FC_F32: return fc_dev_load<F, float>(from, map);
  default: return fc_dev_load<F, double>(from, map);
  }
}

__device__ __forceinline__ float fc_dev_round(float v) {
  return rintf(v);
}
__device__ __forceinline__ double fc_dev_round(double v) {
  return rint(v);
}

// notes: FC_NOTES words as in plugin.h, or NULL. All threads that write, write 1. Where most
// samples are clamped the stores to one address would take ten times as long as the filter, so
// a multiprocessor that sees the note in its own cache leaves it at that.
__device__ __forceinline__ void fc_dev_note(uint32_t *notes, int which) {
  if (!notes) return;
  uint32_t noted;
  asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(noted) : "l"(notes + which) : "memory");
  if (!noted) *const_cast<volatile uint32_t *>(notes + which) = 1;
}

// The stored sample of a real value. The upper limit is compared as "below high + 1",
// which is a value of every F (2147483647 is no float).
template <typename F, typename T>
__device__ __forceinline__ T fc_dev_code(F value, fc_dev_map<F> map, uint32_t *notes) {
  const F low = static_cast<F>(fc_dev_limits<T>::low) - static_cast<F>(map.bias);
  const F above =
      static_cast<F>(static_cast<double>(fc_dev_limits<T>::high) + 1.0) - static_cast<F>(map.bias);
  F r = fc_dev_round(value * map.inverse);
  if (r >= low && r < above) return static_cast<T>(static_cast<int32_t>(r) + map.bias);
  if (r != r) {
    fc_dev_note(notes, 0);
    return static_cast<T>(map.bias);
  }
  fc_dev_note(notes, 1);
  return static_cast<T>(r < low ? fc_dev_limits<T>::low : fc_dev_limits<T>::high);
}
template <> __device__ __forceinline__ float fc_dev_code(float v, fc_dev_map<float>, uint32_t *) {
  return v;
}
template <> __device__ __forceinline__ float fc_dev_code(double v, fc_dev_map<double>, uint32_t *) {
  return static_cast<float>(v);
}
template <> __device__ __forceinline__ double fc_dev_code(float v, fc_dev_map<float>, uint32_t *) {
  return v;
}
template <> __device__ __forceinline__ double fc_dev_code(double v, fc_dev_map<double>, uint32_t *) {
  return v;
}

template <typename F, typename T>
__device__ __forceinline__ void fc_dev_store(void *to, F value, fc_dev_map<F> map, uint32_t *notes) {
  *static_cast<T *>(to) = fc_dev_code<F, T>(value, map, notes);
}

template <typename F>
__device__ __forceinline__ void fc_dev_store_any(void *to, int dtype, F value, fc_dev_map<F> map,
                                                 uint32_t *notes) {
  switch (dtype) {
  case FC_U8: fc_dev_store<F, uint8_t>(to, value, map, notes); break;
  case FC_I16: fc_dev_store<F, int16_t>(to, value, map, notes); break;
  case FC_U16: fc_dev_store<F, uint16_t>(to, value, map, notes); break;
  case FC_I32: fc_dev_store<F, int32_t>(to, value, map, notes); break;
  case FC_F32: fc_dev_store<F, float>(to, value, map, notes); break;
  default: fc_dev_store<F, double>(to, value, map, notes); break;
  }
}

// ---- numbers -------------------------------------------------------------

// Division of numbers below 2^31 by one known to the host, in three instructions instead of some twenty.
struct fc_dev_divider {
  uint32_t times, shift;

  __device__ __forceinline__ int quotient(int t) const {
    return static_cast<int>((__umulhi(times, static_cast<uint32_t>(t)) + static_cast<uint32_t>(t)) >> shift);
  }
};

// From 1 to 2^31.
static inline fc_dev_divider fc_dev_divider_of(int64_t d) {
  fc_dev_divider v = {0, 0};
  const uint64_t divisor = static_cast<uint64_t>(d < 1 ? 1 : d);
  while ((uint64_t{1} << v.shift) < divisor) v.shift++;
  v.times = static_cast<uint32_t>((((uint64_t{1} << v.shift) - divisor) << 32) / divisor + 1);
  return v;
}

// ---- launching -----------------------------------------------------------

// Calls f with a value of the element type: fc_dispatch_dtype(v->dtype, [&](auto t) {
//   using T = decltype(t); return launch<float, T>(...); });
template <typename Fn> static inline fc_status fc_dispatch_dtype(int dtype, Fn f) {
  switch (dtype) {
  case FC_U8: return f(uint8_t{});
  case FC_I16: return f(int16_t{});
  case FC_U16: return f(uint16_t{});
  case FC_I32: return f(int32_t{});
  case FC_F32: return f(float{});
  case FC_F64: return f(double{});
  default: return FC_FATAL;
  }
}

// The same over the compute type, FC_F32 or FC_F64.
template <typename Fn> static inline fc_status fc_dispatch_compute(int compute, Fn f) {
  switch (compute) {
  case FC_F32: return f(float{});
  case FC_F64: return f(double{});
  default: return FC_FATAL;
  }
}

// What became of the launch before it. Errors of the kernel itself come to light when
// the host synchronises.
static inline fc_status fc_launch_status(void) {
  switch (cudaGetLastError()) {
  case cudaSuccess: return FC_OK;
  case cudaErrorMemoryAllocation: return FC_NO_MEMORY;
  case cudaErrorNoKernelImageForDevice: return FC_UNSUPPORTED;
  default: return FC_DEVICE;
  }
}

// Forgets the last error, which fc_launch_status would take for one of the next launch. False.
static inline bool fc_forget_error(void) {
  (void)cudaGetLastError();
  return false;
}

// Lets a kernel's blocks have so many bytes of dynamic shared memory, and more: what is asked for belongs to
// the kernel, so a thread that asked for less would take it from one that is about to launch with more.
template <typename K> static inline bool fc_allow_shared(K kernel, int64_t bytes) {
  cudaFuncAttributes about;
  int device = 0, most = 0;
  if (cudaFuncGetAttributes(&about, kernel) != cudaSuccess || cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess)
    return fc_forget_error();
  most -= static_cast<int>(about.sharedSizeBytes);
  if (bytes > most) return false;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most) == cudaSuccess ||
         fc_forget_error();
}

// Blocks to launch over `work` items of which a block takes `per_block` at a time, for
// a kernel that strides over what the grid does not reach: at most `limit`
// (65535 in y and z, 2^31 - 1 in x), at least one.
static inline unsigned fc_blocks(int64_t work, int64_t per_block, int64_t limit) {
  int64_t blocks = (work + per_block - 1) / per_block;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > limit ? limit : blocks);
}

#endif
