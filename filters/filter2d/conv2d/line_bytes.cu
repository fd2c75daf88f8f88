// SPDX-License-Identifier: MIT
//
// line_bytes.cu - dense 2-D filters of u8 images of one row whose border the kernel makes, and of those one
// pixel wide without gaps (line_bytes.cuh). Each element of a window is multiplied with all taps across the
// line, or with the middle one only, the others being multiplied with the constant. An element is converted
// to float once.
#include "filters/filter2d/conv2d/line_bytes.cuh"

namespace {

template <int K> struct taps {
  fc_byte_lines lines;
  fc_byte_mask<K> mask; // row by row, as it is used
};

// Adds the products of a window with the rows of taps. BESIDE selects those that may be multiplied with the
// constant instead: for a row all rows but the middle one, for a COLUMN all taps of each row but the middle
// one.
template <int K, int STEP, bool COLUMN, bool BESIDE>
__device__ __forceinline__ void add(const fc_byte_mask<K> &mask, const fc_byte_window<K, STEP> &w,
                                    float constant, float (&sum)[FC_BYTE_COLUMNS]) {
#pragma unroll
  for (int j = 0; j < K; j++) {
#pragma unroll
    for (int i = 0; i < K; i++) {
      const int across = COLUMN ? i : j, along = COLUMN ? j : i;
#pragma unroll
      for (int e = 0; e < FC_BYTE_COLUMNS; e++)
        sum[e] = fmaf(mask.tap[j][i], BESIDE && across != K / 2 ? constant : w[along * STEP + e], sum[e]);
    }
    if (K > 3) asm volatile("" ::: "memory"); // keeps taps in uniform registers
  }
}

template <int K, int STEP, bool COLUMN>
__global__ void __launch_bounds__(FC_BAND_THREADS) conv2d_line_bytes(const __grid_constant__ taps<K> t) {
#if FC_BULK_CODE
  extern __shared__ __align__(16) char memory[];
  const int32_t border = t.lines.b.edges.border;
  const bool beside = border == FC_BORDER_ZERO || border == FC_BORDER_CONSTANT;
  const float constant = __uint_as_float(t.lines.b.edges.code & 255);
  uint32_t seen = 0;
  fc_line_filter(t.lines, memory, [&](uint32_t at, const fc_byte_place &p) {
    const fc_byte_window<K, STEP> w(at);
    float sum[FC_BYTE_COLUMNS] = {};
    uint32_t all;
    if (beside)
      add<K, STEP, COLUMN, true>(t.mask, w, constant, sum);
    else
      add<K, STEP, COLUMN, false>(t.mask, w, constant, sum);
    const fc_byte_codes c = fc_byte_codes_of(sum, all);
    seen |= p.whole ? all : fc_byte_seen(sum, p);
    return c;
  });
  if (seen & 0xff00ff00) fc_dev_note(t.lines.b.notes, 1);
#endif
}

template <int K, int STEP, bool COLUMN>
fc_status launch(const fc_conv2d *op, const fc_march &line, cudaStream_t stream) {
  const auto kernel = conv2d_line_bytes<K, STEP, COLUMN>;
  if (!fc_byte_has_engine(reinterpret_cast<const void *>(kernel))) return FC_UNSUPPORTED;
  taps<K> t = {};
  const fc_byte_mask<K> mask = fc_byte_mask_of<K>(op);
  for (int i = 0; i < K * K; i++) t.mask.tap[i / K][i % K] = mask.tap[i % K][i / K];
  return fc_line_plan(line, &t.lines) ? fc_line_launch(kernel, t, 0, stream) : FC_UNSUPPORTED;
}

} // namespace

fc_status fc_conv2d_line_bytes(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  const fc_march line = fc_line_of(m, op->nx, op->ny);
  const bool column = m.height > 1;
  return fc_band_choose<3, FC_CONV2D_TAPS_LINE>(op->nx, [&](auto k) {
    switch (m.step) {
    case 1: return column ? launch<k(), 1, true>(op, line, stream) : launch<k(), 1, false>(op, line, stream);
    case 3: return column ? launch<k(), 3, true>(op, line, stream) : launch<k(), 3, false>(op, line, stream);
    default: return FC_UNSUPPORTED;
    }
  });
}
