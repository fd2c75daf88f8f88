// SPDX-License-Identifier: MIT
//
// floats.cu - separable filters of f32 in bands (band.cuh): each new row is summed horizontally, 4 outputs
// per thread, and the result is added to the N sums per column that it contributes to, which are in
// registers. A batch of rows is unrolled, after which each sum is renamed to the one a batch before. Batches
// are 4 rows: with more, the code of long masks exceeds the instruction cache.
#include "filters/filter2d/band.cuh"
#include "filters/filter2d/sepconv/band.cuh"

namespace {

// Rows per batch; batches in shared memory; minimum of resident blocks per multiprocessor, which limits the
// registers per thread.
constexpr int BATCH = 4, STAGES = 4, BLOCKS = 3;

template <int N> struct taps_of { float x[N], y[N]; };

// Adds the horizontal sums of row u to the sums it contributes to: tap j to those of the output j rows up.
// Column by column: a multiply-add of two registers in one bank stalls, unless it has just read one of them.
template <int N>
__device__ __forceinline__ void add_down(int u, const float *y, float4 v, float4 (&sum)[N - 1 + BATCH]) {
#pragma unroll
  for (int j = 0; j < N; j++) sum[u + N - 1 - j].x = fmaf(y[j], v.x, sum[u + N - 1 - j].x);
#pragma unroll
  for (int j = 0; j < N; j++) sum[u + N - 1 - j].y = fmaf(y[j], v.y, sum[u + N - 1 - j].y);
#pragma unroll
  for (int j = 0; j < N; j++) sum[u + N - 1 - j].z = fmaf(y[j], v.z, sum[u + N - 1 - j].z);
#pragma unroll
  for (int j = 0; j < N; j++) sum[u + N - 1 - j].w = fmaf(y[j], v.w, sum[u + N - 1 - j].w);
}

template <int N, int STEP, bool QUADS>
__global__ void __launch_bounds__(FC_BAND_THREADS, BLOCKS)
    sepconv_floats_band(const __grid_constant__ fc_band b, const __grid_constant__ taps_of<N> t) {
  extern __shared__ __align__(16) uint32_t memory[];
  const fc_band_way way = fc_band_begin<4, 1>(b);
  const int end = way.count + N - 1;
  float *room = reinterpret_cast<float *>(memory) + threadIdx.x / 32 * 128;
  fc_band_ring<4, BATCH, STAGES, 4, QUADS ? FC_BAND_QUADS : FC_BAND_WORDS> ring(b, way, end,
                                                                                memory + FC_BAND_WIDTH);
  float4 sum[N - 1 + BATCH];
#pragma unroll
  for (int i = 0; i < N - 1 + BATCH; i++) sum[i] = make_float4(0, 0, 0, 0);
  const uint32_t stored = fc_band_rows(way);
  char *to = way.out + (QUADS ? 16 * threadIdx.x : 0) - (N - 1) * b.out_row;
#pragma unroll 1
  for (int q = -BATCH * static_cast<int>(ring.early()); q < end; q += BATCH) {
    const float *rows = reinterpret_cast<const float *>(ring.turn(b, way)) + 4 * threadIdx.x;
    if (q < 0) continue;
#pragma unroll
    for (int u = 0; u < BATCH; u++, to += b.out_row) {
      const float4 v = fc_sum_along<N, STEP>(rows + u * b.pitch, t.x);
      add_down<N>(u, t.y, v, sum);
      fc_band_store<QUADS>(way, stored, q + u - (N - 1), to, sum[u], room);
    }
#pragma unroll
    for (int i = 0; i < N - 1 + BATCH; i++) sum[i] = i < N - 1 ? sum[i + BATCH] : make_float4(0, 0, 0, 0);
  }
}

template <int N, int STEP> fc_status launch(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  const fc_band b = fc_band_floats_of(m, 1, fc_band_early<N, STEP>);
  taps_of<N> t;
  for (int i = 0; i < N; i++)
    t.x[i] = static_cast<const float *>(op->x)[i], t.y[i] = static_cast<const float *>(op->y)[i];
  const int bytes = fc_band_floats_bytes(b, STAGES * BATCH);
  return fc_band_launch(fc_band_quads(b) ? sepconv_floats_band<N, STEP, true>
                                         : sepconv_floats_band<N, STEP, false>,
                        b, m, t, bytes, N, stream);
}

} // namespace

fc_status fc_sepconv_floats(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  return fc_band_choose<FC_BAND_TAPS, FC_SEPCONV_TAPS>(op->nx, [&](auto n) {
    switch (m.step) {
    case 1: return launch<n(), 1>(op, m, stream);
    case 3: return launch<n(), 3>(op, m, stream);
    default: return FC_UNSUPPORTED;
    }
  });
}
