// SPDX-License-Identifier: MIT
//
// matrix.cu - a matrix along an axis, on a CUDA device. Three ways:
//
//   pixels   up to four interleaved channels: a thread mixes four pixels (matrix_mix.cuh)
//   block    up to 16 x 16: a thread multiplies a block in its registers, the matrix in
//            shared memory; the limit is then the memory's speed
//   large    matrix products (gemm/gemm.h), whose sums are those of gemm.h; what is of another type than the
//            one computed with is converted in scratch memory, and offsets lie in the result before
//
// The first two give the same sums: they start with the offset and add the columns in order. The choice
// depends on the matrix and on types alone, so that all parts of a signal are computed the same way.
#include "filters/gemm/gemm.h"
#include "filters/gemm/tile.cuh"
#include "filters/matrix/matrix.h"
#include "filters/matrix/matrix_line.cuh"
#include "filters/gpu/cuda.cuh"
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

// The product along the dimension with the most positions, and how often it is repeated: for each position of
// the others, of which `count`, `in` and `out` tell number and distances.
struct fc_matrix_products {
  fc_gemm g;
  int most;
  int64_t others, count[FC_AXES], in[FC_AXES], out[FC_AXES];
};

template <typename F>
fc_matrix_products products_of(const fc_matrix *m, const fc_view *in, const fc_view *out) {
  const fc_matrix_walk walk = fc_matrix_walk_of(m, in, out);
  const int64_t size = sizeof(F);
  fc_matrix_products p = {};
  p.others = 1, p.count[FC_AXES - 1] = walk.count;
  for (int d = 0; d < FC_AXES - 1; d++) p.count[d] = walk.size[d], p.count[FC_AXES - 1] /= walk.size[d];
  for (int d = 0; d < FC_AXES; d++) p.in[d] = walk.in[d], p.out[d] = walk.out[d];
  for (int d = 1; d < FC_AXES; d++) { // merges dimensions that are contiguous with the largest
    const bool joins =
        p.in[d] == p.in[p.most] * p.count[p.most] && p.out[d] == p.out[p.most] * p.count[p.most];
    if (joins)
      p.count[p.most] *= p.count[d], p.count[d] = 1;
    else if (p.count[d] > p.count[p.most])
      p.most = d;
  }
  for (int d = 0; d < FC_AXES; d++) p.others *= d == p.most ? 1 : p.count[d];
  p.g.type = m->compute, p.g.m = m->rows, p.g.n = p.count[p.most], p.g.k = m->cols, p.g.alpha = 1;
  p.g.beta = m->offset ? 1 : 0;
  p.g.a = m->matrix, p.g.a_row = 1, p.g.a_col = m->pitch;
  p.g.b_row = in->stride[m->axis] / size, p.g.b_col = p.in[p.most] / size;
  p.g.c_row = out->stride[m->axis] / size, p.g.c_col = p.out[p.most] / size;
  return p;
}

// What is left of the scratch memory.
struct fc_matrix_room {
  char *at, *end;
};

// By split elements where that is asked for; operands that are not aligned are copied first where there is
// room.
fc_status multiply(const fc_matrix *m, const fc_gemm *g, fc_matrix_room room, cudaStream_t stream) {
  const fc_status status = m->split ? fc_gemm_split_cuda(g, room.at, stream) : FC_UNSUPPORTED;
  if (status != FC_UNSUPPORTED) return status;
  const bool fits = static_cast<int64_t>(fc_gemm_padded_scratch(g)) <= room.end - room.at;
  return fits ? fc_gemm_padded_cuda(g, room.at, stream) : fc_gemm_cuda(g, stream);
}

