// SPDX-License-Identifier: MIT
//
// fc_helpers.cuh - the device's side of fc_helpers.h: views in kernels, loads and stores of samples, dispatch
// over element types, launches. C++17 for nvcc; nothing to link but the CUDA runtime.
//
// F is the compute type (float or double), T the stored one. Conversions are those of fc_rows, to the bit:
// value = (code - bias) * scale; stores round half to even, clamp, and note NaN and clipping.
//
// A kernel is usually templated on F and the input's T (12 instances), and switches on the output's type at
// run time, the same way in every thread (fc_dev_store_any): all 72 pairs would take minutes to compile, and
// few of them gain from vector stores.
//
// An operator that treats each sample by itself is a functor and a call of fc_dev_map_samples:
//
//     struct solarize {
//       double level;
//       template <typename F> __device__ F operator()(F x) const { return x > F(level) ? 2 * F(level) - x :
//       x; }
//     };
//     static fc_status process(const fc_host *, const void *state, const fc_job *job) {
//       return fc_dev_map_samples(job->in[0], job->out, solarize{*static_cast<const double *>(state)},
//                                 job->compute, job->stream, job->notes);
//     }
#ifndef FC_HELPERS_CUH
#define FC_HELPERS_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#include "view.h"

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

// notes: FC_NOTES words as in plugin.h, or NULL. All threads that write, write 1. Where most samples are
// clamped, storing to one address from every thread would take ten times as long as the filter, so a thread
// that already sees the note in its multiprocessor's cache does not store it again.
__device__ __forceinline__ void fc_dev_note(uint32_t *notes, int which) {
  if (!notes) return;
  uint32_t noted = notes[which];
#ifdef __CUDA_ARCH__
  asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(noted) : "l"(notes + which) : "memory");
#endif
  if (!noted) *const_cast<volatile uint32_t *>(notes + which) = 1;
}

// The stored sample of a real value. The upper limit is compared as "below high + 1", which every F can
// represent (a float cannot represent 2147483647).
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

#ifndef __CUDACC_RTC__ /* the host's half */

// The status of the preceding launch. Errors in the kernel itself are reported when the host synchronises.
static inline fc_status fc_launch_status(void) {
  switch (cudaGetLastError()) {
  case cudaSuccess: return FC_OK;
  case cudaErrorMemoryAllocation: return FC_NO_MEMORY;
  case cudaErrorNoKernelImageForDevice: return FC_UNSUPPORTED;
  default: return FC_DEVICE;
  }
}

// Launches a kernel and returns its status. `stream` is fc_job.stream.
template <typename... P, typename... A>
static inline fc_status fc_launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, void *stream,
                                  A... arguments) {
  kernel<<<grid, block, shared, static_cast<cudaStream_t>(stream)>>>(static_cast<P>(arguments)...);
  return fc_launch_status();
}

// Number of blocks for `work` items of which a block takes `per_block` at a time, for a kernel with a
// grid-stride loop: at most `limit` (65535 in y and z, 2^31 - 1 in x), at least one.
static inline unsigned fc_blocks(int64_t work, int64_t per_block, int64_t limit) {
  int64_t blocks = (work + per_block - 1) / per_block;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > limit ? limit : blocks);
}

// ---- each sample by itself ------------------------------------------------

// Elements of a pair of views as lines of equal steps: whole rows where both are interleaved, else a channel
// of a row.
struct fc_dev_lines {
  int64_t count, rows, channels, length, in_step, out_step;
};

static inline bool fc_dev_is_interleaved(const fc_view *v) {
  const int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype));
  return (v->shape[FC_AXIS_C] == 1 || v->stride[FC_AXIS_C] == size) &&
         v->stride[FC_AXIS_X] == v->shape[FC_AXIS_C] * size;
}

