// SPDX-License-Identifier: MIT
//
// down.cuh - the vertical sums of kernels that march (band.cuh, ways.cuh). Internal to filters/.
#ifndef FC_FILTERS_SEPCONV_DOWN_CUH
#define FC_FILTERS_SEPCONV_DOWN_CUH

#include "filters/filter2d/march.cuh"

// Adds the horizontal sums of row u to the sums it contributes to: tap j to those of the output j rows up.
// For long masks column by column: a multiply-add of two registers in one bank stalls, unless it has just
// read one of them.
template <int N, int SUMS>
__device__ __forceinline__ void fc_add_down(int u, const float *y, float4 v, float4 (&sum)[SUMS]) {
  if constexpr (N <= 19) {
#pragma unroll
    for (int j = 0; j < N; j++) fc_fma4(y[j], v.x, v.y, v.z, v.w, sum[u + N - 1 - j]);
  } else {
#pragma unroll
    for (int j = 0; j < N; j++) sum[u + N - 1 - j].x = fmaf(y[j], v.x, sum[u + N - 1 - j].x);
#pragma unroll
    for (int j = 0; j < N; j++) sum[u + N - 1 - j].y = fmaf(y[j], v.y, sum[u + N - 1 - j].y);
#pragma unroll
    for (int j = 0; j < N; j++) sum[u + N - 1 - j].z = fmaf(y[j], v.z, sum[u + N - 1 - j].z);
#pragma unroll
    for (int j = 0; j < N; j++) sum[u + N - 1 - j].w = fmaf(y[j], v.w, sum[u + N - 1 - j].w);
  }
}

#endif
