// SPDX-License-Identifier: MIT
//
// vectors.cu - short masks along rows of three or four interleaved channels of f32. Pixels are vectors: all
// channels of one are multiplied with the same tap.
//
// A warp copies the pixels that its tile reads into shared memory without deinterleaving them (cp.async), by
// words if rows may begin anywhere. A lane computes EACH adjacent pixels, all channels, and slides over its
// inputs four pixels, i.e. C quads, at a time; EACH is chosen so that lanes read different banks. Results
// overwrite inputs that are no longer needed, and are stored so that neighbouring lanes store neighbouring
// quads.
//
// The order of sums is that of conv1d.h.
#include "filters/conv1d/kernels.cuh"

#include "filters/conv1d/windows.cuh"
#include "filters/gpu/copy_async.cuh"

namespace {

constexpr int WARPS = FC_WINDOW_WARPS;
constexpr int GROUP = 4;                              // taps, and pixels, per step
template <int C> constexpr int EACH = C == 3 ? 4 : 5; // pixels per lane: EACH * C / 4 is odd
template <int C> constexpr int TILE = 32 * EACH<C>;   // pixels per warp
constexpr int RESIDENT = 8; // blocks per multiprocessor: many short warps hide each other's wait for copies

struct vectors_args {
  fc_dev_view in, out;
  int pixels; // per row of output
  fc_window_ends ends;
  fc_window_rows rows;
  int taps, room; // room: quads per warp in shared memory
};

struct tap_groups {
  float4 of[FC_WINDOW_TAPS / GROUP];
};

// Pixels from the last one that begins at a multiple of 32 bytes (for four channels: of 16) to the one at
// `words`; remainders of less than a pixel are ignored.
template <int C> __device__ __forceinline__ int pixels_over(uintptr_t words) {
  const int over = static_cast<int>(words) & 7;
  return C == 3 ? 3 * over & 7 : over / 4; // 3 is its own inverse modulo 8
}

// Copies the pixels that a tile reads, from `first` on.
template <int C>
__device__ __forceinline__ void fill(const vectors_args &a, float *tile, const float *row, int first,
                                     int count) {
  const int lane = static_cast<int>(threadIdx.x % 32), words = count * C;
  const float *from = row + static_cast<int64_t>(first) * C;
  if (!fc_window_inside(a.ends, first, count)) {
    for (int i = lane; i < words; i += 32)
      tile[i] = fc_window_element<float, 1, C>(a.ends, row, first + i / C, i % C, {});
  } else if (reinterpret_cast<uintptr_t>(from) % 16 == 0) {
#pragma unroll 4
    for (int i = lane * 4; i < words - 3; i += 128) fc_copy_words(tile + i, from + i);
    if (C % 4 != 0 && lane < words % 4)
      fc_copy_word(tile + words / 4 * 4 + lane, from + words / 4 * 4 + lane);
  } else {
#pragma unroll 8
    for (int i = lane; i < words; i += 32) fc_copy_word(tile + i, from + i);
  }
  fc_commit_copies();
  fc_await_copies();
  __syncwarp();
}

// Adds a group of `count` taps; the four current pixels are in here[], the following ones in next[].
template <int C>
__device__ __forceinline__ void add_group(float (&sum)[EACH<C> * C], const float4 (&here)[C],
                                          const float4 (&next)[C], const float4 &group, int count) {
  float x[2 * GROUP * C];
#pragma unroll
  for (int i = 0; i < 2 * C; i++) {
    const float4 q = i < C ? here[i % C] : next[i % C];
    x[4 * i] = q.x, x[4 * i + 1] = q.y, x[4 * i + 2] = q.z, x[4 * i + 3] = q.w;
  }
  const float w[GROUP] = {group.x, group.y, group.z, group.w};
#pragma unroll
  for (int t = 0; t < GROUP; t++)
    if (t < count)
#pragma unroll
      for (int i = 0; i < EACH<C> * C; i++) sum[i] = fmaf(x[i + t * C], w[t], sum[i]);
}

template <int C>
__device__ __forceinline__ void sum_pixels(float (&sum)[EACH<C> * C], const float4 *from, int taps,
                                           const tap_groups &list) {
  float4 here[C], next[C];
#pragma unroll
  for (int i = 0; i < EACH<C> * C; i++) sum[i] = 0.f;
#pragma unroll
  for (int i = 0; i < C; i++) here[i] = from[i];
  int g = 0;
#pragma unroll 2
  for (; GROUP * (g + 1) <= taps; g++) {
#pragma unroll
    for (int i = 0; i < C; i++) next[i] = from[(g + 1) * C + i];
    add_group<C>(sum, here, next, list.of[g], GROUP);
#pragma unroll
    for (int i = 0; i < C; i++) here[i] = next[i];
  }
  if (GROUP * g == taps) return;
#pragma unroll
  for (int i = 0; i < C; i++) next[i] = from[(g + 1) * C + i];
  add_group<C>(sum, here, next, list.of[g], taps - GROUP * g);
}

// Stores a tile's results, from pixel `first` on, through `room`.
template <int C>
__device__ __forceinline__ void store(const vectors_args &a, float *row, float4 *room,
                                      const float (&sum)[EACH<C> * C], int first) {
  constexpr int QUADS = EACH<C> * C / 4;
  const int lane = static_cast<int>(threadIdx.x % 32);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < QUADS; i++)
    room[lane * QUADS + i] = make_float4(sum[4 * i], sum[4 * i + 1], sum[4 * i + 2], sum[4 * i + 3]);
  __syncwarp();
  float *to = row + static_cast<int64_t>(first) * C;
  if (first >= 0 && first + TILE<C> <= a.pixels) {
#pragma unroll
    for (int i = 0; i < QUADS; i++) reinterpret_cast<float4 *>(to)[i * 32 + lane] = room[i * 32 + lane];
  } else {
    const int begin = max(-first, 0) * C, end = min(a.pixels - first, TILE<C>) * C;
    for (int i = begin + lane; i < end; i += 32) to[i] = reinterpret_cast<const float *>(room)[i];
  }
}

