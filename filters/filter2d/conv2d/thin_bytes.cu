// SPDX-License-Identifier: MIT
//
// thin_bytes.cu - dense 2-D filters of u8 images of few rows whose border is to be made
// (thin.cuh): a block brings some groups of columns of all rows at once (bytes.cuh), and
// marches over what stands for the rows of windows; with larger masks it sums each row of outputs by itself.
#include "filters/filter2d/conv2d/bytes.cuh"
#include "filters/filter2d/conv2d/thin.cuh"

namespace {

constexpr int GROUPS = 4; // of columns
constexpr int STAGES = 2; // of which one is used: all rows are one batch

// Where the rows of windows lie, in bytes from the first.
template <int K> struct sources { int of[FC_THIN_ROWS + K - 1 + fc_byte_layout<K>::rows]; };

// Called by all threads, once the rows are there.
template <int K>
__device__ __forceinline__ void look_up(const fc_band &b, const fc_byte_room<STAGES> &room,
                                        sources<K> &rows) {
  const int height = b.edges.height, j = threadIdx.x;
  if (j >= FC_THIN_ROWS + K - 1 + fc_byte_layout<K>::rows) return;
  // Those that no output needs, too: a batch may end with them.
  const int source = fc_dev_border_source(b.edges.border, min(j, height + K - 2) - K / 2, height);
  rows.of[j] = source < 0 ? height * b.pitch : source * b.pitch + static_cast<int>(room.shift[0][source]);
}

// A row that is the constant's, after the others.
[[maybe_unused]] __device__ __forceinline__ void make_constant(const fc_band &b, uint32_t *row) {
  for (int i = threadIdx.x; i < b.pitch / 4; i += FC_BAND_THREADS) row[i] = b.edges.code;
}

// Of a row of outputs; `rows` has the offset of each row of its window.
template <int K, int STEP>
__device__ __forceinline__ void sum_rows(const fc_byte_mask<K> &mask, uint32_t at, const int *rows,
                                         float (&sum)[FC_BYTE_COLUMNS]) {
#pragma unroll
  for (int j = 0; j < K; j++) {
    const fc_byte_window<K, STEP> w(at + rows[j]);
#pragma unroll
    for (int i = 0; i < K; i++)
#pragma unroll
      for (int e = 0; e < FC_BYTE_COLUMNS; e++) sum[e] = fmaf(mask.tap[i][j], w[i * STEP + e], sum[e]);
    asm volatile("" ::: "memory"); // taps stay in uniform registers, see floats.cu
  }
}

// Sums all rows of outputs of a group of columns, each by itself.
template <int K, int STEP, bool RAGGED>
__device__ __forceinline__ void sum_each(const fc_band &b, const fc_byte_mask<K> &mask,
                                         const fc_byte_place &p, uint32_t at, const int *rows, char *to,
                                         uint32_t &seen) {
#pragma unroll 1
  for (int y = 0; y < b.edges.height; y++, to += b.out_row) {
    float sum[FC_BYTE_COLUMNS] = {};
    sum_rows<K, STEP>(mask, at, rows + y, sum);
    fc_byte_store<RAGGED>(p, to, sum, seen);
  }
}

// Marches over the rows of windows of a group of columns, of which `rows` tells where they lie: of those
// above and below, what they add to outputs that there are not is summed too.
template <int K, int STEP, bool RAGGED>
__device__ __forceinline__ void march(const fc_band &b, const fc_byte_mask<K> &mask, const fc_byte_place &p,
                                      uint32_t at, const int *rows, char *to, uint32_t &seen) {
  constexpr int BATCH = fc_byte_layout<K>::rows;
  const int height = b.edges.height, end = height + K - 1;
  fc_byte_sums<K> sum = {};
  to -= (K - 1) * b.out_row;
#pragma unroll 1
  for (int q = 0; q < end; q += BATCH) {
#pragma unroll
    for (int u = 0; u < BATCH; u++, to += b.out_row) {
      fc_byte_scatter<K, STEP>(u, mask, fc_byte_window<K, STEP>(at + rows[q + u]), sum);
      if (static_cast<uint32_t>(q + u - (K - 1)) < static_cast<uint32_t>(height))
        fc_byte_store<RAGGED>(p, to, sum.of[u], seen);
    }
    fc_byte_next<K>(sum);
  }
}

template <int K, int STEP, bool RAGGED>
__global__ void __launch_bounds__(FC_BAND_THREADS)
    conv2d_thin_bytes(const __grid_constant__ fc_band b, const __grid_constant__ fc_byte_mask<K> mask) {
#if FC_BULK_CODE
  extern __shared__ __align__(16) uint32_t memory[];
  __shared__ fc_byte_room<STAGES> room;
  __shared__ sources<K> rows;
  fc_band_way way = fc_byte_band<GROUPS>(b);
  way.in += b.edges.up * b.in_row, way.y = 0; // rows as they are, with no border
  fc_byte_begin(b, way, way.width + b.margin, room);
  make_constant(b, memory + b.edges.height * b.pitch / 4);
  __syncthreads();
  fc_byte_ring<FC_THIN_ROWS, STAGES> ring(room, memory);
  ring.turn(b, 0, 0);
  look_up<K>(b, room, rows);
  __syncthreads();
  uint32_t seen = 0;
#pragma unroll 1
  for (int g = 0; g < GROUPS; g++) {
    const int own = g * FC_BYTE_WIDTH + FC_BYTE_COLUMNS * static_cast<int>(threadIdx.x);
    const fc_byte_place p = fc_byte_place_of(own + way.x + b.edges.left, static_cast<int>(b.columns));
    if (!__any_sync(~0u, p.whole || p.some)) break;
    if (K <= 3)
      march<K, STEP, RAGGED>(b, mask, p, ring.ring + own, rows.of, way.out + own, seen);
    else
      sum_each<K, STEP, RAGGED>(b, mask, p, ring.ring + own, rows.of, way.out + own, seen);
  }
  if (seen & 0xff00ff00) fc_dev_note(b.notes, 1);
#endif
}

template <int K, int STEP, bool RAGGED>
fc_status launch(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  const auto kernel = conv2d_thin_bytes<K, STEP, RAGGED>;
  if (!fc_byte_has_engine(reinterpret_cast<const void *>(kernel))) return FC_UNSUPPORTED;
  const fc_band b = fc_byte_band_of<GROUPS>(m, 1);
  return fc_band_launch(kernel, b, m, fc_byte_mask_of<K>(op), static_cast<int>(m.height + 1) * b.pitch, K,
                        stream);
}

template <int K, int STEP> fc_status launch(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  return fc_byte_is_ragged(m) ? launch<K, STEP, true>(op, m, stream) : launch<K, STEP, false>(op, m, stream);
}

} // namespace

fc_status fc_conv2d_thin_bytes(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  if (!m.edges.on || m.height > FC_THIN_ROWS || !fc_byte_fits(op, m)) return FC_UNSUPPORTED;
  return fc_band_choose<3, 7>(op->nx, [&](auto k) {
    switch (m.step) {
    case 1: return launch<k(), 1>(op, m, stream);
    case 3: return launch<k(), 3>(op, m, stream);
    default: return FC_UNSUPPORTED;
    }
  });
}
