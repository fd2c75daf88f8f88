// SPDX-License-Identifier: MIT
//
// thin.cu - separable filters of f32 images of few rows (sepconv/thin.cuh): each row, and the constant, is
// summed horizontally once; vertically, a window's rows are looked up among these sums. Also images of one
// row, or one pixel wide, with masks that line.cu has no kernel for, since it requires as many taps
// horizontally as vertically.
//
// For masks with the same number of taps in both directions, as most have, there are kernels with the number
// known at compile time: summing a row horizontally loads nothing but the window, and the rows of a window
// are looked up once for all outputs.
#include "filters/filter2d/sepconv/thin.cuh"
#include "filters/filter2d/sepconv/band.cuh"

namespace {

// x: taps along memory; y: taps across it.
struct taps {
  int nx, ny;
  alignas(16) float x[FC_MARCH_MARGIN + 4];
  alignas(16) float y[FC_MARCH_MARGIN];
};

// Each thread keeps its rows' horizontal sums in shared memory. ONE: an image of one row, whose sum stays in
// a register unless the constant is needed too.
template <int STEP, bool ONE>
__global__ void __launch_bounds__(FC_BAND_THREADS)
    sepconv_thin_row(const __grid_constant__ fc_band b, const __grid_constant__ taps t) {
  constexpr int GROUPS = fc_thin_groups<ONE>;
  extern __shared__ __align__(16) float memory[];
  __shared__ __align__(16) float x[FC_MARCH_MARGIN + 4], down[FC_MARCH_MARGIN];
  __shared__ int sources[FC_THIN_ROWS + FC_MARCH_MARGIN];
  const fc_band_way way = fc_band_begin<4, GROUPS>(b);
  const bool constant = fc_thin_constant(b);
  const int height = ONE ? 1 : b.edges.height, mine = 4 * threadIdx.x;
  fc_thin_fetch(b, way, memory);
  fc_thin_look_up(b, sources);
  fc_thin_share(t.x, FC_MARCH_MARGIN + 4, x);
  fc_thin_share(t.y, FC_MARCH_MARGIN, down);
  fc_await_copies();
  __syncthreads();
  float4 one, *all = reinterpret_cast<float4 *>(memory + fc_thin_floats(b)) + threadIdx.x;
  const float4 zero = make_float4(0, 0, 0, 0);
  if (constant)
    all[height * FC_BAND_THREADS] = fc_add_along<STEP>(memory + height * b.pitch + mine, x, t.nx, zero);
#pragma unroll 1
  for (int g = 0; g < GROUPS && g * FC_BAND_WIDTH < way.width; g++) {
    for (int r = 0; r < height; r++) {
      one = fc_add_along<STEP>(memory + r * b.pitch + g * FC_BAND_WIDTH + mine, x, t.nx, zero);
      if (!ONE || constant) all[r * FC_BAND_THREADS] = one;
    }
    for (int y = 0; y < height; y++) {
      float4 sum = zero;
      fc_thin_each(down, t.ny, [&](int j, float tap) {
        const float4 v = ONE && !constant ? one : all[sources[y + j] * FC_BAND_THREADS];
        fc_fma4(tap, v.x, v.y, v.z, v.w, sum);
      });
      fc_thin_store(b, way, y, g, sum);
    }
  }
}

// The same for an image one pixel wide: each element is a row of the image, which is summed first with the
// taps that it and the constant are multiplied with; these sums are then filtered along memory.
template <int STEP>
__global__ void __launch_bounds__(FC_BAND_THREADS)
    sepconv_thin_column(const __grid_constant__ fc_band b, const __grid_constant__ taps t) {
  constexpr int GROUPS = fc_thin_groups<true>;
  extern __shared__ __align__(16) float memory[];
  __shared__ __align__(16) float x[FC_MARCH_MARGIN + 4], down[FC_MARCH_MARGIN];
  __shared__ int sources[FC_THIN_ROWS + FC_MARCH_MARGIN];
  const fc_band_way way = fc_band_begin<4, GROUPS>(b);
  fc_thin_fetch(b, way, memory);
  fc_thin_look_up(b, sources);
  fc_thin_share(t.x, FC_MARCH_MARGIN + 4, x);
  fc_thin_share(t.y, FC_MARCH_MARGIN, down);
  fc_await_copies();
  __syncthreads();
  const float constant = __uint_as_float(b.edges.code);
  for (int e = threadIdx.x; e < way.width + b.margin; e += FC_BAND_THREADS) {
    const float one = memory[e];
    float sum = 0;
    fc_thin_each(down, t.ny,
                 [&](int j, float tap) { sum = fmaf(tap, sources[j] == 0 ? one : constant, sum); });
    memory[e] = sum;
  }
  __syncthreads();
#pragma unroll 1
  for (int g = 0; g < GROUPS && g * FC_BAND_WIDTH < way.width; g++)
    fc_thin_store(
        b, way, 0, g,
        fc_add_along<STEP>(memory + g * FC_BAND_WIDTH + 4 * threadIdx.x, x, t.nx, make_float4(0, 0, 0, 0)));
}

// ---- same number of taps in both directions ----------------------------------

template <int N> struct square_taps { float x[N], y[N]; };

// Begins to copy the rows, and stores a row of the constant after them.
__device__ __forceinline__ void fetch_rows(const fc_band &b, fc_band_way way, float *rows) {
  for (int r = 0; r < b.edges.height; r++, way.in += b.in_row, rows += b.pitch) fc_line_fetch(b, way, rows);
  if (!fc_thin_constant(b)) return;
  for (int j = threadIdx.x; j < b.pitch; j += FC_BAND_THREADS) rows[j] = __uint_as_float(b.edges.code);
}

// Sums all rows of outputs vertically: row q of the windows is multiplied with tap q - y for output y.
template <int N>
__device__ __forceinline__ void sum_down(const float4 *all, const int *sources, const float *y,
                                         float4 (&sum)[FC_THIN_ROWS]) {
#pragma unroll
  for (int o = 0; o < FC_THIN_ROWS; o++) sum[o] = make_float4(0, 0, 0, 0);
#pragma unroll
  for (int q = 0; q < N + FC_THIN_ROWS - 1; q++) {
    const float4 v = all[sources[q] * FC_BAND_THREADS];
#pragma unroll
    for (int o = 0; o < FC_THIN_ROWS; o++)
      if (q - o >= 0 && q - o < N) fc_fma4(y[q - o], v.x, v.y, v.z, v.w, sum[o]);
  }
}

template <int N, int STEP>
__global__ void __launch_bounds__(FC_BAND_THREADS, 5)
    sepconv_thin_square(const __grid_constant__ fc_band b, const __grid_constant__ square_taps<N> t) {
  extern __shared__ __align__(16) float memory[];
  __shared__ int sources[FC_THIN_ROWS + N];
  const fc_band_way way = fc_band_begin<4, 1>(b);
  const int height = b.edges.height, sums = fc_thin_constant(b) ? height + 1 : height;
  fetch_rows(b, way, memory);
  for (int q = threadIdx.x; q < FC_THIN_ROWS + N; q += FC_BAND_THREADS) // rows that no output needs too
    sources[q] = fc_thin_source(b, min(q, height + N - 2));
  fc_await_copies();
  __syncthreads();
  const float *row = memory + 4 * threadIdx.x;
  float4 *all = reinterpret_cast<float4 *>(memory + (height + 1) * b.pitch) + threadIdx.x;
#pragma unroll 1
  for (int r = 0; r < sums; r++, row += b.pitch) all[r * FC_BAND_THREADS] = fc_sum_along<N, STEP>(row, t.x);
  float4 sum[FC_THIN_ROWS];
  sum_down<N>(all, sources, t.y, sum);
#pragma unroll
  for (int o = 0; o < FC_THIN_ROWS; o++)
    if (o < height) fc_thin_store(b, way, o, 0, sum[o]);
}

template <int N, int STEP>
fc_status launch_square(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  fc_band b = fc_band_floats_of(m, 1, fc_band_early<N, STEP>);
  b.rows_down = N;
  square_taps<N> t;
  for (int i = 0; i < N; i++)
    t.x[i] = static_cast<const float *>(op->x)[i], t.y[i] = static_cast<const float *>(op->y)[i];
  const int rows = static_cast<int>(m.height) + 1;
  return fc_band_launch(sepconv_thin_square<N, STEP>, b, m, t, 4 * rows * (b.pitch + FC_BAND_WIDTH), N,
                        stream);
}

fc_status run_square(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  return fc_band_choose<3, FC_SEPCONV_TAPS>(op->nx, [&](auto n) {
    return m.step == 1 ? launch_square<n(), 1>(op, m, stream) : launch_square<n(), 3>(op, m, stream);
  });
}

// ---- launching -------------------------------------------------------------

taps taps_of(const void *x, int64_t nx, const void *y, int64_t ny) {
  taps t = {};
  t.nx = static_cast<int>(nx), t.ny = static_cast<int>(ny);
  for (int i = 0; i < t.nx; i++) t.x[i] = static_cast<const float *>(x)[i];
  for (int j = 0; j < t.ny; j++) t.y[j] = static_cast<const float *>(y)[j];
  return t;
}

template <int STEP> fc_status launch(const fc_march &m, const taps &t, bool column, cudaStream_t stream) {
  const bool one = m.height == 1;
  const fc_band b = fc_thin_of(m, one ? fc_thin_groups<true> : fc_thin_groups<false>, t.ny);
  const int bytes = 4 * (fc_thin_floats(b) + static_cast<int>(m.height + 1) * FC_BAND_WIDTH);
  const auto kernel = column ? sepconv_thin_column<STEP>
                      : one  ? sepconv_thin_row<STEP, true>
                             : sepconv_thin_row<STEP, false>;
  return fc_band_launch(kernel, b, m, t, bytes, t.ny, stream);
}

} // namespace

fc_status fc_sepconv_thin(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  const bool column = !fc_case2d_is_thin(m.height, op->ny);
  if (!column && m.height > 1 && op->nx == op->ny && op->nx % 2 == 1 && op->nx <= FC_SEPCONV_TAPS)
    return run_square(op, m, stream);
  const fc_march line = column ? fc_line_of(m, op->nx, op->ny) : m;
  const taps t = column ? taps_of(op->y, op->ny, op->x, op->nx) : taps_of(op->x, op->nx, op->y, op->ny);
  return m.step == 1 ? launch<1>(line, t, column, stream) : launch<3>(line, t, column, stream);
}
