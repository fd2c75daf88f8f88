// SPDX-License-Identifier: MIT
//
// cuda.cuh - included by every kernel of filters/: the installed helpers (views on the device, loads and
// stores of samples, dispatch, the check after a launch), and helpers for our own kernels.
#ifndef FC_FILTERS_CUDA_CUH
#define FC_FILTERS_CUDA_CUH

#include "core/contract/fc_helpers.cuh"

// ---- numbers -------------------------------------------------------------

// Division of numbers below 2^31 by one known to the host, in three instructions instead of about twenty.
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
#ifndef __CUDACC_RTC__ // a kernel composed at run time has its host part in core/device

// fc_dispatch_dtype in a kernel: for what is too rare to have a kernel for each type.
template <typename Fn> __device__ __forceinline__ void fc_dev_dispatch(int dtype, Fn f) {
  switch (dtype) {
  case FC_U8: return f(uint8_t{});
  case FC_I16: return f(int16_t{});
  case FC_U16: return f(uint16_t{});
  case FC_I32: return f(int32_t{});
  case FC_F32: return f(float{});
  default: return f(double{});
  }
}

// Clears the last error, which fc_launch_status would otherwise attribute to the next launch. Returns false.
static inline bool fc_forget_error(void) {
  (void)cudaGetLastError();
  return false;
}

// Allows a kernel's blocks at least this much dynamic shared memory: the limit belongs to the kernel and is
// never lowered, since another thread may be about to launch it with more.
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

#endif
#endif
