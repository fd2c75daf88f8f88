// SPDX-License-Identifier: MIT
//
// line_march.cuh - what runs.cuh does, to the bit, with half its instructions, where nothing
// is in the way: rows of words that lie side by side, results that are floats, no more than one statistic of
// sums and one of sums of squares.
#ifndef FC_FILTERS_WINSTAT_LINE_MARCH_CUH
#define FC_FILTERS_WINSTAT_LINE_MARCH_CUH

#include "filters/winstat/runs.cuh"

namespace winstat {

constexpr int LINE_AHEAD = 1; // tiles on their way
constexpr int TILE_SAMPLES = RUN_THREADS * RUN;

struct line_args {
  const char *in; // of each row, sample 0 of the first tile
  char *out[2];   // and its result: the sum's or mean's, the sum of squares'
  int64_t row_in, row_out, plane_in, plane_out, frame_in, frame_out; // bytes
  int32_t columns, rows, planes;
  int32_t lo, hi, x;         // of the first tile: samples that may be read; column of its first window
  int32_t before;            // samples that windows see ahead of a row
  int32_t quads;             // samples of tiles lie at multiples of 16 bytes
  ends edges;                // what stands beyond, if that is not there to be read
  int32_t stat[2];           // which of them
  int32_t shrink, inside[2]; // of windows that shrink only columns inside[0] .. inside[1] - 1 count
  float area;
  runs s;
};

// A piece of a tile of which samples lo .. hi - 1 can be read, or that is not made of quads: `from` is sample
// 0.
inline __device__ __noinline__ void line_copy_ends(const line_args &a, const float *from, float *to, int lo,
                                                   int hi, int count) {
  if (!a.quads && lo <= 0 && hi >= count) {
    const int i = threadIdx.x;
    float *here = to + 4 * quarter(i / 4) + i % 4; // and as much further on as the samples are
#pragma unroll 4
    for (int k = 0; k < count - i; k += RUN_THREADS) fc_copy_word(here + k, from + i + k);
    return;
  }
  const int first = a.x + a.lo - lo, seen[2] = {-first, a.columns + a.s.x.reach - first};
  copy_with_ends<RUN_THREADS>(
      threadIdx.x, count, lo, hi, a.quads, seen,
      [&](int i) { fc_copy_words(to + 4 * quarter(i / 4), from + i); },
      [&](int i) {
        float *here = to + 4 * quarter(i / 4) + i % 4;
        int source = i >= lo && i < hi ? i - lo : -1;
        if (source < 0 && a.edges.on) source = border_source(a.edges.border, i - lo, hi - lo);
        if (source >= 0)
          fc_copy_word(here, from + lo + source);
        else
          *here = __uint_as_float(static_cast<uint32_t>(a.edges.code));
      });
}

// A piece of a tile: quarters threadIdx, + RUN_THREADS, ...
template <int MOST>
__device__ __forceinline__ void line_copy(const line_args &a, const char *from, float *to, int lo, int hi,
                                          int count) {
  if (lo > 0 || hi < count || !a.quads) {
    line_copy_ends(a, reinterpret_cast<const float *>(from) - 4 * static_cast<int>(threadIdx.x), to, lo, hi,
                   count);
    return;
  }
  float *here = to + 4 * quarter(threadIdx.x);
#pragma unroll
  for (int i = 0; i < MOST; i++)
    if (i < RUN / 4 || 4 * (threadIdx.x + i * RUN_THREADS) < count)
      fc_copy_words(here + i * 4 * RUN_THREADS, from + i * 16 * RUN_THREADS);
}

// Sixteen results a thread change places and are written, four a lane where they begin at a multiple of 16
// bytes, else 32 at a time from multiples of 128 on: `x` is the column of the warp's first. PASSING: quads do
// not stay in the second cache.
template <bool PASSING = false>
__device__ __forceinline__ void line_give(const float (&v)[RUN], float *staging, float *to, int x,
                                          int columns) {
  const int lane = threadIdx.x % 32, mine = 4 * quarter(4 * lane);
  __syncwarp();
#pragma unroll
  for (int k = 0; k < RUN / 4; k++)
    *reinterpret_cast<float4 *>(staging + (mine ^ 4 * k)) =
        make_float4(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
  __syncwarp();
  if (x < 0 || x + 32 * RUN > columns) {
#pragma unroll 1
    for (int k = lane; k < 32 * RUN; k += 32)
      if (x + k >= 0 && x + k < columns) to[k] = staging[4 * quarter(k / 4) + k % 4];
    return;
  }
  if (reinterpret_cast<uintptr_t>(to) % 16 == 0) {
    const float4 *quads = reinterpret_cast<const float4 *>(staging) + quarter(lane);
    float4 *there = reinterpret_cast<float4 *>(to) + lane;
#pragma unroll
    for (int k = 0; k < RUN / 4; k++)
      if (PASSING)
        __stcs(there + 32 * k, quads[32 * k]);
      else
        there[32 * k] = quads[32 * k];
    return;
  }
  // Round k writes what is `turn` before 32 k: for some lanes of the 32 words before those of the others.
  const int turn = static_cast<int>(reinterpret_cast<uintptr_t>(to) / 4 % 32), word = (lane - turn) & 31,
            row = lane < turn ? -1 : 0;
  const float *from[4];
#pragma unroll
  for (int k = 0; k < 4; k++) from[k] = staging + 32 * row + (word ^ ((k + row) & 3) << 2);
  to += lane - turn;
  if (row == 0) to[0] = from[0][0];
#pragma unroll
  for (int k = 1; k < RUN; k++) to[32 * k] = from[k % 4][32 * k];
  if (row < 0) to[32 * RUN] = from[0][32 * RUN];
}

inline __device__ __noinline__ float line_quotient(float sum, float n) {
  return sum / n;
}

// Sums over n samples become their means, as if they were divided: mean_of is the same but for the smallest.
__device__ __forceinline__ void line_means(float (&v)[RUN], float n, float over) {
  float mean[RUN];
  bool small = false;
#pragma unroll
  for (int k = 0; k < RUN; k++) mean[k] = mean_of(v[k], n, over), small = small || !(mean[k] > 0x1p-100f);
  if (small) {
#pragma unroll
    for (int k = 0; k < RUN; k++) mean[k] = line_quotient(v[k], n);
  }
#pragma unroll
  for (int k = 0; k < RUN; k++) v[k] = mean[k];
}

// The sum of a window that shrinks becomes a statistic; x is its column. Called for few, and kept out of the
// way.
inline __device__ __noinline__ float line_shrunk(const line_args &a, float sum, int which, int x) {
  const int from = x - a.before, to = from + a.s.x.reach + 1;
  const float n =
      static_cast<float>((to < a.inside[1] ? to : a.inside[1]) - (from > a.inside[0] ? from : a.inside[0]));
  return which == FC_WINSTAT_MEAN ? mean_of(sum, n, 1 / n) : root(sum / n);
}

// A thread's sums become statistics: those of the windows of 16 columns from x on. Few of them shrink in a
// way that anybody sees.
__device__ __forceinline__ void line_finish(const line_args &a, float (&v)[RUN], int which, int x) {
  if (which == FC_WINSTAT_SUM || which == FC_WINSTAT_SUMSQ) return;
  if (a.shrink && (x - a.before < a.inside[0] || x + RUN - a.before + a.s.x.reach > a.inside[1])) {
#pragma unroll
    for (int k = 0; k < RUN; k++)
      if (x + k >= 0 && x + k < a.columns) v[k] = line_shrunk(a, v[k], which, x + k);
  } else if (which == FC_WINSTAT_MEAN) {
#pragma unroll
    for (int k = 0; k < RUN; k++) v[k] = mean_of(v[k], a.area, a.s.over);
  } else {
    line_means(v, a.area, a.s.over);
#pragma unroll
    for (int k = 0; k < RUN; k++) v[k] = root(v[k]);
  }
}

template <bool SUMS, bool SQUARES>
__global__ void __launch_bounds__(RUN_THREADS, 5) line_march(const __grid_constant__ line_args a) {
  extern __shared__ __align__(16) float samples[];
  typedef quantities<SUMS, SQUARES> S;
  const runs &s = a.s;
  const run_memory m = memory_of(s, samples, LINE_AHEAD + 1, s.pieces > 1 ? 0 : TILE_SAMPLES);
  unsigned i = blockIdx.x;
  const unsigned stretches = static_cast<unsigned>(s.stretches);
  const int first = static_cast<int>(i % stretches) * s.tiles;
  i /= stretches;
  const unsigned plane = i % a.planes;
  i /= a.planes;
  const int64_t y = i % a.rows, n = i / a.rows;
  int tile = -s.warm;
  const int start = (first + tile) * TILE_SAMPLES;
  const char *from = a.in + n * a.frame_in + plane * a.plane_in + y * a.row_in +
                     (start + 4 * static_cast<int>(threadIdx.x)) * 4ll;
  int x = a.x + start + static_cast<int>(threadIdx.x & ~31u) * RUN; // the warp's first column
  const int64_t to = n * a.frame_out + plane * a.plane_out + y * a.row_out + x * 4ll;
  float *sums = reinterpret_cast<float *>(a.out[0] + to), *squares = reinterpret_cast<float *>(a.out[1] + to);
  int lo = a.lo - start, hi = a.hi - start;
  const int left = (a.columns - a.x + TILE_SAMPLES - 1) / TILE_SAMPLES - first,
            end = left < s.tiles ? left : s.tiles;
  const int far = s.u * GROUP * RUN;
  int coming = tile;
  auto copy = [&](float *into) {
    if (coming < end) {
      if (coming >= 0) line_copy<RUN_COPIES>(a, from, into, lo, hi, s.near_segments * RUN);
      if (s.pieces > 1)
        line_copy<(FAR_SEGMENTS * RUN / 4 + RUN_THREADS - 1) / RUN_THREADS>(
            a, from + 4ll * far, into + s.near_segments * RUN, lo - far, hi - far, FAR_SEGMENTS * RUN);
    }
    fc_commit_copies();
    coming++, from += 4 * TILE_SAMPLES, lo -= TILE_SAMPLES, hi -= TILE_SAMPLES;
  };
#pragma unroll
  for (int k = 0; k < LINE_AHEAD; k++) copy(samples + k * m.tile);
  int slot = 0;
#pragma unroll 1
  for (; tile < end; tile++, x += TILE_SAMPLES, sums += TILE_SAMPLES, squares += TILE_SAMPLES) {
    fc_await_copies<LINE_AHEAD - 1>();
    __syncthreads();
    float *now = samples + slot * m.tile;
    copy(samples + (slot == 0 ? LINE_AHEAD : slot - 1) * m.tile);
    slot = slot == LINE_AHEAD ? 0 : slot + 1;
    const int group = s.pieces > 1 ? tile * (RUN_THREADS / GROUP) : 0;
    if (s.scan > 0) {
      // At the end of a row no more than its windows see, in whole groups.
      const int seen = (a.columns - x + (threadIdx.x & ~31u) * RUN + RUN - 1) / RUN + s.apart - s.scanned + 1;
      const int count = seen < s.scan ? (seen + GROUP - 1) / GROUP * GROUP : s.scan;
      scan_segments<S>(s, m, now, count, s.pieces > 1 ? group + s.u : 0);
      __syncthreads();
    }
    if (tile < 0 || x >= a.columns) continue; // warps as a whole
    float v[S::COUNT][RUN];
    make_windows<S>(s, m, v, now, threadIdx.x, group);
    const int mine = x + static_cast<int>(threadIdx.x % 32) * RUN;
    if (SUMS) line_finish(a, v[0], a.stat[0], mine);
    if (SQUARES) line_finish(a, v[S::COUNT - 1], a.stat[1], mine);
    // The samples that windows begin with, far from their ends, are the warp's own.
    float *staging = s.pieces > 1 ? now + (threadIdx.x & ~31u) * RUN : m.staging;
    if (SUMS) line_give(v[0], staging, sums, x, a.columns);
    if (SQUARES) line_give(v[S::COUNT - 1], staging, squares, x, a.columns);
  }
}

} // namespace winstat

#endif
