// SPDX-License-Identifier: MIT
//
// matrix_mix.cu - see matrix_mix.cuh.
#include "filters/matrix_mix.cuh"
#include "filters/pixel_tiles.cuh"
#include "filters/sample_words.cuh"

namespace {

constexpr int THREADS = FC_TILE_WARPS * FC_TILE_LANES;
// A multiprocessor's blocks, by the more of the channels: what registers allow.
constexpr int resident(int channels) {
  return channels < 4 ? 4 : 3;
}

// A lane's pixels of a tile, and how many are mixed at once: whole words of every channel.
template <typename T> constexpr int PIXELS = 16 / static_cast<int>(sizeof(T));
template <typename T> constexpr int TOGETHER = 4 / static_cast<int>(sizeof(T));

// Numbers as codes have them: a power of two apart from the values, and the offsets with it.
template <int CI, int CO> struct weights { float m[CI][CO], offset[CO]; };

// Words to values that are codes, or what is stored.
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

template <typename T, int CI, int CO>
__device__ __forceinline__ void mix(uint32_t (&y)[4 * CO], const uint32_t (&x)[4 * CI],
                                    const weights<CI, CO> &w, fc_dev_map<float> map, fc_dev_noted &noted) {
#pragma unroll
  for (int g = 0; g < 4; g++) {
    uint32_t from[CI], to[CO];
    float v[TOGETHER<T> * CI], sum[TOGETHER<T> * CO];
#pragma unroll
    for (int i = 0; i < CI; i++) from[i] = x[g * CI + i];
    take<T, TOGETHER<T> * CI>(v, from, map);
#pragma unroll
    for (int p = 0; p < TOGETHER<T>; p++)
#pragma unroll
      for (int r = 0; r < CO; r++) {
        sum[p * CO + r] = w.offset[r];
#pragma unroll
        for (int c = 0; c < CI; c++) sum[p * CO + r] = fmaf(w.m[c][r], v[p * CI + c], sum[p * CO + r]);
      }
    give<T, TOGETHER<T> * CO>(to, sum, map, noted);
#pragma unroll
    for (int i = 0; i < CO; i++) y[g * CO + i] = to[i];
  }
}

// Pixels beyond the row are of no account: they are a copy of its first, which is noted anyway.
template <typename T, int CI>
__device__ __forceinline__ void fill_lane(unsigned char *room, int phase, int used, int lane) {
  const int first = lane * PIXELS<T>;
  for (int p = used > first ? used : first; p < first + PIXELS<T>; p++)
    for (int c = 0; c < CI; c++) {
      const T *pixel = reinterpret_cast<const T *>(room + phase);
      reinterpret_cast<T *>(room + phase)[p * CI + c] = pixel[c];
    }
}

template <typename T, int CI, int CO>
__global__ void __launch_bounds__(THREADS, resident(CI > CO ? CI : CO))
    mix_kernel(fc_pixel_runs r, int pitch, const float *matrix, const float *offset, fc_dev_map<float> map,
               float unit, uint32_t *notes) {
  constexpr int C = CI > CO ? CI : CO, SIZE = static_cast<int>(sizeof(T)), FULL = FC_TILE_LANES * PIXELS<T>;
  __shared__ fc_tile_room<C> rooms[FC_TILE_WARPS][2];
  const int lane = threadIdx.x % FC_TILE_LANES, warp = threadIdx.x / FC_TILE_LANES;
  unsigned char *room = rooms[warp][0].at, *other = rooms[warp][1].at;
  weights<CI, CO> w;
#pragma unroll
  for (int k = 0; k < CO; k++) {
    w.offset[k] = offset ? offset[k] * unit : 0.f;
#pragma unroll
    for (int c = 0; c < CI; c++) w.m[c][k] = matrix[c * pitch + k];
  }
  const int64_t total = r.rows * r.tiles, step = static_cast<int64_t>(gridDim.x) * FC_TILE_WARPS;
  int64_t tile = static_cast<int64_t>(blockIdx.x) * FC_TILE_WARPS + warp;
  if (tile >= total) return;
  fc_dev_noted noted = {false, false};
  fc_pixel_tile t = fc_pixel_tile_of(r, tile, CI * SIZE, CO * SIZE, FULL);
  fc_tile_span span = fc_tile_span_of(t, CI * SIZE);
  fc_tile_fetch<CI>(room, span, t.used * CI * SIZE, lane);
  __pipeline_commit();
  for (;;) {
    const int used = t.used, phase = span.phase;
    char *to = t.out;
    tile += step;
    if (tile < total) {
      t = fc_pixel_tile_of(r, tile, CI * SIZE, CO * SIZE, FULL);
      span = fc_tile_span_of(t, CI * SIZE);
      fc_tile_fetch<CI>(other, span, t.used * CI * SIZE, lane);
    }
    __pipeline_commit();
    fc_tile_await<1>();
    if (used < FULL) {
      fill_lane<T, CI>(room, phase, used, lane);
      __syncwarp();
    }
    uint32_t x[4 * CI], y[4 * CO];
    fc_tile_words<CI>(x, room + phase + lane * 16 * CI);
    __syncwarp();
    mix<T, CI, CO>(y, x, w, map, noted);
    fc_tile_keep<CO>(room, y, lane);
    __syncwarp();
    fc_tile_send<CO>(to, room, used * CO * SIZE, lane);
    if (tile >= total) break;
    __syncwarp(); // it has been sent
    unsigned char *swap = room;
    room = other, other = swap;
  }
  noted.tell(notes);
}

template <typename T, int CI, int CO>
fc_status launch(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                 cudaStream_t stream) {
  const fc_pixel_runs r = fc_pixel_runs_of(in, out);
  fc_dev_map<float> map = fc_dev_map_of<float>(in->kind, in->dtype);
  const float unit = map.inverse;
  map.scale = map.inverse = 1.f;
  mix_kernel<T, CI, CO><<<fc_tile_blocks(r, resident(CI > CO ? CI : CO)), THREADS, 0, stream>>>(
      r, static_cast<int>(m->pitch), static_cast<const float *>(m->matrix),
      static_cast<const float *>(m->offset), map, unit, notes);
  return fc_launch_status();
}

template <typename T, int CI>
fc_status launch_rows(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                      cudaStream_t s) {
  switch (m->rows) {
  case 1: return launch<T, CI, 1>(m, in, out, notes, s);
  case 2: return launch<T, CI, 2>(m, in, out, notes, s);
  case 3: return launch<T, CI, 3>(m, in, out, notes, s);
  default: return launch<T, CI, 4>(m, in, out, notes, s);
  }
}

template <typename T>
fc_status launch_type(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                      cudaStream_t s) {
  switch (m->cols) {
  case 1: return launch_rows<T, 1>(m, in, out, notes, s);
  case 2: return launch_rows<T, 2>(m, in, out, notes, s);
  case 3: return launch_rows<T, 3>(m, in, out, notes, s);
  default: return launch_rows<T, 4>(m, in, out, notes, s);
  }
}

} // namespace

bool fc_matrix_mix_try(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes,
                       cudaStream_t stream, fc_status *status) {
  if (m->compute != FC_F32 || m->axis != FC_AXIS_C || m->rows > 4 || m->cols > 4) return false;
  if (in->shape[FC_AXIS_C] != m->cols || out->shape[FC_AXIS_C] != m->rows) return false;
  if (in->dtype != out->dtype || in->kind != out->kind || !fc_is_dense(in) || !fc_is_dense(out)) return false;
  switch (in->dtype) {
  case FC_U8: *status = launch_type<uint8_t>(m, in, out, notes, stream); return true;
  case FC_I16: *status = launch_type<int16_t>(m, in, out, notes, stream); return true;
  case FC_U16: *status = launch_type<uint16_t>(m, in, out, notes, stream); return true;
  case FC_F32: *status = launch_type<float>(m, in, out, notes, stream); return true;
  default: return false;
  }
}