// Both views are of the compute type; with an offset `out` holds it.
template <typename F>
fc_status run_product(const fc_matrix *m, const fc_view *in, const fc_view *out, const fc_matrix_room &room,
                      cudaStream_t stream) {
  fc_matrix_products p = products_of<F>(m, in, out);
  for (int64_t i = 0; i < p.others; i++) {
    int64_t rest = i, from = 0, to = 0;
    for (int d = 0; d < FC_AXES; d++) {
      if (d == p.most) continue;
      from += rest % p.count[d] * p.in[d], to += rest % p.count[d] * p.out[d];
      rest /= p.count[d];
    }
    p.g.b = static_cast<const char *>(in->data) + from, p.g.c = static_cast<char *>(out->data) + to;
    const fc_status status = multiply(m, &p.g, room, stream);
    if (status != FC_OK) return status;
  }
  return FC_OK;
}

// ---- any types, and an offset ---------------------------------------------------

constexpr int OFFSET_THREADS = 256;

// In 32 bits where possible: divisions of 64 bits are slow.
__device__ __forceinline__ int64_t quotient(int64_t i, uint32_t n) {
  return i >> 32 ? i / n : static_cast<uint32_t>(i) / n;
}

// A value for each row of the matrix, in all blocks. A block of threads goes along lines of X and C.
template <typename F>
__global__ void __launch_bounds__(OFFSET_THREADS)
    matrix_offset(const fc_dev_view out, int axis, uint32_t rows, const F *__restrict__ offset) {
  const uint32_t channels = static_cast<uint32_t>(out.shape[FC_AXIS_C]);
  const int64_t length = out.shape[FC_AXIS_X] * channels, lines = out.shape[FC_AXIS_N] * out.shape[FC_AXIS_Y];
  for (int64_t line = blockIdx.y; line < lines; line += gridDim.y) {
    const int64_t n = line / out.shape[FC_AXIS_Y], y = line - n * out.shape[FC_AXIS_Y];
    char *to = out.at(n, y, 0, 0);
    for (int64_t i = blockIdx.x * static_cast<int64_t>(OFFSET_THREADS) + threadIdx.x; i < length;
         i += static_cast<int64_t>(gridDim.x) * OFFSET_THREADS) {
      const int64_t x = channels == 1 ? i : quotient(i, channels), c = i - x * channels;
      const int64_t along = axis == FC_AXIS_C ? c : axis == FC_AXIS_X ? x : y;
      *reinterpret_cast<F *>(to + x * out.stride[FC_AXIS_X] + c * out.stride[FC_AXIS_C]) =
          offset[along - quotient(along, rows) * rows];
    }
  }
}

template <typename F> fc_status put_offset(const fc_matrix *m, const fc_view *to, cudaStream_t stream) {
  const dim3 grid(fc_blocks(to->shape[FC_AXIS_X] * to->shape[FC_AXIS_C], 4 * OFFSET_THREADS, 1 << 16),
                  fc_blocks(to->shape[FC_AXIS_N] * to->shape[FC_AXIS_Y], 1, 65535));
  matrix_offset<F><<<grid, OFFSET_THREADS, 0, stream>>>(
      fc_dev_view_of(to), m->axis, static_cast<uint32_t>(m->rows), static_cast<const F *>(m->offset));
  return fc_launch_status();
}

// A view of this shape, but for `along` elements on the matrix's axis, in scratch memory, dense.
fc_view dense(const fc_matrix *m, const fc_view *like, int64_t along, char *memory) {
  fc_view v = *like;
  v.dtype = m->compute, v.data = memory;
  v.shape[m->axis] = v.extent[m->axis] = along;
  int64_t stride = static_cast<int64_t>(fc_dtype_size(m->compute));
  for (int a = FC_AXES - 1; a >= 0; a--) v.stride[a] = stride, stride *= v.shape[a];
  return v;
}

int64_t bytes_of(const fc_view *v) {
  return (v->stride[0] * v->shape[0] + 255) / 256 * 256;
}

// Elements of the input along the axis, those of the last block included.
int64_t inputs_of(const fc_matrix *m, const fc_view *out) {
  return out->shape[m->axis] / m->rows * m->cols;
}

