// SPDX-License-Identifier: MIT
//
// conv2d_floats.cu - dense 2-D filters of f32 in bands (conv2d_band.cuh): a thread reads each
// new row's window once from shared memory and scatters its products into the K sums a column
// that the row belongs to, all in registers.
//
// From 5 x 5 on arithmetic binds, and with it where the taps come from. From ordinary
// registers a multiply-add has three operands to fetch, and waits for the banks of the
// register file; from uniform registers, two. Those are few, so the taps are loaded again for
// every row, from constant memory, two at a time, and serve all columns of a thread.
#include "filters/conv2d_band.cuh"
#include "filters/conv2d_floats.cuh"

namespace {

// Taps by columns: those of one position along the row follow each other.
template <int K> struct mask_of { alignas(8) float tap[K][(K + 1) / 2 * 2]; };

// Rows in a batch and batches in shared memory; columns of a thread in groups of 4.
template <int K> struct layout_of {
  static constexpr int rows = K <= 7 ? 2 : 1, stages = K <= 5 ? 6 : 4, groups = K <= 5 ? 1 : 2;
};

template <int K> struct sums {
  static constexpr int ROWS = K - 1 + layout_of<K>::rows, GROUPS = layout_of<K>::groups;
  float of[ROWS][GROUPS][4];
};

// Adds one row, from `s` on (aligned to 16 bytes; the groups lie 512 apart), to the sums it
// belongs to: tap j to those of the output j rows up.
template <int K, int STEP>
__device__ __forceinline__ void scatter(int u, const mask_of<K> &mask, const float *s, sums<K> &sum) {
  constexpr int QUADS = ((K - 1) * STEP + 4 + 3) / 4, G = sums<K>::GROUPS;
  float w[G][4 * QUADS];
#pragma unroll
  for (int i = 0; i < K; i++) {
#pragma unroll
    for (int q = 0; q < QUADS * G; q++) { // those that this tap is the first to need
      const int at = 4 * (q / G), g = q % G;
      if (at > i * STEP + 3 || (i > 0 && at <= (i - 1) * STEP + 3)) continue;
      const float4 v = *reinterpret_cast<const float4 *>(s + g * FC_BAND_WIDTH + at);
      w[g][at] = v.x, w[g][at + 1] = v.y, w[g][at + 2] = v.z, w[g][at + 3] = v.w;
    }
#pragma unroll
    for (int j = 0; j < K; j++)
#pragma unroll
      for (int e = 0; e < 4 * G; e++) {
        float &to = sum.of[u + K - 1 - j][e / 4][e % 4];
        to = fmaf(mask.tap[i][j], w[e / 4][i * STEP + e % 4], to);
      }
    // Loads of taps stay on their side of this: all of them at once have no room in
    // uniform registers, and would go to ordinary ones.
    asm volatile("" ::: "memory");
  }
}

template <int K, int STEP>
__global__ void __launch_bounds__(FC_BAND_THREADS)
    band_kernel(const __grid_constant__ fc_band b, const __grid_constant__ mask_of<K> mask) {
  constexpr int BATCH = layout_of<K>::rows, G = sums<K>::GROUPS, SUMS = sums<K>::ROWS;
  extern __shared__ __align__(16) uint32_t memory[];
  const fc_band_way way = fc_band_begin<4, G>(b);
  const int bytes = 4 * (way.width + b.margin), end = way.count + K - 1;
  float *room = reinterpret_cast<float *>(memory) + threadIdx.x / 32 * 128;
  fc_band_ring<BATCH, layout_of<K>::stages, 4 * G> ring(way.in, end, memory + FC_BAND_WIDTH);
  sums<K> sum;
#pragma unroll
  for (int i = 0; i < SUMS * G * 4; i++) sum.of[i / 4 / G][i / 4 % G][i % 4] = 0;
  char *to = way.out - (K - 1) * b.out_row;
  ring.start(b, bytes);
#pragma unroll 1
  for (int q = 0; q < end; q += BATCH) {
    const float *rows = reinterpret_cast<const float *>(ring.turn(b, bytes)) + 4 * threadIdx.x;
#pragma unroll
    for (int u = 0; u < BATCH; u++, to += b.out_row) {
      scatter<K, STEP>(u, mask, rows + u * b.pitch, sum);
      if (q + u < K - 1 || q + u >= end) continue;
#pragma unroll
      for (int g = 0; g < G; g++) {
        const float(&v)[4] = sum.of[u][g];
        fc_band_store(b, way, to, g * FC_BAND_WIDTH, make_float4(v[0], v[1], v[2], v[3]), room);
      }
    }
#pragma unroll
    for (int i = 0; i < SUMS * G * 4; i++)
      sum.of[i / 4 / G][i / 4 % G][i % 4] =
          i / 4 / G < K - 1 ? sum.of[i / 4 / G + BATCH < SUMS ? i / 4 / G + BATCH : 0][i / 4 % G][i % 4] : 0;
  }
}

template <int K> fc_status launch(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  fc_band b = fc_band_of(m, sums<K>::GROUPS);
  mask_of<K> mask = {};
  for (int i = 0; i < K * K; i++) mask.tap[i % K][i / K] = static_cast<const float *>(op->mask)[i];
  b.wide = m.quads;
  b.pitch = (sums<K>::GROUPS * FC_BAND_WIDTH + m.margin + 3) / 4 * 4 + 4;
  const int bytes = 4 * (FC_BAND_WIDTH + layout_of<K>::stages * layout_of<K>::rows * b.pitch);
  switch (m.step) {
  case 1: return fc_band_launch(band_kernel<K, 1>, b, m, mask, bytes, K, stream);
  case 3: return fc_band_launch(band_kernel<K, 3>, b, m, mask, bytes, K, stream);
  default: return FC_UNSUPPORTED;
  }
}

} // namespace

fc_status fc_conv2d_floats(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  if (m.in_dtype != FC_F32 || m.out_dtype != FC_F32 || op->nx != op->ny) return FC_UNSUPPORTED;
  switch (op->nx) {
  case 3: return launch<3>(op, m, stream);
  case 5: return launch<5>(op, m, stream);
  case 7: return launch<7>(op, m, stream);
  case 9: return launch<9>(op, m, stream);
  case 11: return launch<11>(op, m, stream);
  case 13: return launch<13>(op, m, stream);
  case 15: return launch<15>(op, m, stream);
  default: return FC_UNSUPPORTED;
  }
}
