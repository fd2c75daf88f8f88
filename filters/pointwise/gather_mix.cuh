// SPDX-License-Identifier: MIT
//
// gather_mix.cuh - channels selected from up to four interleaved ones, into up to four, of
// samples of 1, 2 or 4 bytes, as a permutation of bytes: CI words in, which are whole pixels, make CO
// words out, and every word out is made in CI steps that take some of its bytes from a word in.
#ifndef FC_FILTERS_GATHER_MIX_CUH
#define FC_FILTERS_GATHER_MIX_CUH

#include "filters/pointwise/gather.h"
#include "filters/gpu/pixel_tiles.cuh"

// Blocks of a multiprocessor, by the more of the channels.
constexpr int fc_mix_resident(int channels) {
  return channels < 3 ? 6 : 4;
}

// For byte b of word j of the output, step i: from word i, or as it is.
__device__ __forceinline__ uint32_t fc_mix_selector(int j, int i, int size, int channels_in, int channels_out,
                                                    const int32_t *channels) {
  uint32_t selector = 0;
  for (int b = 0; b < 4; b++) {
    const int sample = (4 * j + b) / size, pixel = sample / channels_out;
    const int from =
        (pixel * channels_in + channels[sample - pixel * channels_out]) * size + (4 * j + b) % size;
    selector |= static_cast<uint32_t>(from / 4 == i ? 4 + from % 4 : b) << (4 * b);
  }
  return selector;
}

// The selection as work of fc_tile_each.
template <int CI, int CO> struct fc_mix_work {
  uint32_t selector[CO][CI];

  __device__ __forceinline__ void fill(unsigned char *, int, int) const {}
  __device__ __forceinline__ void make(uint32_t (&y)[4 * CO], const uint32_t (&x)[4 * CI]) const {
#pragma unroll
    for (int j = 0; j < 4 * CO; j++) {
      y[j] = 0;
#pragma unroll
      for (int i = 0; i < CI; i++) y[j] = __byte_perm(y[j], x[j / CO * CI + i], selector[j % CO][i]);
    }
  }
};

template <int CI, int CO>
__global__ void __launch_bounds__(FC_TILE_WARPS *FC_TILE_LANES, fc_mix_resident(CI > CO ? CI : CO))
    fc_mix_kernel(fc_pixel_runs r, int size, const int32_t *channels) {
  fc_mix_work<CI, CO> work;
#pragma unroll
  for (int j = 0; j < CO; j++)
#pragma unroll
    for (int i = 0; i < CI; i++) work.selector[j][i] = fc_mix_selector(j, i, size, CI, CO, channels);
  fc_tile_each<CI, CO>(r, size, work);
}

template <int CI, int CO>
static inline fc_status fc_mix_launch(const fc_pixel_runs &r, int size, const int32_t *channels,
                                      cudaStream_t stream) {
  fc_mix_kernel<CI, CO>
      <<<fc_tile_blocks(r, fc_mix_resident(CI > CO ? CI : CO)), FC_TILE_WARPS * FC_TILE_LANES, 0, stream>>>(
          r, size, channels);
  return fc_launch_status();
}

template <int CI>
static inline fc_status fc_mix_of(const fc_pixel_runs &r, int64_t made, int size, const int32_t *channels,
                                  cudaStream_t stream) {
  switch (made) {
  case 1: return fc_mix_launch<CI, 1>(r, size, channels, stream);
  case 2: return fc_mix_launch<CI, 2>(r, size, channels, stream);
  case 3: return fc_mix_launch<CI, 3>(r, size, channels, stream);
  default: return fc_mix_launch<CI, 4>(r, size, channels, stream);
  }
}

static inline bool fc_mix_fits(const fc_gather *g, const fc_view *in, const fc_view *out) {
  return g->channels && !g->shift_y && !g->shift_x && in->shape[FC_AXIS_C] <= 4 &&
         out->shape[FC_AXIS_C] <= 4 && fc_dtype_size(out->dtype) <= 4 && fc_is_dense(in) &&
         fc_is_dense(out) && fc_view_count(out) > 0 && fc_tiles_fit(fc_pixel_runs_of(in, out));
}

static inline fc_status fc_mix_run(const fc_gather *g, const fc_view *in, const fc_view *out,
                                   cudaStream_t stream) {
  const fc_pixel_runs r = fc_pixel_runs_of(in, out);
  const int size = static_cast<int>(fc_dtype_size(out->dtype));
  switch (in->shape[FC_AXIS_C]) {
  case 1: return fc_mix_of<1>(r, out->shape[FC_AXIS_C], size, g->channels, stream);
  case 2: return fc_mix_of<2>(r, out->shape[FC_AXIS_C], size, g->channels, stream);
  case 3: return fc_mix_of<3>(r, out->shape[FC_AXIS_C], size, g->channels, stream);
  default: return fc_mix_of<4>(r, out->shape[FC_AXIS_C], size, g->channels, stream);
  }
}

#endif
