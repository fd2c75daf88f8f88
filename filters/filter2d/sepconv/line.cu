// SPDX-License-Identifier: MIT
//
// line.cu - separable filters of f32 images of one row, or one pixel wide (conv2d/line.cuh). Across the line
// all taps are multiplied with the same element, or all but the middle one with the constant. The host then
// computes the sum of the products before the middle tap.
#include "filters/filter2d/conv2d/line.cuh"
#include "filters/filter2d/sepconv/band.cuh"

namespace {

template <int N> struct taps_of {
  float along[N], across[N];
  bool column;   // sums across the line first, then along it; otherwise the other way round
  bool constant; // the elements beside the line are the border's constant
  float beside, ahead;
};

// Sums four adjacent elements, or their rows' horizontal sums, across the line.
template <int N> __device__ __forceinline__ float4 sum_across(const taps_of<N> &t, float4 v) {
  if (t.constant) {
    float4 sum = make_float4(t.ahead, t.ahead, t.ahead, t.ahead);
    fc_fma4(t.across[N / 2], v.x, v.y, v.z, v.w, sum);
#pragma unroll
    for (int j = N / 2 + 1; j < N; j++) fc_fma4(t.across[j], t.beside, t.beside, t.beside, t.beside, sum);
    return sum;
  }
  float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
  for (int j = 0; j < N; j++) fc_fma4(t.across[j], v.x, v.y, v.z, v.w, sum);
  return sum;
}

template <int N, int STEP>
__global__ void __launch_bounds__(FC_BAND_THREADS)
    sepconv_line(const __grid_constant__ fc_band b, const __grid_constant__ taps_of<N> t) {
  extern __shared__ __align__(16) float row[];
  const fc_band_way way = fc_band_begin<4, FC_LINE_GROUPS>(b);
  fc_line_fetch(b, way, row);
  fc_await_copies();
  __syncthreads();
  if (t.column) {
    float4 *quads = reinterpret_cast<float4 *>(row);
    for (int i = threadIdx.x; i < (way.width + b.margin + 3) / 4; i += FC_BAND_THREADS)
      quads[i] = sum_across<N>(t, quads[i]);
    __syncthreads();
  }
#pragma unroll 1
  for (int g = 0; g < FC_LINE_GROUPS && g * FC_BAND_WIDTH < way.width; g++) {
    const float4 v = fc_sum_along<N, STEP>(row + g * FC_BAND_WIDTH + 4 * threadIdx.x, t.along);
    fc_line_store(b, way, g, t.column ? v : sum_across<N>(t, v));
  }
}

template <int N> taps_of<N> taps_for(const fc_sepconv *op, const fc_march &m, bool column) {
  const float *x = static_cast<const float *>(op->x), *y = static_cast<const float *>(op->y);
  taps_of<N> t = {};
  for (int i = 0; i < N; i++) t.along[i] = column ? y[i] : x[i], t.across[i] = column ? x[i] : y[i];
  t.column = column, t.constant = fc_line_constant(m);
  float code;
  memcpy(&code, &m.edges.code, sizeof code);
  for (int i = 0; i < N; i++) t.beside = fmaf(t.along[i], code, t.beside);
  if (column) t.beside = code;
  for (int j = 0; j < N / 2; j++) t.ahead = fmaf(t.across[j], t.beside, t.ahead);
  return t;
}

template <int N, int STEP>
fc_status launch(const fc_sepconv *op, const fc_march &line, bool column, cudaStream_t stream) {
  const fc_band b = fc_band_floats_of(line, FC_LINE_GROUPS, fc_band_early<N, STEP>);
  return fc_band_launch(sepconv_line<N, STEP>, b, line, taps_for<N>(op, line, column), 4 * b.pitch, N,
                        stream);
}

} // namespace

fc_status fc_sepconv_line(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  const fc_march line = fc_line_of(m, op->nx, op->ny);
  const bool column = m.height > 1;
  return fc_band_choose<3, FC_SEPCONV_TAPS>(op->nx, [&](auto n) {
    switch (m.step) {
    case 1: return launch<n(), 1>(op, line, column, stream);
    case 3: return launch<n(), 3>(op, line, column, stream);
    default: return FC_UNSUPPORTED;
    }
  });
}
