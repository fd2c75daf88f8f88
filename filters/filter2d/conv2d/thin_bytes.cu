// SPDX-License-Identifier: MIT
//
// thin_bytes.cu - dense 2-D filters of u8 images of few rows whose border the kernel makes (thin.cuh): a
// block loads all rows of some groups of columns at once (bytes.cuh), then marches over the rows of windows,
// each mapped to its image row. With larger masks it sums each row of outputs separately.
#include "filters/filter2d/conv2d/bytes.cuh"
#include "filters/filter2d/conv2d/thin.cuh"

namespace {

constexpr int GROUPS = 4; // groups of columns per block
constexpr int STAGES = 2; // only one is used: all rows are one batch

// Offset in bytes of each row of windows from the first image row.
template <int K> struct sources { int of[FC_THIN_ROWS + K - 1 + fc_byte_layout<K>::rows]; };

// Called by all threads, after the rows have arrived.
template <int K>
__device__ __forceinline__ void look_up(const fc_band &b, const fc_byte_room<STAGES> &room,
                                        sources<K> &rows) {
  const int height = b.edges.height, j = threadIdx.x;
  if (j >= FC_THIN_ROWS + K - 1 + fc_byte_layout<K>::rows) return;
  // Rows that no output needs are looked up too, as the last batch may contain them.
  const int source = fc_dev_border_source(b.edges.border, min(j, height + K - 2) - K / 2, height);
  rows.of[j] = source < 0 ? height * b.pitch : source * b.pitch + static_cast<int>(room.shift[0][source]);
}

// Stores a row of the border's constant after the image rows.
[[maybe_unused]] __device__ __forceinline__ void make_constant(const fc_band &b, uint32_t *row) {
  for (int i = threadIdx.x; i < b.pitch / 4; i += FC_BAND_THREADS) row[i] = b.edges.code;
}

// Sums one row of outputs; `rows` has the offset of each row of its window.
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
    asm volatile("" ::: "memory"); // keeps the taps in uniform registers, see floats.cu
  }
}

// Sums all rows of outputs of a group of columns, each separately.
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

// Marches over the rows of windows of a group of columns; `rows` has their offsets. Rows of the border also
// contribute to sums above and below the image, which are not stored.
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
  way.in += b.edges.up * b.in_row, way.y = 0; // image rows only, without border rows
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
