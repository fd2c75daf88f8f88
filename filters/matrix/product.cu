// SPDX-License-Identifier: MIT
//
// product.cu - a matrix along an axis as matrix products C = A B: A the matrix, each column of B a block of
// the input.
//
//   in place  elements of the type computed with, in lines that gemm reads as they lie: one product a line
//   copied    others: blocks are gathered into scratch, as numbers of the type computed with, and multiplied
//   there;
//             the results are scattered, with offset, rounding and clamping. A slice of positions at a time,
//             so that the copies stay in the second cache and cost little beside the product.
//
//        in --gather--> B [position][column] --gemm--> C [position][row] --scatter--> out
//
// Where positions lie next to each other, and not the elements of a block, B and C are [column][position] and
// [row][position]. The sums are those of gemm.h on either way; offsets are added to them last.
#include "filters/matrix/product.cuh"

#include "filters/gemm/gemm.h"

namespace {

constexpr int THREADS = 256, WARP = 32;
constexpr int EACH = 8;                      // positions of a warp, or elements of a thread, at a time
constexpr int64_t SLICE = INT64_C(16) << 20; // bytes of B, or of C
constexpr int64_t LINES = 8;                 // so many products in place at most

// A slice of B or C. A block's elements are adjacent, or positions are.
template <typename F> struct slab {
  F *data;
  int64_t across, along; // to the next position, and to the next element of a block
  int elements;          // of a block
  bool by_block;
};

// One side of the matrix in the views' memory.
template <typename F> struct side {
  char *data;
  int64_t along; // bytes, to the next element of a block
  int32_t dtype;
  fc_dev_map<F> map;
};

struct gather {
  static __device__ __forceinline__ int64_t offset(const fc_matrix_walk &walk, int64_t position) {
    int64_t from, to;
    walk.offsets(position, &from, &to);
    return from;
  }
  template <typename F>
  static __device__ __forceinline__ void move(F *near, char *far, const side<F> &s, F, uint32_t *) {
    *near = fc_dev_load_any<F>(far, s.dtype, s.map);
  }
};

struct scatter {
  static __device__ __forceinline__ int64_t offset(const fc_matrix_walk &walk, int64_t position) {
    int64_t from, to;
    walk.offsets(position, &from, &to);
    return to;
  }
  template <typename F>
  static __device__ __forceinline__ void move(F *near, char *far, const side<F> &s, F added,
                                              uint32_t *notes) {
    fc_dev_store_any<F>(far, s.dtype, *near + added, s.map, notes);
  }
};

// A warp goes along the blocks of EACH positions: each position is looked up once, by one lane.
template <typename F, class DO>
__device__ __forceinline__ void move_blocks(const fc_matrix_walk &walk, int64_t first, int64_t count,
                                            const slab<F> &near, const side<F> &far, const F *added,
                                            uint32_t *notes) {
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (THREADS / WARP);
  const int64_t warp = (static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x) / WARP;
  for (int64_t p = warp * EACH; p < count; p += warps * EACH) {
    const int64_t mine = p + lane % EACH < count ? DO::offset(walk, first + p + lane % EACH) : 0;
#pragma unroll 1
    for (int k = 0; k < EACH && p + k < count; k++) {
      char *block = far.data + __shfl_sync(0xffffffffu, mine, k);
      F *to = near.data + (p + k) * near.across;
      for (int e = lane; e < near.elements; e += WARP)
        DO::move(to + e, block + e * far.along, far, added ? added[e] : F(0), notes);
    }
  }
}

// Neighbouring threads take neighbouring positions, and EACH elements of their blocks (blockIdx.y).
template <typename F, class DO>
__device__ __forceinline__ void move_positions(const fc_matrix_walk &walk, int64_t first, int64_t count,
                                               const slab<F> &near, const side<F> &far, const F *added,
                                               uint32_t *notes) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
  const int begin = static_cast<int>(blockIdx.y) * EACH;
  const int end = begin + EACH < near.elements ? begin + EACH : near.elements;
  for (int64_t p = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x; p < count; p += step) {
    char *block = far.data + DO::offset(walk, first + p);
    for (int e = begin; e < end; e++)
      DO::move(near.data + p + e * near.along, block + e * far.along, far, added ? added[e] : F(0), notes);
  }
}

