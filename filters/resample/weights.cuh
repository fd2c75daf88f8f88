// SPDX-License-Identifier: MIT
//
// weights.cuh - weights of resample_math.h on a CUDA device: a warp computes those of an output.
#ifndef FC_FILTERS_RESAMPLE_WEIGHTS_CUH
#define FC_FILTERS_RESAMPLE_WEIGHTS_CUH

#include "filters/gpu/cuda.cuh"
#include "filters/resample/resample_math.h"

// Sums in the order of taps across the warp; all lanes get the sum. For each tap i of its own, a lane calls
// each(i, product, sum before, sum after).
template <typename Fn>
__device__ __forceinline__ double fc_running_sum(const fc_resample_axis &a, int64_t o, int64_t first,
                                                 int taps, double factor, Fn each) {
  const int lane = threadIdx.x % 32;
  double sum = 0;
  for (int base = 0; base < taps; base += 32) {
    const double mine = base + lane < taps ? fc_resample_folded(&a, o, first + base + lane) * factor : 0;
    for (int i = 0; i < 32 && base + i < taps; i++) {
      const double before = sum;
      sum += __shfl_sync(0xffffffffu, mine, i);
      if (i == lane) each(base + i, mine, before, sum);
    }
  }
  return sum;
}

__device__ __forceinline__ double fc_norm_of(const fc_resample_axis &a, int64_t o, int64_t first, int taps) {
  return 1 / fc_running_sum(a, o, first, taps, 1.0, [](int, double, double, double) {});
}

__device__ __forceinline__ int32_t fc_code_of(double running) {
  return static_cast<int32_t>(running * (1 << FC_RESAMPLE_WEIGHT_BITS) + 65536.5) - 65536;
}

// Weights of 14 bits, as fc_resample_codes makes them; a lane stores those of its taps.
__device__ __forceinline__ void fc_put_codes(const fc_resample_axis &a, int64_t o, int64_t first, int taps,
                                             double norm, int16_t *to) {
  fc_running_sum(a, o, first, taps, norm, [&](int i, double, double before, double sum) {
    to[i] = static_cast<int16_t>(fc_code_of(sum) - (i ? fc_code_of(before) : 0));
  });
}

#endif
