// SPDX-License-Identifier: MIT
//
// thin.cu - dense 2-D filters of f32 images of few rows (thin.cuh): each row of a window is read from the
// image row that the border maps it to.
#include "filters/filter2d/conv2d/floats.cuh"
#include "filters/filter2d/conv2d/thin.cuh"

namespace {

template <int K> struct mask_of {
  static constexpr int PITCH = (K + 3) / 4 * 4;
  alignas(16) float tap[K * PITCH];
};

// Adds the products of row `tap` of the mask, read from s on, to four adjacent sums; both are aligned to 16
// bytes.
template <int K, int STEP>
__device__ __forceinline__ void add_row(const float *tap, const float *s, float4 &sum) {
  constexpr int QUADS = ((K - 1) * STEP + 4 + 3) / 4;
  float w[4 * QUADS];
#pragma unroll
  for (int q = 0; q < QUADS; q++) {
    const float4 v = *reinterpret_cast<const float4 *>(s + 4 * q);
    w[4 * q] = v.x, w[4 * q + 1] = v.y, w[4 * q + 2] = v.z, w[4 * q + 3] = v.w;
  }
#pragma unroll
  for (int i = 0; i < K; i += 4) {
    const float4 v = *reinterpret_cast<const float4 *>(tap + i);
    const float t[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int k = i; k < i + 4 && k < K; k++)
      fc_fma4(t[k - i], w[k * STEP], w[k * STEP + 1], w[k * STEP + 2], w[k * STEP + 3], sum);
  }
}

template <int K, int STEP>
__global__ void __launch_bounds__(FC_BAND_THREADS)
    conv2d_thin(const __grid_constant__ fc_band b, const __grid_constant__ mask_of<K> mask) {
  extern __shared__ __align__(16) float memory[];
  __shared__ __align__(16) float taps[K * mask_of<K>::PITCH];
  __shared__ int sources[FC_THIN_ROWS + FC_THIN_DOWN];
  const fc_band_way way = fc_band_begin<4, 1>(b);
  const int height = b.edges.height;
  fc_thin_fetch(b, way, memory);
  fc_thin_look_up(b, sources);
  fc_thin_share(mask.tap, K * mask_of<K>::PITCH, taps);
  fc_await_copies();
  __syncthreads();
#pragma unroll 1
  for (int y = 0; y < height; y++) {
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 2
    for (int j = 0; j < K; j++)
      add_row<K, STEP>(taps + j * mask_of<K>::PITCH, memory + sources[y + j] * b.pitch + 4 * threadIdx.x,
                       sum);
    fc_thin_store(b, way, y, 0, sum);
  }
}

template <int K, int STEP> fc_status launch(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  mask_of<K> mask = {};
  for (int i = 0; i < K * K; i++)
    mask.tap[i / K * mask_of<K>::PITCH + i % K] = static_cast<const float *>(op->mask)[i];
  const fc_band b = fc_thin_of(m, 1, K);
  return fc_band_launch(conv2d_thin<K, STEP>, b, m, mask, 4 * fc_thin_floats(b), K, stream);
}

} // namespace

fc_status fc_conv2d_thin(const fc_conv2d *op, const fc_march &m, cudaStream_t stream) {
  if (!fc_thin_fits(m, op->ny) || op->nx != op->ny) return FC_UNSUPPORTED;
  return fc_band_choose<3, 15>(op->nx, [&](auto k) {
    return m.step == 1 ? launch<k(), 1>(op, m, stream) : launch<k(), 3>(op, m, stream);
  });
}
