// SPDX-License-Identifier: MIT
//
// matrix.cu - a matrix along an axis, on a CUDA device. Four ways:
//
//   pixels   up to four interleaved channels: a thread mixes four pixels (matrix_mix.cuh)
//   block    up to 16 x 16: a thread multiplies a block in its registers, the matrix in
//            shared memory; the limit is then the memory's speed
//   product  larger, of the type computed with on either side, without offsets: matrix products as they are
//            (gemm/gemm.h), whose sums are those of gemm.h
//   tile     anything larger: the tiled product of gemm/tile.cuh
//
// All except `product` give the same sums: they start with the offset and add the columns in order. The
// choice depends on the matrix and on types alone, so that all parts of a signal are computed the same way.
#include "filters/gemm/gemm.h"
#include "filters/gemm/tile.cuh"
#include "filters/matrix/matrix.h"
#include "filters/matrix/matrix_line.cuh"
#include "filters/gpu/cuda.cuh"

// The positions that a matrix is applied at, numbered from 0: the blocks along its axis and every element of
// the other axes, numbered in the order of memory where possible.

struct fc_matrix_walk {
  int64_t count;
  int64_t size[FC_AXES - 1]; // of all but the slowest dimension
  int64_t in[FC_AXES], out[FC_AXES];
  bool narrow; // all indices fit 32 bits, whose division is several times faster

  __device__ __forceinline__ void offsets(int64_t position, int64_t *from, int64_t *to) const {
    int64_t f = 0, t = 0;
#pragma unroll
    for (int d = 0; d < FC_AXES - 1; d++) {
      int64_t quotient =
          narrow ? static_cast<int64_t>(static_cast<uint32_t>(position) / static_cast<uint32_t>(size[d]))
                 : position / size[d];
      int64_t rest = position - quotient * size[d];
      f += rest * in[d];
      t += rest * out[d];
      position = quotient;
    }
    *from = f + position * in[FC_AXES - 1];
    *to = t + position * out[FC_AXES - 1];
  }
};

// Dimensions of a single element are kept: they cost one division each.
static inline fc_matrix_walk fc_matrix_walk_of(const fc_matrix *m, const fc_view *in, const fc_view *out) {
  struct dimension {
    int64_t size, in, out;
  } d[FC_AXES];
  for (int a = 0; a < FC_AXES; a++) d[a] = {out->shape[a], in->stride[a], out->stride[a]};
  d[m->axis] = {out->shape[m->axis] / m->rows, in->stride[m->axis] * m->cols, out->stride[m->axis] * m->rows};
  // By distance in the input, smallest first.
  for (int i = 1; i < FC_AXES; i++)
    for (int j = i; j > 0; j--) {
      int64_t a = d[j].in < 0 ? -d[j].in : d[j].in, b = d[j - 1].in < 0 ? -d[j - 1].in : d[j - 1].in;
      if (a >= b) break;
      dimension swap = d[j];
      d[j] = d[j - 1];
      d[j - 1] = swap;
    }
  fc_matrix_walk w;
  w.count = 1;
  for (int i = 0; i < FC_AXES; i++) {
    if (i < FC_AXES - 1) w.size[i] = d[i].size;
    w.in[i] = d[i].in;
    w.out[i] = d[i].out;
    w.count *= d[i].size;
  }
  w.narrow = w.count <= UINT32_MAX;
  return w;
}

