// SPDX-License-Identifier: MIT
//
// winstat_line_pixels.cuh - what winstat_runs.cuh does, to the bit, where up to four channels lie side by
// side, or the statistics of one do: rows of floats without gaps, in windows that are made in one piece.
//
// A block of threads takes the channels of a tile apart as they come into shared memory, makes the windows of
// one after another, and keeps the results until those of all lie side by side.
#ifndef FC_FILTERS_WINSTAT_LINE_PIXELS_CUH
#define FC_FILTERS_WINSTAT_LINE_PIXELS_CUH

#include "filters/winstat_line_march.cuh"

namespace winstat {

constexpr int PIXEL_CHANNELS = 4;

// `line` is told of columns: in and out are column 0, channel 0; lo and hi columns that may be read.
struct pixel_args {
  line_args line;
  int32_t channels, results; // of a column
  int32_t slot[2];           // where sums and sums of squares are among the results, by channels
  int32_t plane, apart;      // words of a channel's samples; of one of a warp's results
};

static inline int64_t pixel_bytes(const pixel_args &a) {
  const runs &s = a.line.s;
  return sizeof(float) *
         (static_cast<int64_t>(a.plane) * a.channels + RUN_THREADS / 32 * a.results * a.apart +
          2 * a.channels * static_cast<int64_t>(s.scanned + s.scan + s.totals));
}

// Where a channel's sample i is, as quarter() has it.
__device__ __forceinline__ int pixel_word(int i) {
  return i ^ (i >> 5 & 3) << 2;
}

// Calls f(word, element, place) for this thread's part of `count` words that are `each` to a place: thread
// `me` of THREADS, every so-manieth word.
template <int THREADS, class F> __device__ __forceinline__ void each_word(int me, int count, int each, F f) {
  const int turns = each % 3 == 0 ? 3 : 1, step = THREADS * turns / each;
#pragma unroll 1
  for (int turn = 0; turn < turns; turn++) {
    const int first = me + turn * THREADS, element = first % each;
    int place = first / each;
#pragma unroll 4
    for (int i = first; i < count; i += THREADS * turns, place += step) f(i, element, place);
  }
}

// Begins to copy the samples of a tile that begins at column x.
__device__ __forceinline__ void pixel_copy(const pixel_args &p, const float *row, float *to, int x) {
  const line_args &a = p.line;
  const float *from = row + static_cast<int64_t>(x) * p.channels;
  const int me = threadIdx.x, count = p.plane * p.channels;
  if (x >= a.lo && x + p.plane <= a.hi) {
    each_word<RUN_THREADS>(me, count, p.channels, [&](int i, int c, int at) {
      fc_copy_word(to + c * p.plane + pixel_word(at), from + i);
    });
    return;
  }
  const int first = -a.before - x, last = a.columns + a.s.x.reach - a.before - x; // that windows see
  each_word<RUN_THREADS>(me, count, p.channels, [&](int i, int c, int at) {
    if (at < first || at >= last) return;
    float *here = to + c * p.plane + pixel_word(at);
    const bool inside = x + at >= a.lo && x + at < a.hi;
    const int source = inside ? x + at : a.edges.on ? border_source(a.edges.border, x + at, a.columns) : -1;
    if (inside || source >= 0)
      fc_copy_word(here, from + i + static_cast<int64_t>(source - x - at) * p.channels);
    else
      *here = __uint_as_float(static_cast<uint32_t>(a.edges.code));
  });
}

// A warp's results of 512 columns, the first at column x: `to` is where that is.
__device__ __forceinline__ void pixel_give(const pixel_args &p, const float *staging, float *to, int x) {
  const int lo = -x, hi = p.line.columns - x;
  each_word<32>(threadIdx.x % 32, 32 * RUN * p.results, p.results, [&](int i, int k, int at) {
    if (at >= lo && at < hi) to[i] = staging[k * p.apart + pixel_word(at)];
  });
}

// The windows of a tile, channel by channel: their results to the warp's staging.
template <bool SUMS, bool SQUARES>
__device__ __forceinline__ void pixel_windows(const pixel_args &p, run_memory m, const float *tile,
                                              float *staging, int x) {
  typedef quantities<SUMS, SQUARES> S;
  const line_args &a = p.line;
  const int lane = threadIdx.x % 32, mine = 4 * quarter(4 * lane);
#pragma unroll 1
  for (int c = 0; c < p.channels; c++) {
    float v[S::COUNT][RUN];
    make_windows<S>(a.s, m, v, tile + c * p.plane, threadIdx.x, 0);
#pragma unroll
    for (int q = 0; q < S::COUNT; q++) {
      const int which = SUMS && q == 0 ? 0 : 1;
      line_finish(a, v[q], a.stat[which], x + lane * RUN);
      float *to = staging + (p.slot[which] + c) * p.apart;
#pragma unroll
      for (int k = 0; k < RUN / 4; k++)
        *reinterpret_cast<float4 *>(to + (mine ^ 4 * k)) =
            make_float4(v[q][4 * k], v[q][4 * k + 1], v[q][4 * k + 2], v[q][4 * k + 3]);
    }
    m.ahead += 2 * (m.segments + a.s.totals), m.groups += 2 * (m.segments + a.s.totals);
  }
}

template <bool SUMS, bool SQUARES>
__global__ void __launch_bounds__(RUN_THREADS, 5) pixel_march(const __grid_constant__ pixel_args p) {
  extern __shared__ __align__(16) float samples[];
  typedef quantities<SUMS, SQUARES> S;
  const line_args &a = p.line;
  const runs &s = a.s;
  float *staging = samples + p.plane * p.channels;
  run_memory m;
  m.segments = s.scanned + s.scan;
  m.ahead = staging + RUN_THREADS / 32 * p.results * p.apart, m.groups = m.ahead + 2 * m.segments;
  staging += threadIdx.x / 32 * p.results * p.apart;
  unsigned i = blockIdx.x;
  const unsigned stretches = static_cast<unsigned>(s.stretches);
  const int first = static_cast<int>(i % stretches) * s.tiles;
  i /= stretches;
  const int64_t y = i % a.rows, n = i / a.rows;
  const float *row = reinterpret_cast<const float *>(a.in + n * a.frame_in + y * a.row_in);
  float *to = reinterpret_cast<float *>(a.out[0] + n * a.frame_out + y * a.row_out);
  const int left = (a.columns - a.x + TILE_SAMPLES - 1) / TILE_SAMPLES - first,
            end = left < s.tiles ? left : s.tiles;
  int x = a.x - a.before + first * TILE_SAMPLES; // the column of the tile's first sample
  pixel_copy(p, row, samples, x), fc_commit_copies();
#pragma unroll 1
  for (int tile = 0; tile < end; tile++) {
    fc_await_copies();
    __syncthreads();
    if (s.scan > 0) {
      run_memory here = m;
#pragma unroll 1
      for (int c = 0; c < p.channels; c++) {
        scan_segments<S>(s, here, samples + c * p.plane, s.scan, 0);
        here.ahead += 2 * (m.segments + s.totals), here.groups += 2 * (m.segments + s.totals);
      }
      __syncthreads();
    }
    const int mine = x + a.before + static_cast<int>(threadIdx.x & ~31u) * RUN;
    const bool live = mine < a.columns; // warps as a whole
    if (live) pixel_windows<SUMS, SQUARES>(p, m, samples, staging, mine);
    __syncthreads();
    x += TILE_SAMPLES;
    if (tile + 1 < end) pixel_copy(p, row, samples, x);
    fc_commit_copies();
    if (live) pixel_give(p, staging, to + static_cast<int64_t>(mine) * p.results, mine);
  }
}

} // namespace winstat

#endif