template <typename F, class DO>
__global__ void __launch_bounds__(THREADS)
    matrix_move(fc_matrix_walk walk, int64_t first, int64_t count, slab<F> near, side<F> far, const F *added,
                uint32_t *notes) {
  if (near.by_block)
    move_blocks<F, DO>(walk, first, count, near, far, added, notes);
  else
    move_positions<F, DO>(walk, first, count, near, far, added, notes);
}

template <typename F, class DO>
fc_status move(const fc_matrix_walk &walk, int64_t first, int64_t count, const slab<F> &near,
               const side<F> &far, const F *added, uint32_t *notes, cudaStream_t stream) {
  dim3 grid;
  grid.x =
      near.by_block ? fc_blocks(count, THREADS / WARP * EACH, 1 << 16) : fc_blocks(count, THREADS, 1 << 16);
  grid.y = near.by_block ? 1u : static_cast<unsigned>((near.elements + EACH - 1) / EACH);
  matrix_move<F, DO><<<grid, THREADS, 0, stream>>>(walk, first, count, near, far, added, notes);
  return fc_launch_status();
}

// ---- copied ---------------------------------------------------------------------

int64_t whole_lines(int64_t elements) {
  return (elements + 31) / 32 * 32; // lines of 128 bytes, which the copy engine reads
}

struct slices {
  int64_t positions;            // of each but the last
  int64_t line_b, line_c;       // elements from block to block
  bool block_b, block_c;        // blocks' elements are adjacent
  int64_t elements_b, elements; // of B, and of both
};

bool adjacent(const fc_matrix *m, const fc_view *v) {
  return v->stride[m->axis] == static_cast<int64_t>(fc_dtype_size(v->dtype));
}

slices slices_of(const fc_matrix *m, const fc_matrix_walk &walk, const fc_view *in, const fc_view *out) {
  slices s;
  const int64_t size = static_cast<int64_t>(fc_dtype_size(m->compute));
  s.block_b = adjacent(m, in), s.block_c = adjacent(m, out);
  s.line_b = whole_lines(m->cols), s.line_c = whole_lines(m->rows);
  const int64_t longest = s.line_b > s.line_c ? s.line_b : s.line_c, most = SLICE / (longest * size);
  s.positions = whole_lines(most < walk.count ? (most > 1 ? most : 1) : walk.count);
  s.elements_b = s.positions * s.line_b;
  s.elements = s.elements_b + s.positions * s.line_c;
  return s;
}

template <typename F>
slab<F> slab_of(F *data, bool by_block, int64_t line, int64_t positions, int64_t elements) {
  return {data, by_block ? line : 1, by_block ? 1 : positions, static_cast<int>(elements), by_block};
}

template <typename F>
fc_status run_copied(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                     char *scratch, cudaStream_t stream) {
  const fc_matrix_walk walk = fc_matrix_walk_of(m, in, out);
  const slices s = slices_of(m, walk, in, out);
  F *b = reinterpret_cast<F *>(scratch);
  const slab<F> from = slab_of(b, s.block_b, s.line_b, s.positions, m->cols),
                to = slab_of(b + s.elements_b, s.block_c, s.line_c, s.positions, m->rows);
  const side<F> input = {static_cast<char *>(in->data), in->stride[m->axis], in->dtype,
                         fc_dev_map_of<F>(in->kind, in->dtype)},
                output = {static_cast<char *>(out->data), out->stride[m->axis], out->dtype,
                          fc_dev_map_of<F>(out->kind, out->dtype)};
  fc_gemm g = {};
  g.type = m->compute, g.m = m->rows, g.k = m->cols, g.alpha = 1;
  g.a = m->matrix, g.a_row = 1, g.a_col = m->pitch;
  g.b = from.data, g.b_row = from.along, g.b_col = from.across;
  g.c = to.data, g.c_row = to.along, g.c_col = to.across;
  for (int64_t first = 0; first < walk.count; first += s.positions) {
    g.n = walk.count - first < s.positions ? walk.count - first : s.positions;
    fc_status status = move<F, gather>(walk, first, g.n, from, input, nullptr, nullptr, stream);
    if (status == FC_OK) status = fc_gemm_cuda(&g, stream);
    if (status == FC_OK)
      status =
          move<F, scatter>(walk, first, g.n, to, output, static_cast<const F *>(m->offset), notes, stream);
    if (status != FC_OK) return status;
  }
  return FC_OK;
}

