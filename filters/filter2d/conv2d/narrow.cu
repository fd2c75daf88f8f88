// SPDX-License-Identifier: MIT
//
// narrow.cu - dense 2-D filters of narrow images (narrow.cuh): each row of a window is read once for the
// FC_NARROW_DOWN vertically adjacent outputs that it contributes to.
#include "filters/filter2d/conv2d/narrow.cuh"
#include "filters/filter2d/conv2d/floats.cuh"

namespace {

static_assert(FC_CONV2D_TAPS * FC_CONV2D_TAPS <= FC_CONV2D_RUN, "masks are summed in one run");

// Rows of 16 taps, zero beyond the mask's nx.
struct mask {
  int nx, ny;
  alignas(16) float tap[FC_CONV2D_TAPS][FC_CONV2D_TAPS + 1];
};

// Adds row q of a window, read from s on (aligned to 16 bytes), to a thread's outputs [low, high), which are
// all of them if ALL: output r uses row q - r of the mask.
template <int STEP, bool ALL>
__device__ __forceinline__ void add_row(const mask &m, const float *s, int q, int low, int high,
                                        float4 (&sum)[FC_NARROW_DOWN]) {
  float w[4 * STEP + 4];
  float4 v = *reinterpret_cast<const float4 *>(s);
  w[0] = v.x, w[1] = v.y, w[2] = v.z, w[3] = v.w;
#pragma unroll 2
  for (int i = 0; i < m.nx; i += 4) {
#pragma unroll
    for (int k = 1; k <= STEP; k++) {
      v = *reinterpret_cast<const float4 *>(s + i * STEP + 4 * k);
      w[4 * k] = v.x, w[4 * k + 1] = v.y, w[4 * k + 2] = v.z, w[4 * k + 3] = v.w;
    }
#pragma unroll
    for (int n = 0; n < 4; n++) {
      if (n > 0 && i + n >= m.nx) break;
      const float *u = w + n * STEP;
#pragma unroll
      for (int r = 0; r < FC_NARROW_DOWN; r++)
        if (ALL || (r >= low && r < high)) fc_fma4(m.tap[q - r][i + n], u[0], u[1], u[2], u[3], sum[r]);
    }
#pragma unroll
    for (int p = 0; p < 4; p++) w[p] = w[4 * STEP + p];
  }
}

// The same for a row of K taps, with K and all bounds known at compile time.
template <int STEP, int K>
__device__ __forceinline__ void add_fixed(const mask &m, const float *s, int q,
                                          float4 (&sum)[FC_NARROW_DOWN]) {
  constexpr int QUADS = ((K - 1) * STEP + 4 + 3) / 4;
  float w[4 * QUADS];
#pragma unroll
  for (int k = 0; k < QUADS; k++) {
    const float4 v = *reinterpret_cast<const float4 *>(s + 4 * k);
    w[4 * k] = v.x, w[4 * k + 1] = v.y, w[4 * k + 2] = v.z, w[4 * k + 3] = v.w;
  }
#pragma unroll
  for (int i = 0; i < K; i++) {
    const float *u = w + i * STEP;
#pragma unroll
    for (int r = 0; r < FC_NARROW_DOWN; r++)
      if (q >= r && q - r < K) fc_fma4(m.tap[q - r][i], u[0], u[1], u[2], u[3], sum[r]);
  }
}

// Sums a thread's outputs. `rows` points to its first column, `source` has the offset of each row. K is the
// taps per side of the mask, or 0 if not known at compile time.
template <int STEP, int K>
__device__ __forceinline__ void sum_all(const fc_narrow &b, const mask &m, const float *rows,
                                        const int *source, float4 (&sum)[FC_NARROW_DOWN]) {
  if constexpr (K > 0) {
#pragma unroll
    for (int q = 0; q < K + FC_NARROW_DOWN - 1; q++) add_fixed<STEP, K>(m, rows + source[q], q, sum);
  } else {
#pragma unroll 1
    for (int q = 0; q < m.ny + FC_NARROW_DOWN - 1; q++) {
      if (q >= FC_NARROW_DOWN - 1 && q < m.ny)
        add_row<STEP, true>(m, rows + source[q], q, 0, FC_NARROW_DOWN, sum);
      else
        add_row<STEP, false>(m, rows + source[q], q, max(q - m.ny + 1, 0), min(q + 1, FC_NARROW_DOWN), sum);
    }
  }
}

// FLOATS: f32 to f32.
template <int STEP, int K, bool FLOATS>
__global__ void __launch_bounds__(FC_NARROW_THREADS)
    conv2d_narrow(const __grid_constant__ fc_narrow b, const __grid_constant__ mask m) {
  extern __shared__ __align__(16) uint32_t memory[];
  __shared__ fc_narrow_tables tables;
  const fc_narrow_lane l = fc_narrow_lane_of(b);
  fc_narrow_look_up(b, tables);
  __syncthreads();
  fc_narrow_values<FLOATS>(b, tables, l, memory);
  __syncthreads();
  fc_narrow_each(b, tables, l, [&](int piece, int y, int column, int count) {
    const float *rows = reinterpret_cast<const float *>(memory) + piece * b.held * b.pitch + column;
    float4 sum[FC_NARROW_DOWN] = {};
    sum_all<STEP, K>(b, m, rows, tables.source + y, sum);
    char *to = tables.out[piece] + y * b.out_row;
    if constexpr (FLOATS) {
#pragma unroll
      for (int r = 0; r < FC_NARROW_DOWN; r++, to += b.out_row)
        if (r < count) fc_narrow_store_as<float>(b, to, column, sum[r]);
    } else {
      fc_narrow_store_rows(b, to, column, sum, count);
    }
  });
}

template <int K, bool FLOATS>
fc_status launch(const fc_march &m, const fc_narrow &b, const mask &t, cudaStream_t stream) {
  switch (m.step) {
  case 1: return fc_narrow_launch(conv2d_narrow<1, K, FLOATS>, b, t, stream);
  case 2: return fc_narrow_launch(conv2d_narrow<2, 0, false>, b, t, stream);
  case 3: return fc_narrow_launch(conv2d_narrow<3, K, FLOATS>, b, t, stream);
  default: return fc_narrow_launch(conv2d_narrow<4, 0, false>, b, t, stream);
  }
}

} // namespace

fc_status fc_conv2d_narrow(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  if (!fc_narrow_fits(m)) return FC_UNSUPPORTED;
  const fc_narrow b = fc_narrow_of(m, op->nx, op->ny, false);
  mask t = {};
  t.nx = static_cast<int>(op->nx), t.ny = static_cast<int>(op->ny);
  for (int j = 0; j < t.ny; j++)
    for (int i = 0; i < t.nx; i++) t.tap[j][i] = static_cast<const float *>(op->mask)[j * t.nx + i];
  const bool floats = m.in_dtype == FC_F32 && m.out_dtype == FC_F32 && t.nx == t.ny;
  if (floats && t.nx == 3) return launch<3, true>(m, b, t, stream);
  if (floats && t.nx == 5) return launch<5, true>(m, b, t, stream);
  if (floats && t.nx == 7) return launch<7, true>(m, b, t, stream);
  return launch<0, false>(m, b, t, stream);
}