// Converts between a signal's type and the one that is computed in; notes as in fc_job.
fc_status convert(const fc_matrix *m, const fc_view *from, const fc_view *to, uint32_t *notes,
                  cudaStream_t stream) {
  fc_pointwise p = {};
  p.form = FC_POINTWISE_COPY, p.compute = m->compute;
  return fc_pointwise_cuda(&p, from, to, stream, notes);
}

// What is not of the compute type is converted in scratch memory.
template <typename F>
fc_status run_large(const fc_matrix *m, const fc_view *in, const fc_view *out, char *scratch, uint32_t *notes,
                    cudaStream_t stream) {
  fc_matrix_room room = {scratch, scratch + fc_matrix_device_scratch(m, out)};
  fc_view from = *in, to = *out;
  fc_status status = FC_OK;
  from.shape[m->axis] = inputs_of(m, out);
  if (in->dtype != m->compute) {
    const fc_view source = from;
    from = dense(m, &source, source.shape[m->axis], room.at), room.at += bytes_of(&from);
    status = convert(m, &source, &from, nullptr, stream);
  }
  if (out->dtype != m->compute) to = dense(m, out, out->shape[m->axis], room.at), room.at += bytes_of(&to);
  if (status == FC_OK && m->offset) status = put_offset<F>(m, &to, stream);
  if (status == FC_OK) status = run_product<F>(m, &from, &to, room, stream);
  return status == FC_OK && out->dtype != m->compute ? convert(m, &to, out, notes, stream) : status;
}

bool is_large(const fc_matrix *m) {
  return m->rows > BLOCK_LARGEST || m->cols > BLOCK_LARGEST;
}

template <typename F>
fc_status run(const fc_matrix *m, const fc_view *in, const fc_view *out, char *scratch, uint32_t *notes,
              cudaStream_t stream) {
  fc_status status;
  if (fc_matrix_mix_try(m, in, out, notes, stream, &status)) return status;
  if (is_large(m)) return run_large<F>(m, in, out, scratch, notes, stream);
  int64_t larger = m->rows > m->cols ? m->rows : m->cols;
  if (larger <= 4) return run_block<F, 4>(m, in, out, notes, stream);
  if (larger <= 8) return run_block<F, 8>(m, in, out, notes, stream);
  return run_block<F, BLOCK_LARGEST>(m, in, out, notes, stream);
}

} // namespace

// Copies of the input, and of the result, in the compute type. An input that is of that type is copied into
// the same memory if its lines, of 128 elements and more, have to be aligned, each to 32 elements.
extern "C" size_t fc_matrix_device_scratch(const fc_matrix *m, const fc_view *out) {
  if (!is_large(m) || fc_view_count(out) == 0) return 0;
  const fc_view from = dense(m, out, inputs_of(m, out), nullptr),
                to = dense(m, out, out->shape[m->axis], nullptr);
  const int64_t copies =
      bytes_of(&from) + (bytes_of(&to) > bytes_of(&from) / 4 ? bytes_of(&to) : bytes_of(&from) / 4);
  size_t split = 0;
  if (m->split && m->compute == FC_F32) {
    const fc_matrix_products p = products_of<float>(m, &from, &to);
    fc_gemm g = p.g; // as if all were one product: other strides divide them differently
    g.n = p.others * p.g.n;
    split = fc_gemm_split_scratch(&g);
  }
  return static_cast<size_t>(copies) + split + 256;
}

extern "C" fc_status fc_matrix_cuda(const fc_matrix *m, const fc_view *in, const fc_view *out, void *scratch,
                                    uint32_t *notes, void *stream) {
  fc_status status = fc_matrix_check(m, in, out);
  if (status != FC_OK || fc_view_count(out) == 0) return status;
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  return fc_dispatch_compute(m->compute, [&](auto f) {
    return run<decltype(f)>(m, in, out, static_cast<char *>(scratch), notes, s);
  });
}
