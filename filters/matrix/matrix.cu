// SPDX-License-Identifier: MIT
//
// matrix.cu - a matrix along an axis, on a CUDA device, by the kernel that fc_matrix_choose names
// (matrix_plan.h):
//
//   pixels    three interleaved channels of floats: a thread mixes four pixels (matrix_mix.cu)
//   blocks    up to 16 x 16: a thread multiplies a block in its registers, the matrix in
//             shared memory; the limit is then the memory's speed
//   products  larger: matrix products (gemm/gemm.h), whose sums are those of gemm.h. What is of another type
//             than the one computed with is converted in scratch memory; an offset is D.
//
// The first two give the same sums: they start with the offset and add the columns in order. The choice
// depends on the matrix and on types alone, so that all parts of a signal are computed the same way.
#include "filters/gemm/tile.cuh"
#include "filters/gpu/cuda.cuh"
#include "filters/matrix/matrix_line.cuh"
#include "filters/matrix/matrix_plan.h"
#include "filters/pointwise/pointwise.h"

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

// ---- products -----------------------------------------------------------------

// By split elements where that is asked for; operands that are not aligned are copied first where that pays.
// The layout has room for either.
fc_status multiply(const fc_matrix *m, const fc_gemm *g, char *work, size_t bytes, cudaStream_t stream) {
  const bool splits = m->split && fc_gemm_split_scratch(g) <= bytes;
  const fc_status status = splits ? fc_gemm_split_cuda(g, work, stream) : FC_UNSUPPORTED;
  if (status != FC_UNSUPPORTED) return status;
  return fc_gemm_padded_scratch(g) <= bytes ? fc_gemm_padded_cuda(g, work, stream) : fc_gemm_cuda(g, stream);
}

// Converts between a signal's type and the one that is computed in; notes as in fc_job.
fc_status convert(const fc_matrix *m, const fc_view *from, const fc_view *to, uint32_t *notes,
                  cudaStream_t stream) {
  fc_pointwise p = {};
  p.form = FC_POINTWISE_COPY, p.compute = m->compute;
  return fc_pointwise_cuda(&p, from, to, stream, notes);
}

fc_status run_piece(const fc_matrix *m, const fc_matrix_piece &piece, const fc_matrix_layout &layout,
                    char *scratch, uint32_t *notes, cudaStream_t stream) {
  fc_status status = piece.converts_in ? convert(m, &piece.in, &piece.from, nullptr, stream) : FC_OK;
  const fc_matrix_products p = fc_matrix_products_of(m, &piece.from, &piece.to);
  for (int64_t i = 0; i < p.count && status == FC_OK; i++) {
    const fc_gemm g = fc_matrix_product_at(&p, i);
    status = multiply(m, &g, scratch + layout.work, layout.bytes - layout.work, stream);
  }
  return status == FC_OK && piece.converts_out ? convert(m, &piece.to, &piece.out, notes, stream) : status;
}

fc_status run_products(const fc_matrix *m, const fc_view *in, const fc_view *out, char *scratch,
                       uint32_t *notes, cudaStream_t stream) {
  const fc_matrix_pieces p = fc_matrix_pieces_of(m, in, out, FC_MATRIX_PIECE);
  fc_status status = FC_OK;
  for (int64_t i = 0; i < p.count && status == FC_OK; i++)
    status = run_piece(m, fc_matrix_piece_of(m, &p, i, in, out, scratch), p.layout, scratch, notes, stream);
  return status;
}

template <typename F>
fc_status launch(fc_matrix_launch which, const fc_matrix *m, const fc_view *in, const fc_view *out,
                 char *scratch, uint32_t *notes, cudaStream_t stream) {
  switch (which) {
  case FC_MATRIX_PIXELS: return fc_matrix_mix(m, in, out, stream);
  case FC_MATRIX_BLOCKS_4: return run_block<F, 4>(m, in, out, notes, stream);
  case FC_MATRIX_BLOCKS_8: return run_block<F, 8>(m, in, out, notes, stream);
  case FC_MATRIX_BLOCKS_16: return run_block<F, 16>(m, in, out, notes, stream);
  default: return run_products(m, in, out, scratch, notes, stream);
  }
}

} // namespace

extern "C" fc_status fc_matrix_cuda(const fc_matrix *m, const fc_view *in, const fc_view *out, void *scratch,
                                    uint32_t *notes, void *stream) {
  fc_status status = fc_matrix_check(m, in, out);
  if (status != FC_OK || fc_view_count(out) == 0) return status;
  return fc_dispatch_compute(m->compute, [&](auto f) {
    using F = decltype(f);
    cudaStream_t s = static_cast<cudaStream_t>(stream);
    char *memory = static_cast<char *>(scratch);
    const fc_matrix_launch first = fc_matrix_choose(m, in, out, FC_MATRIX_PIXELS).launch;
    const fc_status done = launch<F>(first, m, in, out, memory, notes, s);
    if (done != FC_UNSUPPORTED || first != FC_MATRIX_PIXELS) return done;
    return launch<F>(fc_matrix_choose(m, in, out, FC_MATRIX_BLOCKS_4).launch, m, in, out, memory, notes, s);
  });
}
