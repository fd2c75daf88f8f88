// SPDX-License-Identifier: MIT
//
// pixels.cuh - statistics of channels that lie side by side, read once: a warp measures a chunk of each
// of them in turn, or, of 8 and 16 bits, of all at once, taking words apart. Internal to stats.cu.
#ifndef FC_FILTERS_STATS_PIXELS_CUH
#define FC_FILTERS_STATS_PIXELS_CUH

#include "filters/base/lines.h"
#include "filters/stats/units.cuh"

namespace stats {

// Of CHANNELS words with as many elements of each channel, those of channel c as one word.
template <typename T, int CHANNELS>
__device__ __forceinline__ uint32_t channel_word(const uint32_t (&w)[CHANNELS], int c) {
  constexpr int PACK = 4 / sizeof(T), BITS = 8 * sizeof(T);
  uint32_t word = 0;
#pragma unroll
  for (int k = 0; k < PACK; k++) {
    const int at = k * CHANNELS + c;
    word |= (w[at / PACK] >> at % PACK * BITS & (~0u >> (32 - BITS))) << k * BITS;
  }
  return word;
}

// A whole chunk of each channel, from any address: words are shifted, and no others read than theirs.
template <typename T, int CHANNELS>
__device__ __forceinline__ void add_pixels(code_sums<T> (&sums)[CHANNELS], const char *from) {
  constexpr int GROUPS = EACH * static_cast<int>(sizeof(T)) / 4;
  const uint32_t askew = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) % 4);
  const uint32_t *at = reinterpret_cast<const uint32_t *>(from - askew) + threadIdx.x % 32 * CHANNELS;
#pragma unroll 4
  for (int i = 0; i < GROUPS; i++, at += 32 * CHANNELS) {
    uint32_t w[CHANNELS + 1];
#pragma unroll
    for (int j = 0; j < CHANNELS; j++) w[j] = at[j];
    w[CHANNELS] = askew ? at[CHANNELS] : 0;
    uint32_t shifted[CHANNELS];
#pragma unroll
    for (int j = 0; j < CHANNELS; j++) shifted[j] = __funnelshift_r(w[j], w[j + 1], askew * 8);
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) sums[c].add(channel_word<T, CHANNELS>(shifted, c));
  }
}

// Chunk k of a unit, of every channel: parts[c * UNIT].
template <typename T, int CHANNELS>
__device__ __forceinline__ void measure_pixel_chunk(const layout &l, place at, int k, fc_stats_part *parts) {
  const int64_t first = (static_cast<int64_t>(at.unit) * l.unit + k) * FC_STATS_CHUNK,
                count = samples_in(l, at.block) - first;
  const bool leads = threadIdx.x % 32 == 0;
  if constexpr (static_cast<T>(0.5) == 0 && sizeof(T) < 4)
    if (count >= FC_STATS_CHUNK) {
      code_sums<T> sums[CHANNELS];
      add_pixels<T, CHANNELS>(sums, block_at(l, at) + first * l.in.stride[FC_AXIS_X]);
#pragma unroll
      for (int c = 0; c < CHANNELS; c++) {
        const fc_stats_part p = part_of_codes<T>(sums[c], FC_STATS_CHUNK, 0, l.bias);
        if (leads) parts[c * UNIT] = p;
      }
      return;
    }
  for (at.c = 0; at.c < CHANNELS; at.c++) {
    if (count <= 0) {
      if (k == 0 && leads) parts[at.c * UNIT] = fc_stats_part_none();
      continue;
    }
    const fc_stats_part p =
        measure<T>::chunk(l, block_at(l, at), first, count < FC_STATS_CHUNK ? count : FC_STATS_CHUNK);
    if (leads) parts[at.c * UNIT] = p;
  }
}

// UNIT / l.unit units to a block, each of all channels; warp c merges those of channel c.
template <typename T, int CHANNELS>
__global__ void __launch_bounds__(32 * FEW, resident<T>)
    measure_pixels(const __grid_constant__ layout l, fc_stats_part *units, char *blocks,
                   int64_t frame_bytes) {
  static_assert(CHANNELS <= FEW, "a warp merges a channel");
  __shared__ fc_stats_part parts[CHANNELS * UNIT];
  __shared__ int left;
  if (threadIdx.x == 0) left = UNIT;
  __syncthreads();
  const int64_t total = l.frames * l.blocks * l.units;
  const uint32_t base = blockIdx.x << (UNIT_BITS - l.unit_bits);
#pragma unroll 1
  for (int i = take(&left); i >= 0; i = take(&left)) {
    const uint32_t set = base + (i >> l.unit_bits);
    if (set < total)
      measure_pixel_chunk<T, CHANNELS>(l, place_of(l, set * CHANNELS), i & (l.unit - 1), &parts[i]);
  }
  __syncthreads();
  const uint32_t c = threadIdx.x / 32;
  if (c < CHANNELS)
    finish_units<T>(l, &parts[c * UNIT], base, total, units, blocks, frame_bytes, CHANNELS, c);
}

// FC_UNSUPPORTED for more channels than that.
template <typename T>
static fc_status launch_pixels(const layout &l, fc_stats_part *units, char *blocks, int64_t frame_bytes,
                               cudaStream_t stream) {
  const int64_t total = l.frames * l.blocks * l.units, each = UNIT / l.unit;
  const unsigned grid = static_cast<unsigned>((total + each - 1) / each);
  switch (l.channels) {
  case 2: measure_pixels<T, 2><<<grid, 32 * FEW, 0, stream>>>(l, units, blocks, frame_bytes); break;
  case 3: measure_pixels<T, 3><<<grid, 32 * FEW, 0, stream>>>(l, units, blocks, frame_bytes); break;
  case 4: measure_pixels<T, 4><<<grid, 32 * FEW, 0, stream>>>(l, units, blocks, frame_bytes); break;
  default: return FC_UNSUPPORTED;
  }
  return fc_launch_status();
}

} // namespace stats

#endif
