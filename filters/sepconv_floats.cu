// SPDX-License-Identifier: MIT
//
// sepconv_floats.cu - separable filters of f32 in bands (conv2d_band.cuh): each new row is
// summed along, 4 outputs a thread, and the result scattered into the N sums a column that it
// belongs to, which live in registers. A batch of rows is unrolled, after which the sums move
// down by as many names; of more than 4 rows the code of long masks leaves the instruction cache.
#include "filters/conv2d_band.cuh"
#include "filters/sepconv_band.cuh"

namespace {

// Short masks leave registers for more blocks a multiprocessor, each with less under way.
template <int N> struct batch_of { static constexpr int rows = N <= 7 ? 2 : 4, stages = N <= 7 ? 6 : 4; };

template <int N> struct taps_of { float x[N], y[N]; };

__device__ __forceinline__ void fma4(float tap, float a, float b, float c, float d, float4 &sum) {
  sum.x = fmaf(tap, a, sum.x);
  sum.y = fmaf(tap, b, sum.y);
  sum.z = fmaf(tap, c, sum.z);
  sum.w = fmaf(tap, d, sum.w);
}

// Four adjacent sums of N taps, STEP apart, from `s` on (aligned to 16 bytes).
template <int N, int STEP> __device__ __forceinline__ float4 sum_along(const float *s, const float *x) {
  constexpr int QUADS = ((N - 1) * STEP + 4 + 3) / 4;
  float w[4 * QUADS];
  float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
  for (int i = 0; i < N; i++) {
#pragma unroll
    for (int q = 0; q < QUADS; q++) { // those that this tap is the first to need
      const bool now = 4 * q <= i * STEP + 3 && (i == 0 || 4 * q > (i - 1) * STEP + 3);
      if (!now) continue;
      const float4 v = *reinterpret_cast<const float4 *>(s + 4 * q);
      w[4 * q] = v.x, w[4 * q + 1] = v.y, w[4 * q + 2] = v.z, w[4 * q + 3] = v.w;
    }
    fma4(x[i], w[i * STEP], w[i * STEP + 1], w[i * STEP + 2], w[i * STEP + 3], sum);
  }
  return sum;
}

template <int N, int STEP>
__global__ void __launch_bounds__(FC_BAND_THREADS)
    band_kernel(const __grid_constant__ fc_band b, const __grid_constant__ taps_of<N> t) {
  constexpr int BATCH = batch_of<N>::rows;
  extern __shared__ __align__(16) uint32_t memory[];
  const fc_band_way way = fc_band_begin<4, 1>(b);
  const int bytes = 4 * (way.width + b.margin);
  const int end = way.count + N - 1;
  float *room = reinterpret_cast<float *>(memory) + threadIdx.x / 32 * 128;
  fc_band_ring<BATCH, batch_of<N>::stages, 4> ring(way.in, end, memory + FC_BAND_WIDTH);
  float4 sum[N - 1 + BATCH];
#pragma unroll
  for (int i = 0; i < N - 1 + BATCH; i++) sum[i] = make_float4(0, 0, 0, 0);
  char *to = way.out - (N - 1) * b.out_row;
  ring.start(b, bytes);
#pragma unroll 1
  for (int q = 0; q < end; q += BATCH) {
    const float *rows = reinterpret_cast<const float *>(ring.turn(b, bytes)) + 4 * threadIdx.x;
#pragma unroll
    for (int u = 0; u < BATCH; u++, to += b.out_row) {
      const float4 v = sum_along<N, STEP>(rows + u * b.pitch, t.x);
#pragma unroll
      for (int j = 0; j < N; j++) fma4(t.y[j], v.x, v.y, v.z, v.w, sum[u + N - 1 - j]);
      if (q + u >= N - 1 && q + u < end) fc_band_store(b, way, to, 0, sum[u], room);
    }
#pragma unroll
    for (int i = 0; i < N - 1 + BATCH; i++) sum[i] = i < N - 1 ? sum[i + BATCH] : make_float4(0, 0, 0, 0);
  }
}

template <int N> fc_status launch(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  fc_band b = fc_band_of(m, 1);
  taps_of<N> t;
  for (int i = 0; i < N; i++)
    t.x[i] = static_cast<const float *>(op->x)[i], t.y[i] = static_cast<const float *>(op->y)[i];
  b.wide = m.quads;
  b.pitch = (FC_BAND_WIDTH + m.margin + 3) / 4 * 4 + 4;
  const int bytes = 4 * (FC_BAND_WIDTH + batch_of<N>::stages * batch_of<N>::rows * b.pitch);
  switch (m.step) {
  case 1: return fc_band_launch(band_kernel<N, 1>, b, m, t, bytes, N, stream);
  case 3: return fc_band_launch(band_kernel<N, 3>, b, m, t, bytes, N, stream);
  default: return FC_UNSUPPORTED;
  }
}

} // namespace

fc_status fc_sepconv_floats(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  if (m.in_dtype != FC_F32 || m.out_dtype != FC_F32 || op->rank != 1 || op->nx != op->ny)
    return FC_UNSUPPORTED;
  switch (op->nx) {
  case 3: return launch<3>(op, m, stream);
  case 5: return launch<5>(op, m, stream);
  case 7: return launch<7>(op, m, stream);
  case 9: return launch<9>(op, m, stream);
  case 11: return launch<11>(op, m, stream);
  case 13: return launch<13>(op, m, stream);
  case 15: return launch<15>(op, m, stream);
  case 17: return launch<17>(op, m, stream);
  case 19: return launch<19>(op, m, stream);
  case 21: return launch<21>(op, m, stream);
  case 23: return launch<23>(op, m, stream);
  case 25: return launch<25>(op, m, stream);
  case 27: return launch<27>(op, m, stream);
  case 29: return launch<29>(op, m, stream);
  case 31: return launch<31>(op, m, stream);
  default: return FC_UNSUPPORTED;
  }
}
