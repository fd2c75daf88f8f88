// SPDX-License-Identifier: MIT
//
// band.cuh - the kernels of sepconv.cu that march in bands (band.cuh), each in a file of its own.
// FC_UNSUPPORTED, with nothing enqueued, if there is no kernel for the case. `m` is from fc_march_of.
// Internal to filters/.
#ifndef FC_FILTERS_SEPCONV_BAND_CUH
#define FC_FILTERS_SEPCONV_BAND_CUH

#include "filters/filter2d/band.cuh"
#include "filters/filter2d/sepconv.h"

// Four adjacent sums of N taps, STEP apart, from s + FIRST on (s is aligned to 16 bytes).
template <int N, int STEP> __device__ __forceinline__ float4 fc_sum_along(const float *s, const float *x) {
  constexpr int FIRST = fc_band_early<N, STEP>, QUADS = (FIRST + (N - 1) * STEP + 4 + 3) / 4;
  float w[4 * QUADS];
  float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
  for (int i = 0; i < N; i++) {
#pragma unroll
    for (int q = 0; q < QUADS; q++) { // this tap is the first to need them
      const int last = FIRST + i * STEP + 3;
      const bool now = 4 * q <= last && (i == 0 || 4 * q > last - STEP);
      if (!now) continue;
      const float4 v = *reinterpret_cast<const float4 *>(s + 4 * q);
      w[4 * q] = v.x, w[4 * q + 1] = v.y, w[4 * q + 2] = v.z, w[4 * q + 3] = v.w;
    }
    const float *v = w + FIRST + i * STEP;
    fc_fma4(x[i], v[0], v[1], v[2], v[3], sum);
  }
  return sum;
}

// f32 to f32, one term, with the same odd number of taps, FC_BAND_TAPS or more, horizontally and vertically.
// The bits are those of sepconv.cu.
fc_status fc_sepconv_floats(const fc_sepconv *op, const fc_march &m, cudaStream_t stream);

// Short masks of u8 to u8, like fc_sepconv_bytes.
fc_status fc_sepconv_quads_bytes(const fc_sepconv *op, const fc_march &m, cudaStream_t stream);

// u8 to u8 for images, one term. Whether there is a kernel depends only on the types, the masks, the
// signal's extent (fc_sepconv_in_floats), and whether rows consist of adjacent elements: all parts of an
// image use the same one.
fc_status fc_sepconv_bytes(const fc_sepconv *op, const fc_march &m, cudaStream_t stream);

#endif
