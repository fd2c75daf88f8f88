// SPDX-License-Identifier: MIT
//
// matrix_mix.cu - mixes three interleaved channels of floats, on a CUDA device; see matrix_line.cuh. Other
// types and numbers of channels are composed.
#include "filters/gpu/pixel_tiles.cuh"
#include "filters/matrix/matrix_line.cuh"

namespace {

constexpr int THREADS = FC_TILE_WARPS * FC_TILE_LANES;
constexpr int RESIDENT = 4; // blocks of a multiprocessor, limited by registers
constexpr int TURNS = 256;  // largest grid, in multiples of them: one tile per warp is fastest
constexpr int C = 3;

// The mixing, as a work functor of fc_tile_each: four pixels per lane.
struct mixing {
  float m[C][C], offset[C];

  __device__ __forceinline__ void load(int pitch, const float *matrix, const float *offsets) {
#pragma unroll
    for (int r = 0; r < C; r++) {
      offset[r] = offsets ? offsets[r] : 0.f;
#pragma unroll
      for (int c = 0; c < C; c++) m[c][r] = matrix[c * pitch + r];
    }
  }
  __device__ __forceinline__ void fill(unsigned char *, int, int) const {} // nothing is noted
  __device__ __forceinline__ void make(uint32_t (&y)[4 * C], const uint32_t (&x)[4 * C]) const {
#pragma unroll
    for (int p = 0; p < 4; p++)
#pragma unroll
      for (int r = 0; r < C; r++) {
        float sum = offset[r];
#pragma unroll
        for (int c = 0; c < C; c++) sum = fmaf(m[c][r], __uint_as_float(x[p * C + c]), sum);
        y[p * C + r] = __float_as_uint(sum);
      }
  }
};

__global__ void __launch_bounds__(THREADS, RESIDENT)
    mix_kernel(fc_pixel_runs r, int pitch, const float *matrix, const float *offset) {
  mixing work;
  work.load(pitch, matrix, offset);
  fc_tile_each<C, C>(r, sizeof(float), work);
}

} // namespace

fc_status fc_matrix_mix(const fc_matrix *m, const fc_view *in, const fc_view *out, cudaStream_t stream) {
  const fc_pixel_runs r = fc_pixel_runs_of(in, out);
  if (!fc_tiles_fit(r)) return FC_UNSUPPORTED;
  mix_kernel<<<fc_tile_blocks(r, RESIDENT, TURNS), THREADS, 0, stream>>>(
      r, static_cast<int>(m->pitch), static_cast<const float *>(m->matrix),
      static_cast<const float *>(m->offset));
  return fc_launch_status();
}
