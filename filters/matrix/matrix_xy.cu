// SPDX-License-Identifier: MIT
//
// matrix_xy.cu - a matrix along X and one along Y, on a CUDA device. Square blocks of up to 16 x 16 use a
// single kernel: a block of threads processes a row of blocks 256 columns wide; each thread first computes
// one row of a block, then, through shared memory, one column. Others take two passes of fc_matrix_cuda, with
// the intermediate values in device memory.
#include "filters/gemm/tile.cuh"
#include "filters/matrix/matrix_line.cuh"
#include "filters/matrix/matrix_xy.h"

namespace {

constexpr int THREADS = 256; // threads per block, and columns per tile
constexpr int LARGEST = 16;

// The size of the blocks if the single kernel supports it, else 0.
int fused_size(const fc_matrix_xy *m) {
  int64_t n = m->x.rows;
  bool square = m->x.cols == n && m->y.rows == n && m->y.cols == n;
  return square && !m->x.offset && !m->y.offset && n <= LARGEST ? static_cast<int>(n) : 0;
}

// Tiles are numbered along X, then channels, block rows and batch entries.
struct tiling {
  int64_t count, across, channels, block_rows;
  int64_t columns; // of the image
};

template <typename F, int N>
__device__ __forceinline__ void load_matrix(F (&to)[N][N], const F *matrix, int n, int pitch) {
  for (int i = threadIdx.x; i < N * N; i += THREADS)
    to[i / N][i % N] = i / N < n && i % N < n ? matrix[i / N * pitch + i % N] : F(0);
}

template <typename F, int N>
__device__ __forceinline__ void multiply(F (&y)[N], const F (&x)[N], const F (&m)[N][N], int n) {
#pragma unroll
  for (int r = 0; r < N; r++) y[r] = F(0);
#pragma unroll
  for (int c = 0; c < N; c++)
    if (c < n)
#pragma unroll
      for (int r = 0; r < N; r++) y[r] = fc_tile_fma(m[c][r], x[c], y[r]);
}

// One word of padding every 32 puts a column of blocks in different banks.
__device__ __forceinline__ int padded(int column) {
  return column + column / 32;
}

// N >= n: arrays in registers have N elements, of which n are used.
template <typename F, int N>
__global__ void __launch_bounds__(THREADS)
    xy_kernel(tiling t, fc_dev_view in, fc_dev_view out, fc_line<F> from, fc_line<F> to, int n, int pitch_x,
              int pitch_y, const F *matrix_x, const F *matrix_y, uint32_t *notes) {
  __shared__ alignas(16) F mx[N][N], my[N][N];
  __shared__ F between[N][THREADS + THREADS / 32];
  load_matrix<F, N>(mx, matrix_x, n, pitch_x);
  load_matrix<F, N>(my, matrix_y, n, pitch_y);
  const int blocks = THREADS / n, row = static_cast<int>(threadIdx.x) / blocks;
  const int block = static_cast<int>(threadIdx.x) % blocks, column = static_cast<int>(threadIdx.x);
  for (int64_t i = blockIdx.x; i < t.count; i += gridDim.x) {
    int64_t rest = i / t.across, x0 = (i - rest * t.across) * blocks * n;
    int64_t c = rest % t.channels, b = rest / t.channels;
    int64_t y0 = b % t.block_rows * n, batch = b / t.block_rows;
    F x[N] = {}, y[N];
    __syncthreads(); // the matrices are loaded, and the previous tile has been read
    if (row < n && x0 + block * n < t.columns) {
      fc_line_load<F, N>(x, in.at(batch, y0 + row, x0 + block * n, c), n, from);
      multiply<F, N>(y, x, mx, n);
#pragma unroll
      for (int r = 0; r < N; r++)
        if (r < n) between[row][padded(block * n + r)] = y[r];
    }
    __syncthreads();
    if (column < blocks * n && x0 + column < t.columns) {
#pragma unroll
      for (int r = 0; r < N; r++) x[r] = r < n ? between[r][padded(column)] : F(0);
      multiply<F, N>(y, x, my, n);
      char *at = out.at(batch, y0, x0 + column, c);
#pragma unroll
      for (int r = 0; r < N; r++)
        if (r < n) fc_dev_store_any<F>(at + r * to.step, to.dtype, y[r], to.map, notes);
    }
  }
}

template <typename F, int N>
fc_status run_fused(const fc_matrix_xy *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                    cudaStream_t stream) {
  int n = static_cast<int>(m->x.rows);
  int64_t wide = THREADS / n * n;
  tiling t;
  t.columns = out->shape[FC_AXIS_X];
  t.across = (t.columns + wide - 1) / wide;
  t.channels = out->shape[FC_AXIS_C];
  t.block_rows = out->shape[FC_AXIS_Y] / n;
  t.count = t.across * t.channels * t.block_rows * out->shape[FC_AXIS_N];
  xy_kernel<F, N><<<fc_blocks(t.count, 1, 256 * 8), THREADS, 0, stream>>>(
      t, fc_dev_view_of(in), fc_dev_view_of(out), fc_line_of<F>(in, FC_AXIS_X, n),
      fc_line_of<F>(out, FC_AXIS_Y, n), n, static_cast<int>(m->x.pitch), static_cast<int>(m->y.pitch),
      static_cast<const F *>(m->x.matrix), static_cast<const F *>(m->y.matrix), notes);
  return fc_launch_status();
}

template <typename F>
fc_status run_type(const fc_matrix_xy *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                   cudaStream_t s) {
  if (m->x.rows <= 4) return run_fused<F, 4>(m, in, out, notes, s);
  if (m->x.rows <= 8) return run_fused<F, 8>(m, in, out, notes, s);
  return run_fused<F, LARGEST>(m, in, out, notes, s);
}

fc_status apply(const void *self, const fc_view *in, const fc_view *out, void *scratch, uint32_t *notes,
                void *stream) {
  return fc_matrix_cuda(static_cast<const fc_matrix *>(self), in, out, scratch, notes, stream);
}

size_t scratch_of(const void *self, const fc_view *out) {
  return fc_matrix_device_scratch(static_cast<const fc_matrix *>(self), out);
}

fc_device_passes passes_of(const fc_matrix_xy *m) {
  return {m->x.compute, fc_matrix_device_pass(&m->x), fc_matrix_device_pass(&m->y)};
}

} // namespace

extern "C" fc_device_pass fc_matrix_device_pass(const fc_matrix *m) {
  return {m->rows, m->cols, m, scratch_of, apply};
}

extern "C" size_t fc_matrix_xy_device_scratch(const fc_matrix_xy *m, const fc_view *out) {
  if (fused_size(m)) return 0;
  const fc_device_passes p = passes_of(m);
  return fc_device_passes_scratch(&p, out);
}

extern "C" fc_status fc_matrix_xy_cuda(const fc_matrix_xy *m, const fc_view *in, const fc_view *out,
                                       void *scratch, uint32_t *notes, void *stream) {
  if (m->x.rows < 1 || m->y.rows < 1) return FC_INVALID;
  if (out->shape[FC_AXIS_X] % m->x.rows != 0 || out->shape[FC_AXIS_Y] % m->y.rows != 0) return FC_INVALID;
  if (fc_view_count(out) == 0) return FC_OK;
  if (fused_size(m))
    return fc_dispatch_compute(m->x.compute, [&](auto f) {
      return run_type<decltype(f)>(m, in, out, notes, static_cast<cudaStream_t>(stream));
    });
  const fc_device_passes p = passes_of(m);
  return fc_device_passes_run(&p, in, out, scratch, notes, stream);
}