namespace {

constexpr int BLOCK_THREADS = 256;
constexpr int BLOCK_LARGEST = 16;

// ---- block ------------------------------------------------------------------

template <typename F, int N>
__global__ void __launch_bounds__(BLOCK_THREADS)
    matrix_blocks(fc_matrix_walk walk, const char *in, char *out, fc_line<F> from, fc_line<F> to, int rows,
                  int cols, int pitch, const F *matrix, const F *offset, uint32_t *notes) {
  // [column][row], rows beyond the matrix's zero.
  __shared__ alignas(16) F m[N][N];
  __shared__ F v[N];
  for (int i = threadIdx.x; i < N * N; i += BLOCK_THREADS)
    m[i / N][i % N] = i / N < cols && i % N < rows ? matrix[i / N * pitch + i % N] : F(0);
  if (threadIdx.x < N)
    v[threadIdx.x] = offset && static_cast<int>(threadIdx.x) < rows ? offset[threadIdx.x] : F(0);
  __syncthreads();

  const int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK_THREADS;
  for (int64_t p = static_cast<int64_t>(blockIdx.x) * BLOCK_THREADS + threadIdx.x; p < walk.count;
       p += step) {
    int64_t at, at_out;
    walk.offsets(p, &at, &at_out);
    F x[N] = {}, y[N];
    fc_line_load<F, N>(x, in + at, cols, from);
#pragma unroll
    for (int r = 0; r < N; r++) y[r] = v[r];
#pragma unroll
    for (int c = 0; c < N; c++)
      if (c < cols)
#pragma unroll
        for (int r = 0; r < N; r++) y[r] = fc_tile_fma(m[c][r], x[c], y[r]);
    fc_line_store<F, N>(out + at_out, y, rows, to, notes);
  }
}

template <typename F, int N>
fc_status run_block(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                    cudaStream_t stream) {
  fc_matrix_walk walk = fc_matrix_walk_of(m, in, out);
  // Eight blocks of threads per multiprocessor, for devices of up to 256 of these.
  unsigned blocks = fc_blocks(walk.count, BLOCK_THREADS, 256 * 8);
  matrix_blocks<F, N><<<blocks, BLOCK_THREADS, 0, stream>>>(
      walk, static_cast<const char *>(in->data), static_cast<char *>(out->data),
      fc_line_of<F>(in, m->axis, m->cols), fc_line_of<F>(out, m->axis, m->rows), static_cast<int>(m->rows),
      static_cast<int>(m->cols), static_cast<int>(m->pitch), static_cast<const F *>(m->matrix),
      static_cast<const F *>(m->offset), notes);
  return fc_launch_status();
}

// ---- product ------------------------------------------------------------------

// One product along the dimension with the most positions, repeated for each position of the others.
template <typename F>
fc_status run_product(const fc_matrix *m, const fc_view *in, const fc_view *out, cudaStream_t stream) {
  const fc_matrix_walk walk = fc_matrix_walk_of(m, in, out);
  const int64_t size = sizeof(F);
  int64_t count[FC_AXES], others = 1;
  int most = 0;
  count[FC_AXES - 1] = walk.count;
  for (int d = 0; d < FC_AXES - 1; d++) count[d] = walk.size[d], count[FC_AXES - 1] /= walk.size[d];
  for (int d = 1; d < FC_AXES; d++) { // merges dimensions that are contiguous with the largest
    const bool joins =
        walk.in[d] == walk.in[most] * count[most] && walk.out[d] == walk.out[most] * count[most];
    if (joins)
      count[most] *= count[d], count[d] = 1;
    else if (count[d] > count[most])
      most = d;
  }
  for (int d = 0; d < FC_AXES; d++) others *= d == most ? 1 : count[d];
  fc_gemm g = {};
  g.type = m->compute, g.m = m->rows, g.n = count[most], g.k = m->cols, g.alpha = 1;
  g.a = m->matrix, g.a_row = 1, g.a_col = m->pitch;
  g.b_row = in->stride[m->axis] / size, g.b_col = walk.in[most] / size;
  g.c_row = out->stride[m->axis] / size, g.c_col = walk.out[most] / size;
  for (int64_t i = 0; i < others; i++) {
    int64_t rest = i, from = 0, to = 0;
    for (int d = 0; d < FC_AXES; d++) {
      if (d == most) continue;
      from += rest % count[d] * walk.in[d], to += rest % count[d] * walk.out[d];
      rest /= count[d];
    }
    g.b = static_cast<const char *>(in->data) + from, g.c = static_cast<char *>(out->data) + to;
    const fc_status status = fc_gemm_cuda(&g, stream);
    if (status != FC_OK) return status;
  }
  return FC_OK;
}

// ---- tile ---------------------------------------------------------------------

// Rows of the matrix.
template <typename F> struct matrix_operand {
  const char *data;
  int64_t along;
  static constexpr bool along_fast = false;
  __device__ __forceinline__ const char *at(int64_t i) const {
    return data + i * static_cast<int64_t>(sizeof(F));
  }
  __device__ __forceinline__ F load(const char *from) const { return *reinterpret_cast<const F *>(from); }
};

// Blocks of the input.
template <typename F> struct input_operand {
  const char *data;
  int64_t along;
  bool along_fast;
  int32_t dtype;
  fc_dev_map<F> map;
  fc_matrix_walk walk;
  __device__ __forceinline__ const char *at(int64_t j) const {
    int64_t from, to;
    walk.offsets(j, &from, &to);
    return data + from;
  }
  __device__ __forceinline__ F load(const char *from) const { return fc_dev_load_any<F>(from, dtype, map); }
};

template <typename F> struct output_result {
  char *data;
  int64_t along;
  int32_t dtype;
  fc_dev_map<F> map;
  const F *offset;
  uint32_t *notes;
  fc_matrix_walk walk;
  __device__ __forceinline__ char *at(int64_t j) const {
    int64_t from, to;
    walk.offsets(j, &from, &to);
    return data + to;
  }
  __device__ __forceinline__ F start(int64_t i) const { return offset ? offset[i] : F(0); }
  __device__ __forceinline__ void store(char *block, int64_t i, F sum) const {
    fc_dev_store_any<F>(block + i * along, dtype, sum, map, notes);
  }
};

template <typename F>
fc_status run_tile(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                   cudaStream_t stream) {
  fc_matrix_walk walk = fc_matrix_walk_of(m, in, out);
  const int64_t size = sizeof(F);
  matrix_operand<F> a = {static_cast<const char *>(m->matrix), m->pitch * size};
  // Neighbouring threads go along the matrix's axis if its elements are adjacent in memory.
  bool along_fast = in->stride[m->axis] == static_cast<int64_t>(fc_dtype_size(in->dtype));
  input_operand<F> b = {static_cast<const char *>(in->data),
                        in->stride[m->axis],
                        along_fast,
                        in->dtype,
                        fc_dev_map_of<F>(in->kind, in->dtype),
                        walk};
  output_result<F> c = {static_cast<char *>(out->data),
                        out->stride[m->axis],
                        out->dtype,
                        fc_dev_map_of<F>(out->kind, out->dtype),
                        static_cast<const F *>(m->offset),
                        notes,
                        walk};
  if (m->cols > FC_MATRIX_BLOCK)
    return fc_tile_product<F, FC_MATRIX_BLOCK>(m->rows, walk.count, m->cols, a, b, c, stream);
  return fc_tile_product<F, 0>(m->rows, walk.count, m->cols, a, b, c, stream);
}

template <typename F>
fc_status run(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes,
              cudaStream_t stream) {
  fc_status status;
  if (fc_matrix_mix_try(m, in, out, notes, stream, &status)) return status;
  int64_t larger = m->rows > m->cols ? m->rows : m->cols;
  if (larger <= 4) return run_block<F, 4>(m, in, out, notes, stream);
  if (larger <= 8) return run_block<F, 8>(m, in, out, notes, stream);
  if (larger <= BLOCK_LARGEST) return run_block<F, BLOCK_LARGEST>(m, in, out, notes, stream);
  if (in->dtype == m->compute && out->dtype == m->compute && !m->offset)
    return run_product<F>(m, in, out, stream);
  return run_tile<F>(m, in, out, notes, stream);
}

} // namespace

extern "C" fc_status fc_matrix_cuda(const fc_matrix *m, const fc_view *in, const fc_view *out,
                                    uint32_t *notes, void *stream) {
  fc_status status = fc_matrix_check(m, in, out);
  if (status != FC_OK || fc_view_count(out) == 0) return status;
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  return fc_dispatch_compute(m->compute, [&](auto f) { return run<decltype(f)>(m, in, out, notes, s); });
}
