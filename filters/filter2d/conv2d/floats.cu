// SPDX-License-Identifier: MIT
//
// floats.cu - dense 2-D filters of f32 in bands (band.cuh): a thread reads the window of each new row once
// from shared memory and adds its products to the K sums per column that the row contributes to, all in
// registers.
//
// From 5 x 5 on arithmetic is the limit, and then the source of the taps matters. With taps in ordinary
// registers a multiply-add fetches three operands and waits for the banks of the register file; with taps in
// uniform registers it fetches two. Uniform registers are few, so the taps are reloaded from constant memory
// for every row, two at a time, and each is used for all columns of a thread.
#include "filters/filter2d/band.cuh"
#include "filters/filter2d/conv2d/floats.cuh"

namespace {

// Taps column by column: those of one x are adjacent.
template <int K> struct mask_of { alignas(8) float tap[K][(K + 1) / 2 * 2]; };

// Rows per batch; batches in shared memory; groups of 4 columns per thread; minimum of resident blocks per
// multiprocessor, which limits the registers per thread.
template <int K> struct layout_of {
  static constexpr int rows = K <= 7 ? 2 : 1, stages = K <= 5 ? 8 : 4, groups = K <= 5 ? 1 : 2,
                       blocks = K <= 7 ? 3 : 2;
};

template <int K> struct sums {
  static constexpr int ROWS = K - 1 + layout_of<K>::rows, GROUPS = layout_of<K>::groups;
  float of[ROWS][GROUPS][4];
};

// Adds one row, read from s + fc_band_early on (s is aligned to 16 bytes; groups are 512 elements apart), to
// the sums it contributes to: tap row j to those of the output j rows above.
template <int K, int STEP>
__device__ __forceinline__ void scatter(int u, const mask_of<K> &mask, const float *s, sums<K> &sum) {
  constexpr int FIRST = fc_band_early<K, STEP>, QUADS = (FIRST + (K - 1) * STEP + 4 + 3) / 4,
                G = sums<K>::GROUPS;
  float w[G][4 * QUADS];
#pragma unroll
  for (int i = 0; i < K; i++) {
#pragma unroll
    for (int q = 0; q < QUADS * G; q++) { // loads the quads that no earlier tap needed
      const int at = 4 * (q / G), g = q % G, last = FIRST + i * STEP + 3;
      if (at > last || (i > 0 && at <= last - STEP)) continue;
      const float4 v = *reinterpret_cast<const float4 *>(s + g * FC_BAND_WIDTH + at);
      w[g][at] = v.x, w[g][at + 1] = v.y, w[g][at + 2] = v.z, w[g][at + 3] = v.w;
    }
#pragma unroll
    for (int j = 0; j < K; j++)
#pragma unroll
      for (int e = 0; e < 4 * G; e++) {
        float &to = sum.of[u + K - 1 - j][e / 4][e % 4];
        to = fmaf(mask.tap[i][j], w[e / 4][FIRST + i * STEP + e % 4], to);
      }
    // Prevents the compiler from moving loads of taps across: all at once exceed the uniform registers, and
    // would be placed in ordinary ones.
    asm volatile("" ::: "memory");
  }
}

template <int K, int STEP, bool QUADS>
__global__ void __launch_bounds__(FC_BAND_THREADS, layout_of<K>::blocks)
    conv2d_floats_band(const __grid_constant__ fc_band b, const __grid_constant__ mask_of<K> mask) {
  constexpr int BATCH = layout_of<K>::rows, G = sums<K>::GROUPS, SUMS = sums<K>::ROWS;
  extern __shared__ __align__(16) uint32_t memory[];
  const fc_band_way way = fc_band_begin<4, G>(b);
  const int end = way.count + K - 1;
  float *room = reinterpret_cast<float *>(memory) + threadIdx.x / 32 * 128;
  fc_band_ring<4, BATCH, layout_of<K>::stages, 4 * G, QUADS ? FC_BAND_QUADS : FC_BAND_WORDS, false> ring(
      b, way, end, memory + FC_BAND_WIDTH);
  sums<K> sum;
#pragma unroll
  for (int i = 0; i < SUMS * G * 4; i++) sum.of[i / 4 / G][i / 4 % G][i % 4] = 0;
  char *to = way.out + (QUADS ? 16 * threadIdx.x : 0) - (K - 1) * b.out_row;
  uint32_t stored[G];
#pragma unroll
  for (int g = 0; g < G; g++) stored[g] = fc_band_rows(way, g * FC_BAND_WIDTH);
#pragma unroll 1
  for (int q = -BATCH * static_cast<int>(ring.early()); q < end; q += BATCH) {
    const float *rows = reinterpret_cast<const float *>(ring.turn(b, way)) + 4 * threadIdx.x;
    // A thread without columns only takes part in loading rows.
    if (q < 0 || (QUADS && stored[0] == 0)) continue;
#pragma unroll
    for (int u = 0; u < BATCH; u++, to += b.out_row) {
      scatter<K, STEP>(u, mask, rows + u * b.pitch, sum);
#pragma unroll
      for (int g = 0; g < G; g++) {
        const float(&v)[4] = sum.of[u][g];
        fc_band_store<QUADS>(way, stored[g], q + u - (K - 1), to, g * FC_BAND_WIDTH,
                             make_float4(v[0], v[1], v[2], v[3]), room);
      }
    }
#pragma unroll
    for (int i = 0; i < SUMS * G * 4; i++)
      sum.of[i / 4 / G][i / 4 % G][i % 4] =
          i / 4 / G < K - 1 ? sum.of[i / 4 / G + BATCH < SUMS ? i / 4 / G + BATCH : 0][i / 4 % G][i % 4] : 0;
  }
}

template <int K, int STEP> fc_status launch(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  const fc_band b = fc_band_floats_of(m, sums<K>::GROUPS, fc_band_early<K, STEP>);
  mask_of<K> mask = {};
  for (int i = 0; i < K * K; i++) mask.tap[i % K][i / K] = static_cast<const float *>(op->mask)[i];
  const int bytes = fc_band_floats_bytes(b, layout_of<K>::stages * layout_of<K>::rows);
  return fc_band_launch(fc_band_quads(b) ? conv2d_floats_band<K, STEP, true>
                                         : conv2d_floats_band<K, STEP, false>,
                        b, m, mask, bytes, K, stream);
}

} // namespace

fc_status fc_conv2d_floats(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  return fc_band_choose<3, FC_CONV2D_TAPS>(op->nx, [&](auto k) {
    switch (m.step) {
    case 1: return launch<k(), 1>(op, m, stream);
    case 3: return launch<k(), 3>(op, m, stream);
    case 4:
      if constexpr (k() <= FC_CONV2D_TAPS_FOUR) return launch<k(), 4>(op, m, stream);
      return FC_UNSUPPORTED;
    default: return FC_UNSUPPORTED;
    }
  });
}
