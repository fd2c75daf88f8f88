// SPDX-License-Identifier: MIT
//
// winstat_short.cuh - what winstat_runs.cuh does, to the bit, of rows that are short, and of rows whose
// channels lie side by side: a block of threads takes as many rows as fill it, or a piece of one, apart into
// lines of one channel each, which lie one after another in shared memory, with their borders.
//
// A thread makes the 16 windows that begin in one segment of a line; their results take the place of the
// segment's samples, which those of the segments before have seen by then, and are written row by row.
//
// Windows of rows too, where an image has but one (TALL): all sums along x that a window adds up are the
// same, or all but one are zero.
#ifndef FC_FILTERS_WINSTAT_SHORT_CUH
#define FC_FILTERS_WINSTAT_SHORT_CUH

#include "filters/winstat_single.cuh"

namespace winstat {

// `line` is told of columns: in and out are column 0, channel 0 of the first row; lo and hi the columns that
// may be read; its x the column of the first window of all. Planes are channels or frames that blocks do not
// share: those of a plane begin `plane_in`, of a frame `frame_in` bytes apart.
struct short_args {
  line_args line;
  int64_t lines;                        // rows of a plane
  int32_t row_in, row_out, result;      // words from column to column; of results from channel to channel
  int32_t channels;                     // side by side, in lines of their own
  uint32_t over_channels, over_results; // 2^32 / so many a column
  int32_t second;                       // the quantity whose results come last
  int32_t rows;                         // of a block
  int32_t pieces, each;                 // of a row; segments of one that windows begin in, in whole groups
  int32_t plane;                        // words of a line
  int32_t lanes;                        // threads that share a row
  int32_t along;                        // threads go along rows, not from one to the next
  int32_t words;                        // of a tile
  extent16 tall;                        // along y
  int32_t tall_place, tall_before, repeated; // where in a segment windows begin; rows ahead; as single_args
};

// Where word i of a tile is.
__device__ __forceinline__ int short_word(int i) {
  return i ^ (i >> 5 & 3) << 2;
}

// The column of element i of a row of so many a column, and which of them it is.
struct short_place {
  int column, which;
};
__device__ __forceinline__ short_place short_place_of(int i, int each, uint32_t over) {
  const int column = each == 1 ? i : __umulhi(i, over);
  return {column, i - column * each};
}

// One block's piece: its rows, the column of its first sample, and of its windows' results lo .. hi - 1.
struct short_piece {
  int rows, x, lo, hi;
  int64_t in, out; // column 0 of its first row, bytes
};

__device__ __forceinline__ short_piece short_piece_of(const short_args &a) {
  const line_args &l = a.line;
  short_piece p;
  unsigned i = blockIdx.x;
  const int piece = static_cast<int>(i % a.pieces);
  i /= a.pieces;
  const unsigned blocks = static_cast<unsigned>((a.lines + a.rows - 1) / a.rows), plane = i / blocks,
                 frame = plane / l.planes, c = plane - frame * l.planes;
  const int64_t first = static_cast<int64_t>(i - plane * blocks) * a.rows;
  p.rows = static_cast<int>(a.lines - first < a.rows ? a.lines - first : a.rows);
  const int begin = l.x + piece * a.each * RUN, end = begin + a.each * RUN;
  p.lo = begin < 0 ? 0 : begin, p.hi = end < l.columns ? end : l.columns;
  p.x = begin - l.before;
  p.in = frame * l.frame_in + c * l.plane_in + first * l.row_in;
  p.out = frame * l.frame_out + c * l.plane_out + first * l.row_out;
  return p;
}

// Calls f(i, row, count, step, column) for elements i of rows of `columns` x `each`: the thread's in `count`
// rows from `row` on, `step` apart, or in the columns of one, as many apart.
template <class F>
__device__ __forceinline__ void short_each(const short_args &a, int rows, int columns, int each, F f) {
  if (a.along) {
#pragma unroll 1
    for (int r = 0; r < rows; r++)
#pragma unroll 1
      for (int i = threadIdx.x; i < RUN_THREADS * each && i < columns * each; i += RUN_THREADS) f(i, r, 0);
    return;
  }
#pragma unroll 1
  for (int i = threadIdx.x % a.lanes; i < columns * each; i += a.lanes)
    f(i, static_cast<int>(threadIdx.x) / a.lanes, rows);
}

__device__ __forceinline__ int short_clamp(int v, int lo, int hi) {
  return v < lo ? lo : v > hi ? hi : v;
}

// A thread's way through a tile: `count` words that are `step` apart, and `bytes` in the image.
struct short_way {
  int count, step;
  int64_t bytes;
};

// From row to row; how far apart the image's are: `pitch`.
__device__ __forceinline__ short_way short_down(const short_args &a, int row, int rows, int64_t pitch) {
  const int step = RUN_THREADS / a.lanes;
  return {(rows - row + step - 1) / step, step * a.channels * a.plane, step * pitch};
}

// Begins to copy what the piece's windows see.
__device__ __forceinline__ void short_copy(const short_args &a, const short_piece &p, float *tile) {
  const line_args &l = a.line;
  const int seen[2] = {p.lo - l.before, p.hi + l.s.x.reach - l.before}, channels = a.channels;
  const int lo = short_clamp(l.lo, seen[0], seen[1]), hi = short_clamp(l.hi, lo, seen[1]);
  const int ahead = lo - seen[0], after = seen[1] - hi;
  auto to = [&](int row, int x, int c) { return (row * channels + c) * a.plane + x - p.x; };
  auto copy = [&](int first, const char *from, const short_way &way) {
    float *here = tile + short_word(first);
#pragma unroll 4
    for (int k = 0; k < way.count; k++, here += way.step, from += way.bytes) fc_copy_word(here, from);
  };
  auto from = [&](int row, int x, int c) {
    return l.in + p.in + row * l.row_in + (static_cast<int64_t>(x) * a.row_in + c) * 4;
  };
  short_each(a, p.rows, hi - lo, channels, [&](int i, int row, int rows) {
    const short_place at = short_place_of(i, channels, a.over_channels);
    const int x = lo + at.column;
    const short_way along = {(hi - x + RUN_THREADS - 1) / RUN_THREADS, RUN_THREADS,
                             4ll * RUN_THREADS * a.row_in};
    copy(to(row, x, at.which), from(row, x, at.which), a.along ? along : short_down(a, row, rows, l.row_in));
  });
  // What stands beyond the ends.
  short_each(a, p.rows, ahead + after, channels, [&](int i, int row, int rows) {
    const short_place at = short_place_of(i, channels, a.over_channels);
    short_way way = {1, 0, 0};
    if (!a.along) way = short_down(a, row, rows, l.row_in);
    for (int column = at.column; column < ahead + after; column += RUN_THREADS) {
      const int x = column < ahead ? seen[0] + column : hi + column - ahead;
      const int source = l.edges.on ? border_source(l.edges.border, x, l.columns) : -1;
      const int first = to(row, x, at.which);
      if (source >= 0) {
        copy(first, from(row, source, at.which), way);
      } else {
        const float outside = __uint_as_float(static_cast<uint32_t>(l.edges.code));
        for (int k = 0; k < way.count; k++) tile[short_word(first) + k * way.step] = outside;
      }
      if (!a.along) break;
    }
  });
  fc_commit_copies();
}

// Results are where samples were; those of the other quantity come after.
template <int QUANTITIES>
__device__ __forceinline__ void short_give(const short_args &a, const short_piece &p, const float *tile) {
  const line_args &l = a.line;
  const int channels = a.channels;
  short_each(a, p.rows, p.hi - p.lo, QUANTITIES * channels, [&](int i, int row, int rows) {
    const short_place at = short_place_of(i, QUANTITIES * channels, a.over_results);
    const int later = QUANTITIES > 1 && at.which >= channels, c = later ? at.which - channels : at.which;
    const int q = QUANTITIES > 1 ? later ^ (a.second ^ 1) : 0, x = p.lo + at.column;
    const float *here = tile + q * a.words + short_word((row * channels + c) * a.plane + x - l.before - p.x);
    char *to = l.out[QUANTITIES > 1 ? q : a.second] + p.out + row * l.row_out +
               (static_cast<int64_t>(x) * a.row_out + static_cast<int64_t>(c) * a.result) * 4;
    const short_way along = {(p.hi - x + RUN_THREADS - 1) / RUN_THREADS, RUN_THREADS,
                             4ll * RUN_THREADS * a.row_out},
                    way = a.along ? along : short_down(a, row, rows, l.row_out);
#pragma unroll 4
    for (int k = 0; k < way.count; k++, here += way.step, to += way.bytes)
      *reinterpret_cast<float *>(to) = *here;
  });
}

// Sums along x become those of windows of several rows.
__device__ __forceinline__ void short_tall(const short_args &a, float (&v)[RUN]) {
  float x[RUN];
#pragma unroll
  for (int k = 0; k < RUN; k++) x[k] = v[k];
  const single_window<false> window = {x, a.repeated != 0, 0, a.tall_before};
  window.sum(v, a.tall, a.tall_place);
}

// The windows of a piece, 128 segments at a time.
template <bool SUMS, bool SQUARES, bool TALL>
__device__ __forceinline__ void short_windows_of(const short_args &a, const short_piece &p,
                                                 const run_memory &m, float *tile) {
  typedef quantities<SUMS, SQUARES> S;
  const line_args &l = a.line;
  const int count = p.rows * a.channels * a.each, each = a.plane / RUN;
#pragma unroll 1
  for (int base = 0; base < count; base += RUN_THREADS) {
    const int i = base + static_cast<int>(threadIdx.x);
    const bool live = i < count;
    // The others of a warp go along with whole groups of the first line.
    const int line = live ? i / a.each : 0,
              begin = live ? i - line * a.each : static_cast<int>(threadIdx.x) % (1 << l.s.bits);
    const int segment = line * each + begin, x = p.x + l.before + begin * RUN;
    float v[S::COUNT][RUN];
    if (base + static_cast<int>(threadIdx.x & ~31u) < count) {
      make_windows<S>(l.s, m, v, tile, segment, 0);
#pragma unroll
      for (int q = 0; q < S::COUNT; q++)
        if (TALL) short_tall(a, v[q]);
      if (SUMS) line_finish(l, v[0], l.stat[0], x);
      if (SQUARES) line_finish(l, v[S::COUNT - 1], l.stat[1], x);
    }
    __syncthreads();
    if (!live) continue;
#pragma unroll
    for (int q = 0; q < S::COUNT; q++)
#pragma unroll
      for (int k = 0; k < RUN / 4; k++)
        *reinterpret_cast<float4 *>(tile + q * a.words + (4 * quarter(4 * segment) ^ 4 * k)) =
            make_float4(v[q][4 * k], v[q][4 * k + 1], v[q][4 * k + 2], v[q][4 * k + 3]);
  }
}

template <bool SUMS, bool SQUARES, bool TALL>
__global__ void __launch_bounds__(RUN_THREADS, SUMS &&SQUARES ? 5 : 7)
    short_lines(const __grid_constant__ short_args a) {
  extern __shared__ __align__(16) float tile[];
  typedef quantities<SUMS, SQUARES> S;
  const runs &s = a.line.s;
  const short_piece p = short_piece_of(a);
  run_memory m = {};
  m.segments = s.scan;
  m.ahead = tile + S::COUNT * a.words, m.groups = m.ahead + S::COUNT * s.scan;
  short_copy(a, p, tile);
  fc_await_copies();
  __syncthreads();
  if (s.scan > 0) {
    scan_segments<S>(s, m, tile, s.scan, 0);
    __syncthreads();
  }
  short_windows_of<SUMS, SQUARES, TALL>(a, p, m, tile);
  __syncthreads();
  short_give<S::COUNT>(a, p, tile);
}

} // namespace winstat

#endif
