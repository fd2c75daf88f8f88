// SPDX-License-Identifier: MIT
//
// matrix_mix.cu - mixes three interleaved channels, on a CUDA device; see matrix_line.cuh. Other numbers of
// channels are composed.
#include "filters/matrix/matrix_line.cuh"
#include "filters/gpu/pixel_tiles.cuh"
#include "filters/gpu/sample_words.cuh"

namespace {

constexpr int THREADS = FC_TILE_WARPS * FC_TILE_LANES;
// Resident blocks per multiprocessor, limited by registers, for the larger of the numbers of channels.
template <typename T> constexpr int resident(int channels) {
  return channels < (fc_is_code<T> ? 3 : 4) ? 4 : 3;
}
// Largest grid, in multiples of the resident blocks. Samples that need no conversion take so little time that
// one tile per warp is fastest.
template <typename T> constexpr int TURNS = fc_is_code<T> ? 8 : 256;

// Pixels per lane of a tile, and pixels mixed at once, such that every channel fills whole words.
template <typename T> constexpr int PIXELS = 16 / static_cast<int>(sizeof(T));
template <typename T> constexpr int TOGETHER = 4 / static_cast<int>(sizeof(T));

// Weights and offsets scaled to codes, which differ from values by a power of two.
template <int CI, int CO> struct weights {
  float m[CI][CO], offset[CO];

  __device__ __forceinline__ void load(int pitch, const float *matrix, const float *offsets, float unit) {
#pragma unroll
    for (int k = 0; k < CO; k++) {
      offset[k] = offsets ? offsets[k] * unit : 0.f;
#pragma unroll
      for (int c = 0; c < CI; c++) m[c][k] = matrix[c * pitch + k];
    }
  }
  // Upper bound of the magnitude of a sum of bytes.
  __device__ __forceinline__ float most(void) const {
    float all = 0;
#pragma unroll
    for (int k = 0; k < CO; k++) {
      float sum = fabsf(offset[k]);
#pragma unroll
      for (int c = 0; c < CI; c++) sum = fmaf(255.f, fabsf(m[c][k]), sum);
      all = all < sum || sum != sum ? sum : all;
    }
    return all;
  }
  __device__ __forceinline__ void scale(float by, float offsets_by) {
#pragma unroll
    for (int k = 0; k < CO; k++) {
      offset[k] *= offsets_by;
#pragma unroll
      for (int c = 0; c < CI; c++) m[c][k] *= by;
    }
  }
};

// Converts words to values (codes), and values to what is stored.
template <typename T, int N>
__device__ __forceinline__ void take(float (&v)[N], const uint32_t (&from)[N * sizeof(T) / 4],
                                     fc_dev_map<float> map) {
  if constexpr (fc_is_code<T>) {
    fc_words_values<T, N>(v, from, map);
  } else {
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = __uint_as_float(from[k]);
  }
}

template <typename T, int N>
__device__ __forceinline__ void give(uint32_t (&to)[N * sizeof(T) / 4], const float (&v)[N],
                                     fc_dev_map<float> map, fc_dev_noted &noted) {
  if constexpr (fc_is_code<T>) {
    fc_words_codes<T, N>(to, v, map, noted);
  } else {
#pragma unroll
    for (int k = 0; k < N; k++) to[k] = __float_as_uint(v[k]);
  }
}

// The mixing, as a work functor of fc_tile_each.
template <typename T, int CI, int CO> struct mixing {
  weights<CI, CO> w;
  fc_dev_map<float> map;
  fc_dev_noted noted;
  bool tame; // bytes whose sums are never far out of range: uses the faster tiny-value conversion

  // Fills pixels beyond the row with a copy of the lane's first pixel, so that they add no notes (of clipping
  // or NaN) of their own.
  __device__ __forceinline__ void fill(unsigned char *pixels, int used, int lane) const {
    const int first = lane * PIXELS<T>;
    T *pixel = reinterpret_cast<T *>(pixels);
    for (int p = used > first ? used : first; p < first + PIXELS<T>; p++)
      for (int c = 0; c < CI; c++) pixel[p * CI + c] = pixel[c];
  }

  template <bool TAME>
  __device__ __forceinline__ void mix(uint32_t (&y)[4 * CO], const uint32_t (&x)[4 * CI]) {
#pragma unroll
    for (int g = 0; g < 4; g++) {
      uint32_t from[CI], to[CO];
      float v[TOGETHER<T> * CI], sum[TOGETHER<T> * CO];
#pragma unroll
      for (int i = 0; i < CI; i++) from[i] = x[g * CI + i];
      if constexpr (TAME)
        fc_bytes_tiny<TOGETHER<T> * CI>(v, from);
      else
        take<T, TOGETHER<T> * CI>(v, from, map);
#pragma unroll
      for (int p = 0; p < TOGETHER<T>; p++)
#pragma unroll
        for (int r = 0; r < CO; r++) {
          sum[p * CO + r] = w.offset[r];
#pragma unroll
          for (int c = 0; c < CI; c++) sum[p * CO + r] = fmaf(w.m[c][r], v[p * CI + c], sum[p * CO + r]);
        }
      if constexpr (TAME)
        fc_bytes_tame<TOGETHER<T> * CO>(to, sum, noted);
      else
        give<T, TOGETHER<T> * CO>(to, sum, map, noted);
#pragma unroll
      for (int i = 0; i < CO; i++) y[g * CO + i] = to[i];
    }
  }

  __device__ __forceinline__ void make(uint32_t (&y)[4 * CO], const uint32_t (&x)[4 * CI]) {
    if constexpr (sizeof(T) == 1)
      if (tame) return mix<true>(y, x);
    mix<false>(y, x);
  }
};

template <typename T, int CI, int CO, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    mix_kernel(fc_pixel_runs r, int pitch, const float *matrix, const float *offset, fc_dev_map<float> map,
               float unit, uint32_t *notes) {
  mixing<T, CI, CO> work;
  work.map = map, work.noted = {false, false};
  work.w.load(pitch, matrix, offset, unit);
  work.tame = sizeof(T) == 1 && map.bias == 0 && work.w.most() < FC_TINY_MOST; // false for NaN
  if (work.tame) work.w.scale(FC_TINY_UP, FC_TINY_SUM);
  fc_tile_each<CI, CO>(r, sizeof(T), work);
  work.noted.tell(notes);
}

template <typename T, int CI, int CO>
fc_status launch(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                 cudaStream_t stream) {
  const fc_pixel_runs r = fc_pixel_runs_of(in, out);
  fc_dev_map<float> map = fc_dev_map_of<float>(in->kind, in->dtype);
  const float unit = map.inverse;
  map.scale = map.inverse = 1.f;
  constexpr int blocks = resident<T>(CI > CO ? CI : CO);
  mix_kernel<T, CI, CO, blocks><<<fc_tile_blocks(r, blocks, TURNS<T>), THREADS, 0, stream>>>(
      r, static_cast<int>(m->pitch), static_cast<const float *>(m->matrix),
      static_cast<const float *>(m->offset), map, unit, notes);
  return fc_launch_status();
}

} // namespace

fc_status fc_matrix_mix(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                        cudaStream_t stream) {
  if (!fc_tiles_fit(fc_pixel_runs_of(in, out))) return FC_UNSUPPORTED;
  return in->dtype == FC_U8 ? launch<uint8_t, 3, 3>(m, in, out, notes, stream)
                            : launch<float, 3, 3>(m, in, out, notes, stream);
}