static inline fc_dev_lines fc_dev_lines_of(const fc_view *in, const fc_view *out) {
  const bool whole = fc_dev_is_interleaved(in) && fc_dev_is_interleaved(out);
  const int64_t channels = whole ? 1 : out->shape[FC_AXIS_C], rows = out->shape[FC_AXIS_Y];
  return {out->shape[FC_AXIS_N] * rows * channels,
          rows,
          channels,
          out->shape[FC_AXIS_X] * (whole ? out->shape[FC_AXIS_C] : 1),
          whole ? static_cast<int64_t>(fc_dtype_size(in->dtype)) : in->stride[FC_AXIS_X],
          whole ? static_cast<int64_t>(fc_dtype_size(out->dtype)) : out->stride[FC_AXIS_X]};
}

template <typename F, typename Fn>
__global__ void fc_dev_map_kernel(fc_dev_view in, fc_dev_view out, fc_dev_lines lines, Fn fn,
                                  fc_dev_map<F> load, fc_dev_map<F> store, uint32_t *notes) {
  for (int64_t line = blockIdx.y; line < lines.count; line += gridDim.y) {
    const int64_t c = line % lines.channels, row = line / lines.channels;
    const int64_t n = row / lines.rows, y = row % lines.rows;
    const char *from = in.at(n, y, 0, c);
    char *to = out.at(n, y, 0, c);
    for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < lines.length;
         i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
      const F x = fc_dev_load_any<F>(from + i * lines.in_step, in.dtype, load);
      fc_dev_store_any<F>(to + i * lines.out_step, out.dtype, fn(x), store, notes);
    }
  }
}

// y = fn(x) for each sample: fn has a member `template <typename F> __device__ F operator()(F x) const`.
// Enqueues on `stream`; `compute`, `notes` and `stream` are those of fc_job.
template <typename Fn>
static inline fc_status fc_dev_map_samples(const fc_view *in, const fc_view *out, Fn fn, int compute,
                                           void *stream, uint32_t *notes) {
  constexpr int THREADS = 256;
  const fc_dev_lines lines = fc_dev_lines_of(in, out);
  if (lines.count == 0 || lines.length == 0) return FC_OK;
  const dim3 grid(fc_blocks(lines.length, THREADS, 1 << 20), fc_blocks(lines.count, 1, 65535));
  return fc_dispatch_compute(compute, [&](auto f) {
    using F = decltype(f);
    return fc_launch(fc_dev_map_kernel<F, Fn>, grid, dim3(THREADS), 0, stream, fc_dev_view_of(in),
                     fc_dev_view_of(out), lines, fn, fc_dev_map_of<F>(in->kind, in->dtype),
                     fc_dev_map_of<F>(out->kind, out->dtype), notes);
  });
}

// `process` of a CUDA backend for an FC_SAMPLE_FUNCTION (fc_helpers.h), of the same name, members and
// expression, prepared by NAME_prepare; compile with --fmad=false. Wants plugin.h.
template <typename F, typename A, typename B>
__device__ __forceinline__ auto fc_dev_numbers(const A &of_float, const B &of_double) {
  if constexpr (sizeof(F) == sizeof(float))
    return &of_float;
  else
    return &of_double;
}
#define FC_DEV_UNPACK(...) __VA_ARGS__
#define FC_DEV_SAMPLE_FUNCTION(process, name, members, x, ...)                                               \
  struct name##_device {                                                                                     \
    struct {                                                                                                 \
      float FC_DEV_UNPACK members;                                                                           \
    } of_float;                                                                                              \
    struct {                                                                                                 \
      double FC_DEV_UNPACK members;                                                                          \
    } of_double;                                                                                             \
    template <typename real> __device__ real operator()(real x) const {                                      \
      const auto *self = fc_dev_numbers<real>(of_float, of_double);                                          \
      (void)self;                                                                                            \
      return static_cast<real>(__VA_ARGS__);                                                                 \
    }                                                                                                        \
  };                                                                                                         \
  extern "C" fc_status process(const fc_host *, const void *state, const fc_job *job) {                      \
    name##_device f = {};                                                                                    \
    if (job->compute == FC_F64)                                                                              \
      memcpy(&f.of_double, state, sizeof f.of_double);                                                       \
    else                                                                                                     \
      memcpy(&f.of_float, state, sizeof f.of_float);                                                         \
    return fc_dev_map_samples(job->in[0], job->out, f, job->compute, job->stream, job->notes);               \
  }

#endif

#endif
