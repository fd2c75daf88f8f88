// SPDX-License-Identifier: MIT
//
// conv2d_thin_bytes.cu - dense 2-D filters of u8 images of few rows whose border is to be made
// (conv2d_thin.cuh), and of those one pixel wide without gaps, which lie in memory as a row does
// (conv2d_line.cuh): a block brings some groups of columns of all rows at once (conv2d_byte_rows.cuh), and of
// each row of a window, that which stands for it is multiplied.
#include "filters/conv2d_bytes.cuh"
#include "filters/conv2d_thin.cuh"

namespace {

constexpr int GROUPS = 4;       // of columns
constexpr int STAGES = 2;       // of which one is used: all rows are one batch
constexpr int NONE = INT32_MIN; // the row of the constant

// Where the rows of windows lie, in bytes from the first.
template <int K> struct sources { int of[FC_THIN_ROWS + K - 1]; };

// Called by all threads, once the rows are there.
template <int K>
__device__ __forceinline__ void look_up(const fc_band &b, const fc_byte_room<STAGES> &room,
                                        sources<K> &rows) {
  const int height = b.edges.height, j = threadIdx.x;
  if (j >= height + K - 1) return;
  const int source = fc_dev_border_source(b.edges.border, j - K / 2, height);
  rows.of[j] = source < 0 ? NONE : source * b.pitch + static_cast<int>(room.shift[0][source]);
}

// A row's window; of the constant's, `code` in each byte.
template <int K, int STEP>
__device__ __forceinline__ fc_byte_window<K, STEP> window_of(uint32_t at, int row, uint32_t code) {
  fc_byte_window<K, STEP> w(at + (row == NONE ? 0 : row));
#pragma unroll
  for (int i = 0; i < w.WORDS; i++) w.word[i] = row == NONE ? code : w.word[i];
  return w;
}

// Of a row of outputs, whose window's rows `row` tells of.
template <int K, int STEP>
__device__ __forceinline__ void sum_rows(const fc_band &b, const fc_byte_mask<K> &mask, uint32_t at,
                                         const int *row, float (&sum)[FC_BYTE_COLUMNS]) {
#pragma unroll
  for (int j = 0; j < K; j++) {
    const fc_byte_window<K, STEP> w = window_of<K, STEP>(at, row[j], b.edges.code);
#pragma unroll
    for (int i = 0; i < K; i++)
#pragma unroll
      for (int e = 0; e < FC_BYTE_COLUMNS; e++) sum[e] = fmaf(mask.tap[i][j], w[i * STEP + e], sum[e]);
    asm volatile("" ::: "memory"); // taps stay in uniform registers, see conv2d_floats.cu
  }
}

// Of a column that lies as a row: each element is met by a row of taps, of which all but the middle one may
// meet the constant.
template <int K, int STEP>
__device__ __forceinline__ void sum_column(const fc_band &b, const fc_byte_mask<K> &mask, uint32_t at,
                                           bool constant, float (&sum)[FC_BYTE_COLUMNS]) {
  const fc_byte_window<K, STEP> w(at);
  const float beside = __uint_as_float(b.edges.code & 255);
#pragma unroll
  for (int j = 0; j < K; j++) {
#pragma unroll
    for (int i = 0; i < K; i++)
#pragma unroll
      for (int e = 0; e < FC_BYTE_COLUMNS; e++)
        sum[e] = fmaf(mask.tap[i][j], constant && i != K / 2 ? beside : w[j * STEP + e], sum[e]);
    asm volatile("" ::: "memory"); // as above
  }
}

template <int K, int STEP, bool COLUMN>
__global__ void __launch_bounds__(FC_BAND_THREADS)
    thin_kernel(const __grid_constant__ fc_band b, const __grid_constant__ fc_byte_mask<K> mask) {
#if FC_BULK_CODE
  extern __shared__ __align__(16) uint32_t memory[];
  __shared__ fc_byte_room<STAGES> room;
  __shared__ sources<K> rows;
  fc_band_way way = fc_byte_band<true, GROUPS>(b);
  way.in += b.edges.up * b.in_row, way.y = 0; // rows as they are, with no border
  fc_byte_begin(b, way, way.width + b.margin, room);
  __syncthreads();
  fc_byte_ring<FC_THIN_ROWS, STAGES> ring(room, memory);
  ring.turn(b, 0, 0);
  if (!COLUMN) {
    look_up<K>(b, room, rows);
    __syncthreads();
  }
  const bool constant = fc_thin_constant(b);
  uint32_t seen = 0;
#pragma unroll 1
  for (int g = 0; g < GROUPS; g++) {
    const int own = g * fc_byte_width<true> + fc_byte_first<true>();
    const fc_byte_place p = fc_byte_place_at<true>(own + way.x + b.edges.left, static_cast<int>(b.columns));
    if (!__any_sync(~0u, p.whole || p.some)) break;
#pragma unroll 1
    for (int y = 0; y < way.count; y++) {
      float sum[FC_BYTE_COLUMNS] = {};
      if (COLUMN)
        sum_column<K, STEP>(b, mask, ring.ring + room.shift[0][y] + own, constant, sum);
      else
        sum_rows<K, STEP>(b, mask, ring.ring + own, rows.of + y, sum);
      fc_byte_store<true>(p, way.out + y * b.out_row + own, sum, seen);
    }
  }
  if (seen & 0xff00ff00) fc_dev_note(b.notes, 1);
#endif
}

template <int K, int STEP, bool COLUMN>
fc_status launch(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  const auto kernel = thin_kernel<K, STEP, COLUMN>;
  if (!fc_byte_has_engine(reinterpret_cast<const void *>(kernel))) return FC_UNSUPPORTED;
  const fc_band b = fc_byte_band_of<true, GROUPS>(m, 1);
  return fc_band_launch(kernel, b, m, fc_byte_mask_of<K>(op), static_cast<int>(m.height) * b.pitch, K,
                        stream);
}

} // namespace

fc_status fc_conv2d_thin_bytes(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  fc_march line = m;
  if (!m.edges.on || !fc_byte_fits(op, m)) return FC_UNSUPPORTED;
  const bool column = m.height > 1 && fc_line_turn(m, op->nx, op->ny, &line);
  if (line.height > FC_THIN_ROWS || line.columns > INT32_MAX / 4) return FC_UNSUPPORTED;
  return fc_band_choose<3, 7>(op->nx, [&](auto k) {
    switch (m.step) {
    case 1: return column ? launch<k(), 1, true>(op, line, stream) : launch<k(), 1, false>(op, line, stream);
    case 3: return column ? launch<k(), 3, true>(op, line, stream) : launch<k(), 3, false>(op, line, stream);
    default: return FC_UNSUPPORTED;
    }
  });
}