template <int C>
__global__ void __launch_bounds__(32 * WARPS, RESIDENT)
    conv1d_vectors(const __grid_constant__ vectors_args a, const __grid_constant__ tap_groups list) {
  extern __shared__ __align__(16) float4 memory[];
  const int unit = static_cast<int>(blockIdx.x) * WARPS + static_cast<int>(threadIdx.x / 32);
  if (unit >= a.rows.units) return;
  const fc_window_row p = fc_window_row_of(a.rows, unit);
  const float *in = reinterpret_cast<const float *>(a.in.at(p.n, p.y, 0, 0));
  float *out = reinterpret_cast<float *>(a.out.at(p.n, p.y, 0, 0));
  const int first = p.unit * TILE<C> - pixels_over<C>(reinterpret_cast<uintptr_t>(out) / 4);
  if (first >= a.pixels) return;
  float4 *tile = memory + threadIdx.x / 32 * a.room;
  fill<C>(a, reinterpret_cast<float *>(tile), in, first + a.ends.first, TILE<C> + a.taps - 1);
  float sum[EACH<C> * C];
  sum_pixels<C>(sum, tile + static_cast<int>(threadIdx.x % 32) * (EACH<C> * C / 4), a.taps, list);
  store<C>(a, out, tile, sum, first);
}

// ---- launching -------------------------------------------------------------

template <int C>
fc_status launch(vectors_args a, const fc_conv1d *c, const fc_view *out, cudaStream_t stream) {
  tap_groups list = {};
  if (!fc_window_rows_of(&a.rows, out, a.pixels, TILE<C>, 1, 1)) return FC_UNSUPPORTED;
  for (int j = 0; j < c->taps; j++)
    (&list.of[j / GROUP].x)[j % GROUP] = static_cast<const float *>(c->mask)[j];
  // Lanes read whole groups of pixels, and one more.
  a.room = C * (TILE<C> + (a.taps + GROUP - 1) / GROUP * GROUP + GROUP) / 4;
  const int64_t bytes = static_cast<int64_t>(WARPS) * a.room * static_cast<int64_t>(sizeof(float4));
  if (!fc_allow_shared(conv1d_vectors<C>, bytes)) return FC_UNSUPPORTED;
  conv1d_vectors<C><<<fc_blocks(a.rows.units, WARPS, INT32_MAX), 32 * WARPS, bytes, stream>>>(a, list);
  return fc_launch_status();
}

} // namespace

fc_status fc_conv1d_vectors(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                            cudaStream_t stream) {
  const int64_t channels = out->shape[FC_AXIS_C];
  vectors_args a = {};
  if (!fc_window_ends_of(&a.ends, c, in, edges, out, 1)) return FC_UNSUPPORTED;
  a.in = fc_dev_view_of(in), a.out = fc_dev_view_of(out);
  a.pixels = static_cast<int>(out->shape[FC_AXIS_X]), a.taps = static_cast<int>(c->taps);
  return channels == 3 ? launch<3>(a, c, out, stream) : launch<4>(a, c, out, stream);
}
