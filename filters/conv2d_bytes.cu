// SPDX-License-Identifier: MIT
//
// conv2d_bytes.cu - dense 2-D filters of u8 images in bands (conv2d_bytes.cuh): as conv2d_floats.cu, a thread
// reads each new row's window once and scatters its products into the K sums a column that the row belongs
// to, all in registers.
#include "filters/conv2d_bytes.cuh"

namespace {

// Rows in a batch and batches in shared memory; blocks that a multiprocessor's registers are shared out to.
template <int K> struct layout_of {
  static constexpr int rows = K <= 5   ? 4
                              : K <= 9 ? 2
                                       : 1,
                       stages = K <= 3 ? 4 : 8,
                       blocks = K <= 3   ? 8
                                : K <= 5 ? 4
                                : K <= 7 ? 5
                                         : 3;
};

template <int K> struct sums {
  static constexpr int ROWS = K - 1 + layout_of<K>::rows;
  float of[ROWS][FC_BYTE_COLUMNS];
};

// Adds a row to the sums it belongs to: tap j to those of the output j rows up.
template <int K, int STEP>
__device__ __forceinline__ void scatter(int u, const fc_byte_mask<K> &mask, const fc_byte_window<K, STEP> &w,
                                        sums<K> &sum) {
#pragma unroll
  for (int i = 0; i < K; i++) {
    float v[FC_BYTE_COLUMNS];
#pragma unroll
    for (int e = 0; e < FC_BYTE_COLUMNS; e++) v[e] = w[i * STEP + e];
#pragma unroll
    for (int j = 0; j < K; j++)
#pragma unroll
      for (int e = 0; e < FC_BYTE_COLUMNS; e++) {
        float &to = sum.of[u + K - 1 - j][e];
        to = fmaf(mask.tap[i][j], v[e], to);
      }
    if (K > 3) asm volatile("" ::: "memory"); // taps stay in uniform registers, see conv2d_floats.cu
  }
}

template <int K, int STEP, bool RAGGED>
__device__ __forceinline__ void march(const fc_band &b, const fc_byte_mask<K> &mask, const fc_band_way &way,
                                      fc_byte_room<layout_of<K>::stages> &room, void *memory) {
  constexpr int BATCH = layout_of<K>::rows, SUMS = sums<K>::ROWS, COLUMNS = FC_BYTE_COLUMNS;
  using ring_of = fc_byte_ring<BATCH, layout_of<K>::stages>;
  const int own = fc_byte_first<RAGGED>(), end = way.count + K - 1;
  ring_of ring(room, memory);
  const fc_byte_place p = fc_byte_place_at<RAGGED>(own + way.x + b.edges.left, static_cast<int>(b.columns));
  char *to = way.out + own - (K - 1) * b.out_row;
  uint32_t seen = 0, last = 0;
  sums<K> sum;
#pragma unroll
  for (int i = 0; i < SUMS * COLUMNS; i++) sum.of[i / COLUMNS][i % COLUMNS] = 0;
#pragma unroll 1
  for (int q = -BATCH * static_cast<int>(ring_of::EARLY); q < end; q += BATCH) {
    const uint32_t now = ring.turn(b, last, mask.nothing);
    // With no columns, a warp is here for the rows' sake alone.
    if (q < 0 || !__any_sync(~0u, p.whole || p.some)) continue;
    using window = fc_byte_window<K, STEP>;
    const uint32_t at = ring.batch(b, now) + own, *shift = room.shift[now % layout_of<K>::stages];
    typename window::raw next(at + shift[0]); // read a row ahead
#pragma unroll
    for (int u = 0; u < BATCH; u++, to += b.out_row) {
      const window w(next);
      last = next.word[window::WORDS];
      if (u + 1 < BATCH) next = typename window::raw(at + (u + 1) * b.pitch + shift[u + 1]);
      scatter<K, STEP>(u, mask, w, sum);
      if (static_cast<uint32_t>(q + u - (K - 1)) < static_cast<uint32_t>(way.count))
        fc_byte_store<RAGGED>(p, to, sum.of[u], seen);
    }
#pragma unroll
    for (int i = 0; i < SUMS * COLUMNS; i++)
      sum.of[i / COLUMNS][i % COLUMNS] =
          i / COLUMNS < K - 1 ? sum.of[i / COLUMNS + BATCH < SUMS ? i / COLUMNS + BATCH : 0][i % COLUMNS] : 0;
  }
  if (seen & 0xff00ff00) fc_dev_note(b.notes, 1);
}

template <int K, int STEP, bool RAGGED>
__global__ void __launch_bounds__(FC_BAND_THREADS, layout_of<K>::blocks)
    band_kernel(const __grid_constant__ fc_band b, const __grid_constant__ fc_byte_mask<K> mask) {
#if FC_BULK_CODE
  extern __shared__ __align__(16) uint32_t memory[];
  __shared__ fc_byte_room<layout_of<K>::stages> room;
  const fc_band_way way = fc_byte_band<RAGGED, 1>(b);
  fc_byte_begin(b, way, way.width + b.margin, room);
  __syncthreads();
  march<K, STEP, RAGGED>(b, mask, way, room, memory);
#endif
}

template <int K, int STEP, bool RAGGED>
fc_status launch(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  const auto kernel = band_kernel<K, STEP, RAGGED>;
  if (!fc_byte_has_engine(reinterpret_cast<const void *>(kernel))) return FC_UNSUPPORTED;
  const fc_band b = fc_byte_band_of<RAGGED, 1>(m, K);
  return fc_band_launch(kernel, b, m, fc_byte_mask_of<K>(op),
                        layout_of<K>::stages * layout_of<K>::rows * b.pitch, K, stream);
}

template <int K, int STEP> fc_status launch(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  return fc_byte_is_ragged(m) ? launch<K, STEP, true>(op, m, stream) : launch<K, STEP, false>(op, m, stream);
}

} // namespace

fc_status fc_conv2d_bytes(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  if (!fc_byte_fits(op, m)) return FC_UNSUPPORTED;
  return fc_band_choose<3, 15>(op->nx, [&](auto k) {
    switch (m.step) {
    case 1: return launch<k(), 1>(op, m, stream);
    case 3: return launch<k(), 3>(op, m, stream);
    case 4: return launch<k(), 4>(op, m, stream);
    default: return FC_UNSUPPORTED;
    }
  });
}
