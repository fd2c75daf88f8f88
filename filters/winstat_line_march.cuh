// SPDX-License-Identifier: MIT
//
// winstat_line_march.cuh - what winstat_runs.cuh does, to the bit, with half its instructions, where nothing
// is in the way: rows of words that lie side by side at multiples of 16 bytes, results that are floats,
// windows of one size, no more than one statistic of sums and one of sums of squares.
#ifndef FC_FILTERS_WINSTAT_LINE_MARCH_CUH
#define FC_FILTERS_WINSTAT_LINE_MARCH_CUH

#include "filters/winstat_runs.cuh"

namespace winstat {

constexpr int LINE_AHEAD = 1; // tiles on their way
constexpr int TILE_SAMPLES = RUN_THREADS * RUN;

struct line_args {
  const char *in; // of each row, sample 0 of the first tile
  char *out[2];   // and its result: the sum's or mean's, the sum of squares'
  int64_t row_in, row_out, plane_in, plane_out, frame_in, frame_out; // bytes
  int32_t columns, rows, planes;
  int32_t lo, hi, x; // of the first tile: samples that may be read; column of its first window
  int32_t mean;
  float area;
  runs s;
};

// A piece of a tile: quarters threadIdx, + RUN_THREADS, ...
template <int MOST>
__device__ __forceinline__ void line_copy(const char *from, float *to, int lo, int hi, int count) {
  float *here = to + 4 * quarter(threadIdx.x);
  if (lo <= 0 && hi >= count) {
#pragma unroll
    for (int i = 0; i < MOST; i++)
      if (i < RUN / 4 || 4 * (threadIdx.x + i * RUN_THREADS) < count)
        fc_copy_words(here + i * 4 * RUN_THREADS, from + i * 16 * RUN_THREADS);
    return;
  }
#pragma unroll 1
  for (int i = 4 * threadIdx.x; i < count; i += 4 * RUN_THREADS) {
    if (i >= lo && i + 4 <= hi) {
      fc_copy_words(here, from);
    } else {
#pragma unroll
      for (int k = 0; k < 4; k++)
        if (i + k >= lo && i + k < hi)
          fc_copy_word(here + k, from + 4 * k);
        else
          here[k] = 0;
    }
    here += 4 * RUN_THREADS, from += 16 * RUN_THREADS;
  }
}

// Sixteen results a thread change places and are written, 32 at a time from multiples of 128 bytes on: `x` is
// the column of the warp's first.
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
      if (coming >= 0) line_copy<RUN_COPIES>(from, into, lo, hi, s.near_segments * RUN);
      if (s.pieces > 1)
        line_copy<(FAR_SEGMENTS * RUN / 4 + RUN_THREADS - 1) / RUN_THREADS>(
            from + 4ll * far, into + s.near_segments * RUN, lo - far, hi - far, FAR_SEGMENTS * RUN);
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
    make_windows<S>(s, m, v, now, group);
    if (SUMS && a.mean) {
#pragma unroll
      for (int k = 0; k < RUN; k++) v[0][k] = mean_of(v[0][k], a.area, s.over);
    }
    // The samples that windows begin with, far from their ends, are the warp's own.
    float *staging = s.pieces > 1 ? now + (threadIdx.x & ~31u) * RUN : m.staging;
    if (SUMS) line_give(v[0], staging, sums, x, a.columns);
    if (SQUARES) line_give(v[S::COUNT - 1], staging, squares, x, a.columns);
  }
}

} // namespace winstat

#endif
