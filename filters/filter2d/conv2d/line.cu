// SPDX-License-Identifier: MIT
//
// line.cu - dense 2-D filters of f32 images of one row, or one pixel wide (line.cuh).
#include "filters/filter2d/conv2d/kernels.cuh"
#include "filters/filter2d/conv2d/line.cuh"

namespace {

constexpr int GROUPS = 2; // groups of columns summed together, so that they share the loads of taps

template <int K> struct mask_of {
  static constexpr int PITCH = (K + 3) / 4 * 4;
  alignas(16) float tap[K][PITCH];
  bool constant;       // the elements beside the line are the border's constant
  float beside, ahead; // the constant; for one row, the sum of all window rows above the middle one
};

template <int K, int STEP> struct window {
  static constexpr int FIRST = fc_band_early<K, STEP>, QUADS = (FIRST + (K - 1) * STEP + 4 + 3) / 4;
  float of[GROUPS][4 * QUADS];

  __device__ __forceinline__ explicit window(const float *row) {
#pragma unroll
    for (int q = 0; q < QUADS * GROUPS; q++) {
      const int g = q / QUADS, at = q % QUADS * 4;
      const float4 v = *reinterpret_cast<const float4 *>(row + g * FC_BAND_WIDTH + at);
      of[g][at] = v.x, of[g][at + 1] = v.y, of[g][at + 2] = v.z, of[g][at + 3] = v.w;
    }
  }
  // The input that tap i along the line is multiplied with for output p.
  __device__ __forceinline__ float at(int i, int p) const {
    return of[p / 4][FIRST + i * STEP + p % 4];
  }
};

struct sums {
  float of[4 * GROUPS];
};

template <int K> __device__ __forceinline__ void add_constant(const mask_of<K> &mask, int j, sums &sum) {
#pragma unroll
  for (int i = 0; i < K; i++)
#pragma unroll
    for (int p = 0; p < 4 * GROUPS; p++) sum.of[p] = fmaf(mask.tap[j][i], mask.beside, sum.of[p]);
}

template <int K, int STEP>
__device__ __forceinline__ void add_row(const mask_of<K> &mask, int j, const window<K, STEP> &w, sums &sum) {
#pragma unroll
  for (int i = 0; i < K; i++)
#pragma unroll
    for (int p = 0; p < 4 * GROUPS; p++) sum.of[p] = fmaf(mask.tap[j][i], w.at(i, p), sum.of[p]);
}

// For an image of one row: all rows of the window are that row, or all but the middle one are the constant.
template <int K, int STEP>
__device__ __forceinline__ void sum_row(const mask_of<K> &mask, const window<K, STEP> &w, sums &sum) {
#pragma unroll
  for (int p = 0; p < 4 * GROUPS; p++) sum.of[p] = mask.constant ? mask.ahead : 0;
  if (mask.constant) {
    add_row<K, STEP>(mask, K / 2, w, sum);
#pragma unroll 1
    for (int j = K / 2 + 1; j < K; j++) add_constant<K>(mask, j, sum);
  } else {
#pragma unroll 1
    for (int j = 0; j < K; j++) add_row<K, STEP>(mask, j, w, sum);
  }
}

// For an image one pixel wide: each element is multiplied with a whole row of taps, or with the middle tap
// only, the others being multiplied with the constant.
template <int K, int STEP, bool CONSTANT>
__device__ __forceinline__ void sum_column(const mask_of<K> &mask, const window<K, STEP> &w, sums &sum) {
#pragma unroll
  for (int p = 0; p < 4 * GROUPS; p++) sum.of[p] = 0;
#pragma unroll
  for (int j = 0; j < K; j++) {
#pragma unroll
    for (int i = 0; i < K; i++)
#pragma unroll
      for (int p = 0; p < 4 * GROUPS; p++)
        sum.of[p] = fmaf(mask.tap[j][i], CONSTANT && i != K / 2 ? mask.beside : w.at(j, p), sum.of[p]);
    asm volatile("" ::: "memory"); // keeps taps in uniform registers
  }
}

template <int K, int STEP, bool COLUMN>
__global__ void __launch_bounds__(FC_BAND_THREADS)
    conv2d_line(const __grid_constant__ fc_band b, const __grid_constant__ mask_of<K> mask) {
  extern __shared__ __align__(16) float row[];
  const fc_band_way way = fc_band_begin<4, FC_LINE_GROUPS>(b);
  fc_line_fetch(b, way, row);
  fc_await_copies();
  __syncthreads();
#pragma unroll 1
  for (int g = 0; g < FC_LINE_GROUPS && g * FC_BAND_WIDTH < way.width; g += GROUPS) {
    const window<K, STEP> w(row + g * FC_BAND_WIDTH + 4 * threadIdx.x);
    sums sum;
    if (!COLUMN)
      sum_row<K, STEP>(mask, w, sum);
    else if (mask.constant)
      sum_column<K, STEP, true>(mask, w, sum);
    else
      sum_column<K, STEP, false>(mask, w, sum);
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
      fc_line_store(b, way, g + i,
                    make_float4(sum.of[4 * i], sum.of[4 * i + 1], sum.of[4 * i + 2], sum.of[4 * i + 3]));
  }
}

template <int K> mask_of<K> mask_for(const fc_conv2d *op, const fc_march &m) {
  mask_of<K> mask = {};
  for (int i = 0; i < K * K; i++) mask.tap[i / K][i % K] = static_cast<const float *>(op->mask)[i];
  mask.constant = fc_line_constant(m);
  memcpy(&mask.beside, &m.edges.code, sizeof mask.beside);
  for (int j = 0; j < K / 2; j++)
    for (int i = 0; i < K; i++) mask.ahead = fmaf(mask.tap[j][i], mask.beside, mask.ahead);
  return mask;
}

template <int K, int STEP>
fc_status launch(const fc_conv2d *op, const fc_march &line, bool column, cudaStream_t stream) {
  const fc_band b = fc_band_floats_of(line, FC_LINE_GROUPS, fc_band_early<K, STEP>);
  const auto kernel = column ? conv2d_line<K, STEP, true> : conv2d_line<K, STEP, false>;
  return fc_band_launch(kernel, b, line, mask_for<K>(op, line), 4 * b.pitch, K, stream);
}

} // namespace

fc_status fc_conv2d_line(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  const fc_march line = fc_line_of(m, op->nx, op->ny);
  const bool column = m.height > 1;
  return fc_band_choose<3, FC_CONV2D_TAPS>(op->nx, [&](auto k) {
    switch (m.step) {
    case 1: return launch<k(), 1>(op, line, column, stream);
    case 3: return launch<k(), 3>(op, line, column, stream);
    default: return FC_UNSUPPORTED;
    }
  });
}
