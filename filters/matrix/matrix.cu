// SPDX-License-Identifier: MIT
//
// matrix.cu - a matrix along an axis, on a CUDA device. Four ways:
//
//   pixels   up to four interleaved channels: a thread mixes four pixels (matrix_mix.cuh)
//   block    up to 16 x 16: a thread multiplies a block in its registers, the matrix in
//            shared memory; the limit is then the memory's speed
//   product  larger: matrix products (gemm/gemm.h), of elements as they lie or of copies (product.cu)
//   tile     larger, and neither: the tiled product of gemm/tile.cuh
//
// The sums of all but products are the same: they begin with the offset and go through the columns in order.
// Which way it is depends on the matrix, on types and on the kind of device, so that pieces of a signal go
// the same way.
#include "filters/gemm/tile.cuh"
#include "filters/matrix/matrix.h"
#include "filters/matrix/matrix_line.cuh"
#include "filters/matrix/product.cuh"
#include "filters/matrix/walk.cuh"

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
  // Eight blocks of threads a multiprocessor, for chips of up to 256 of these.
  unsigned blocks = fc_blocks(walk.count, BLOCK_THREADS, 256 * 8);
  matrix_blocks<F, N><<<blocks, BLOCK_THREADS, 0, stream>>>(
      walk, static_cast<const char *>(in->data), static_cast<char *>(out->data),
      fc_line_of<F>(in, m->axis, m->cols), fc_line_of<F>(out, m->axis, m->rows), static_cast<int>(m->rows),
      static_cast<int>(m->cols), static_cast<int>(m->pitch), static_cast<const F *>(m->matrix),
      static_cast<const F *>(m->offset), notes);
  return fc_launch_status();
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
  // Neighbouring threads go along the axis where that is where memory goes.
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

bool is_large(const fc_matrix *m) {
  return m->rows > BLOCK_LARGEST || m->cols > BLOCK_LARGEST;
}

template <typename F>
fc_status run(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes, char *scratch,
              cudaStream_t stream) {
  fc_status status;
  if (fc_matrix_mix_try(m, in, out, notes, stream, &status)) return status;
  int64_t larger = m->rows > m->cols ? m->rows : m->cols;
  if (larger <= 4) return run_block<F, 4>(m, in, out, notes, stream);
  if (larger <= 8) return run_block<F, 8>(m, in, out, notes, stream);
  if (!is_large(m)) return run_block<F, BLOCK_LARGEST>(m, in, out, notes, stream);
  if (fc_matrix_is_product(m, in, out)) return fc_matrix_product(m, in, out, notes, scratch, stream);
  return run_tile<F>(m, in, out, notes, stream);
}

} // namespace

extern "C" size_t fc_matrix_cuda_scratch(const fc_matrix *m, const fc_view *in, const fc_view *out) {
  const bool copies = is_large(m) && fc_view_count(out) > 0 && fc_matrix_is_product(m, in, out);
  return copies ? fc_matrix_product_scratch(m, in, out) : 0;
}

extern "C" fc_status fc_matrix_cuda(const fc_matrix *m, const fc_view *in, const fc_view *out, void *scratch,
                                    uint32_t *notes, void *stream) {
  fc_status status = fc_matrix_check(m, in, out);
  if (status != FC_OK || fc_view_count(out) == 0) return status;
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  char *memory = static_cast<char *>(scratch);
  return fc_dispatch_compute(m->compute,
                             [&](auto f) { return run<decltype(f)>(m, in, out, notes, memory, s); });
}