// ---- in place -------------------------------------------------------------------

// The dimension with the most positions is the columns of a product; the others are gone through one by one.
struct lines {
  int64_t count[FC_AXES], number; // of each dimension; of products
  int most;
  fc_gemm g;
};

lines lines_of(const fc_matrix *m, const fc_matrix_walk &walk, const fc_view *in, const fc_view *out) {
  lines l = {};
  const int64_t size = static_cast<int64_t>(fc_dtype_size(m->compute));
  l.number = 1;
  l.count[FC_AXES - 1] = walk.count;
  for (int d = 0; d < FC_AXES - 1; d++) l.count[d] = walk.size[d], l.count[FC_AXES - 1] /= walk.size[d];
  for (int d = 1; d < FC_AXES; d++) { // a dimension that goes on where the largest ends is part of it
    const bool joins =
        walk.in[d] == walk.in[l.most] * l.count[l.most] && walk.out[d] == walk.out[l.most] * l.count[l.most];
    if (joins)
      l.count[l.most] *= l.count[d], l.count[d] = 1;
    else if (l.count[d] > l.count[l.most])
      l.most = d;
  }
  for (int d = 0; d < FC_AXES; d++) l.number *= d == l.most ? 1 : l.count[d];
  l.g.type = m->compute, l.g.m = m->rows, l.g.n = l.count[l.most], l.g.k = m->cols, l.g.alpha = 1;
  l.g.a = m->matrix, l.g.a_row = 1, l.g.a_col = m->pitch;
  l.g.b = in->data, l.g.b_row = in->stride[m->axis] / size, l.g.b_col = walk.in[l.most] / size;
  l.g.c = out->data, l.g.c_row = out->stride[m->axis] / size, l.g.c_col = walk.out[l.most] / size;
  return l;
}

fc_status run_in_place(const fc_matrix *m, const fc_view *in, const fc_view *out, cudaStream_t stream) {
  const fc_matrix_walk walk = fc_matrix_walk_of(m, in, out);
  lines l = lines_of(m, walk, in, out);
  for (int64_t i = 0; i < l.number; i++) {
    int64_t rest = i, from = 0, to = 0;
    for (int d = 0; d < FC_AXES; d++) {
      if (d == l.most) continue;
      from += rest % l.count[d] * walk.in[d], to += rest % l.count[d] * walk.out[d];
      rest /= l.count[d];
    }
    l.g.b = static_cast<const char *>(in->data) + from, l.g.c = static_cast<char *>(out->data) + to;
    const fc_status status = fc_gemm_cuda(&l.g, stream);
    if (status != FC_OK) return status;
  }
  return FC_OK;
}

// ---- which -----------------------------------------------------------------------

bool is_plain(const fc_matrix *m, const fc_view *in, const fc_view *out) {
  return in->dtype == m->compute && out->dtype == m->compute && !m->offset;
}

// Devices whose products are several times as fast as tiles made of elements as they lie (gemm.h).
bool has_fast_products(const fc_matrix *m) {
  int device = 0, major = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         (major == 9 || (major == 8 && m->compute == FC_F64));
}

} // namespace

bool fc_matrix_is_product(const fc_matrix *m, const fc_view *in, const fc_view *out) {
  constexpr int64_t WORTH = 48; // elements of a block on either side
  return is_plain(m, in, out) || (m->rows >= WORTH && m->cols >= WORTH && has_fast_products(m));
}

size_t fc_matrix_product_scratch(const fc_matrix *m, const fc_view *in, const fc_view *out) {
  const fc_matrix_walk walk = fc_matrix_walk_of(m, in, out);
  if (is_plain(m, in, out)) {
    const lines l = lines_of(m, walk, in, out);
    if (l.number <= LINES && fc_gemm_padded_scratch(&l.g) == 0) return 0;
  }
  return static_cast<size_t>(slices_of(m, walk, in, out).elements) * fc_dtype_size(m->compute);
}

fc_status fc_matrix_product(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                            char *scratch, cudaStream_t stream) {
  if (fc_matrix_product_scratch(m, in, out) == 0) return run_in_place(m, in, out, stream);
  return fc_dispatch_compute(
      m->compute, [&](auto f) { return run_copied<decltype(f)>(m, in, out, notes, scratch, stream); });
}
