// SPDX-License-Identifier: MIT
//
// bytes.cu - dense 2-D filters of u8 images in bands (bytes.cuh). A thread reads the window of each new row
// once and adds its products to the K sums per column that the row contributes to, all in registers.
#include "filters/filter2d/conv2d/bytes.cuh"

namespace {

template <int K, int STEP, bool RAGGED>
__device__ __forceinline__ void march(const fc_band &b, const fc_byte_mask<K> &mask, const fc_band_way &way,
                                      fc_byte_room<FC_BYTE_STAGES> &room, void *memory) {
  constexpr int BATCH = FC_BYTE_ROWS;
  using ring_of = fc_byte_ring<BATCH, FC_BYTE_STAGES>;
  const int own = FC_BYTE_COLUMNS * static_cast<int>(threadIdx.x), end = way.count + K - 1;
  ring_of ring(room, memory);
  const fc_byte_place p = fc_byte_place_of(own + way.x + b.edges.left, static_cast<int>(b.columns));
  char *to = way.out + own - (K - 1) * b.out_row;
  uint32_t seen = 0, last = 0;
  fc_byte_sums<K> sum = {};
#pragma unroll 1
  for (int q = -BATCH * static_cast<int>(ring_of::EARLY); q < end; q += BATCH) {
    const uint32_t now = ring.turn(b, last, mask.nothing);
    // A warp without columns only takes part in loading rows.
    if (q < 0 || !__any_sync(~0u, p.whole || p.some)) continue;
    using window = fc_byte_window<K, STEP>;
    const uint32_t at = ring.batch(b, now) + own, *shift = room.shift[now % FC_BYTE_STAGES];
    typename window::raw next(at + shift[0]); // loaded one row in advance
#pragma unroll
    for (int u = 0; u < BATCH; u++, to += b.out_row) {
      const window w(next);
      last = next.word[window::WORDS];
      if (u + 1 < BATCH) next = typename window::raw(at + (u + 1) * b.pitch + shift[u + 1]);
      fc_byte_scatter<K, STEP>(u, mask, w, sum);
      if (static_cast<uint32_t>(q + u - (K - 1)) < static_cast<uint32_t>(way.count))
        fc_byte_store<RAGGED>(p, to, sum.of[u], seen);
    }
    fc_byte_next<K>(sum);
  }
  if (seen & 0xff00ff00) fc_dev_note(b.notes, 1);
}

template <int K, int STEP, bool RAGGED>
__global__ void __launch_bounds__(FC_BAND_THREADS, FC_BYTE_BLOCKS)
    conv2d_bytes_band(const __grid_constant__ fc_band b, const __grid_constant__ fc_byte_mask<K> mask) {
#if FC_BULK_CODE
  extern __shared__ __align__(16) uint32_t memory[];
  __shared__ fc_byte_room<FC_BYTE_STAGES> room;
  const fc_band_way way = fc_byte_band(b);
  fc_byte_begin(b, way, way.width + b.margin, room);
  __syncthreads();
  march<K, STEP, RAGGED>(b, mask, way, room, memory);
#endif
}

template <int K, int STEP, bool RAGGED>
fc_status launch(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  const auto kernel = conv2d_bytes_band<K, STEP, RAGGED>;
  if (!fc_byte_has_engine(reinterpret_cast<const void *>(kernel))) return FC_UNSUPPORTED;
  fc_band b = fc_byte_band_of(m, K);
  b.overlap = m.columns >= FC_BYTE_WIDTH && (RAGGED || m.columns % FC_BYTE_COLUMNS == 0);
  return fc_band_launch(kernel, b, m, fc_byte_mask_of<K>(op), FC_BYTE_STAGES * FC_BYTE_ROWS * b.pitch, K,
                        stream);
}

template <int K, int STEP> fc_status launch(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  return fc_byte_is_ragged(m) ? launch<K, STEP, true>(op, m, stream) : launch<K, STEP, false>(op, m, stream);
}

} // namespace

fc_status fc_conv2d_bytes(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  return fc_band_choose<3, FC_CONV2D_TAPS_BYTES>(op->nx, [&](auto k) {
    switch (m.step) {
    case 1: return launch<k(), 1>(op, m, stream);
    case 3: return launch<k(), 3>(op, m, stream);
    case 4: return launch<k(), 4>(op, m, stream);
    default: return FC_UNSUPPORTED;
    }
  });
}
