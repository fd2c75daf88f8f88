// SPDX-License-Identifier: MIT
//
// narrow_bytes.cu - dense 2-D filters of narrow u8 images and of batches of small ones: rows are loaded as
// in narrow.cuh and remain bytes; a thread computes 8 columns of FC_NARROW_DOWN rows of outputs at a time,
// with the arithmetic of bytes.cuh.
#include "filters/filter2d/conv2d/bytes.cuh"
#include "filters/filter2d/conv2d/narrow.cuh"

namespace {

template <int K> struct taps {
  fc_byte_mask<K> mask;
  int lanes; // lanes per row of outputs
  fc_dev_divider by_lanes;
};

// Sums a thread's outputs. `at` is the address of the piece's first window, `source` the offset of each row
// in words.
template <int K, int STEP>
__device__ __forceinline__ void sum_all(const fc_byte_mask<K> &mask, uint32_t at, const int *source,
                                        float (&sum)[FC_NARROW_DOWN][FC_BYTE_COLUMNS]) {
#pragma unroll
  for (int q = 0; q < K + FC_NARROW_DOWN - 1; q++) {
    const fc_byte_window<K, STEP> w(at + 4 * source[q]);
#pragma unroll
    for (int i = 0; i < K; i++) {
#pragma unroll
      for (int r = 0; r < FC_NARROW_DOWN; r++)
#pragma unroll
        for (int e = 0; e < FC_BYTE_COLUMNS; e++)
          if (q >= r && q - r < K) sum[r][e] = fmaf(mask.tap[i][q - r], w[i * STEP + e], sum[r][e]);
      if (K > 3) asm volatile("" ::: "memory"); // keeps the taps in uniform registers, see floats.cu
    }
  }
}

// Stores the first `count` of 8 bytes, in the largest pieces that the address is aligned for.
__device__ __forceinline__ void store_lying(char *to, fc_byte_codes c, int count) {
  const uint32_t shift = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(to)) % 8;
  if (count >= FC_BYTE_COLUMNS && shift == 0) {
    *reinterpret_cast<uint2 *>(to) = make_uint2(c.word[0], c.word[1]);
  } else if (shift % 4 == 0) {
    uint32_t rest = c.word[0];
    if (count >= 4) *reinterpret_cast<uint32_t *>(to) = rest, to += 4, count -= 4, rest = c.word[1];
    if (count >= 4) *reinterpret_cast<uint32_t *>(to) = rest, count = 0;
    if (count >= 2) *reinterpret_cast<uint16_t *>(to) = static_cast<uint16_t>(rest), to += 2, rest >>= 16;
    if (count % 2) *to = static_cast<char>(rest);
  } else {
    fc_byte_store_some(to, c, 0, count);
  }
}

template <int K, int STEP>
__global__ void __launch_bounds__(FC_NARROW_THREADS)
    conv2d_narrow_bytes(const __grid_constant__ fc_narrow b, const __grid_constant__ taps<K> t) {
  extern __shared__ __align__(16) uint32_t memory[];
  __shared__ fc_narrow_tables tables;
  const int groups = (b.rows + FC_NARROW_DOWN - 1) / FC_NARROW_DOWN;
  fc_narrow_look_up(b, tables);
  __syncthreads();
  fc_narrow_bytes(b, tables, fc_narrow_lane_of(b), memory);
  __syncthreads();
  const uint32_t first = fc_shared_address(memory) + fc_narrow_first_byte(b);
  uint32_t seen = 0;
#pragma unroll 1
  for (int item = threadIdx.x; item < b.pieces * groups * t.lanes; item += FC_NARROW_THREADS) {
    const int group = t.by_lanes.quotient(item), piece = b.by_groups.quotient(group);
    const int y = (group - piece * groups) * FC_NARROW_DOWN, count = tables.count[piece] - y;
    fc_byte_place p = {(item - group * t.lanes) * FC_BYTE_COLUMNS, b.columns, false, true};
    p.whole = p.column + FC_BYTE_COLUMNS <= b.columns;
    if (count <= 0) continue;
    float sum[FC_NARROW_DOWN][FC_BYTE_COLUMNS] = {};
    sum_all<K, STEP>(t.mask, first + 4 * piece * b.held * b.raw_pitch + p.column, tables.source + y, sum);
    char *to = tables.out[piece] + y * b.out_row + p.column;
#pragma unroll
    for (int r = 0; r < FC_NARROW_DOWN; r++, to += b.out_row) {
      if (r >= count) break;
      uint32_t all;
      const fc_byte_codes c = fc_byte_codes_of(sum[r], all);
      seen |= p.whole ? all : fc_byte_seen(sum[r], p);
      store_lying(to, c, b.columns - p.column);
    }
  }
  if (seen & 0xff00ff00) fc_dev_note(b.notes, 1);
}

template <int K, int STEP> fc_status launch(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  fc_narrow b = fc_narrow_of(m, K, K, true, false);
  b.pitch = b.raw_pitch; // the row distance that tables.source is made with
  taps<K> t = {fc_byte_mask_of<K>(op), (b.columns + FC_BYTE_COLUMNS - 1) / FC_BYTE_COLUMNS, {}};
  t.by_lanes = fc_dev_divider_of(t.lanes);
  const int bytes = 4 * b.pieces * b.held * b.raw_pitch + 64; // slack: the last lane's windows exceed the row
  const int blocks = (b.count + b.pieces - 1) / b.pieces;
  if (!fc_allow_shared(conv2d_narrow_bytes<K, STEP>, bytes)) return FC_UNSUPPORTED;
  conv2d_narrow_bytes<K, STEP><<<static_cast<unsigned>(blocks), FC_NARROW_THREADS, bytes, stream>>>(b, t);
  return fc_launch_status();
}

} // namespace

fc_status fc_conv2d_narrow_bytes(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  if (!fc_narrow_fits(m)) return FC_UNSUPPORTED;
  return fc_band_choose<3, FC_CONV2D_TAPS_LOW>(op->nx, [&](auto k) {
    switch (m.step) {
    case 1: return launch<k(), 1>(op, m, stream);
    case 3: return launch<k(), 3>(op, m, stream);
    default: return FC_UNSUPPORTED;
    }
  });
}
