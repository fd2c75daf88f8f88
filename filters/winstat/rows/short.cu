// SPDX-License-Identifier: MIT
//
// short.cu - sums of floats in windows along short rows: kernel and launch.
#include "filters/winstat/launch.cuh"
#include "filters/winstat/rows/cuts.h"
#include "filters/winstat/rows/line_march.cuh"

// ---- one column ------------------------------------------------------------------------

// Like line_march.cuh, to the bit, for images of a single column: a window covers one sample and
// the values beyond it, which are the same sample again or a constant.

namespace winstat {

constexpr int SINGLE_THREADS = 128;

// Elements are rows and channels; those of a thread are SINGLE_THREADS apart.
struct single_args {
  line_args line; // in and out: addresses of the first
  int32_t count;  // of elements
  int32_t channels;
  int32_t place;    // position, in its segment, of the sample with which windows begin
  int32_t repeated; // the value beyond the ends is not the sample itself
  float outside;    // ... but this
};

// x[] becomes the sums of windows in which sample `own` is x, all others `outside` or the same again.
template <bool SQUARE> struct single_window {
  const float (&x)[RUN];
  bool repeated;
  float outside;
  int own;

  __device__ __forceinline__ float at(int k, int i) const {
    const float v = i == own || repeated ? x[k] : outside;
    return SQUARE ? times(v, v) : v;
  }
  // to[k]: samples last .. 0, from the end.
  __device__ __forceinline__ void suffix(float (&to)[RUN], int last) const {
#pragma unroll
    for (int k = 0; k < RUN; k++) to[k] = at(k, last);
#pragma unroll 1
    for (int i = last - 1; i >= 0; i--)
#pragma unroll
      for (int k = 0; k < RUN; k++) to[k] = plus(at(k, i), to[k]);
  }
  // to[k]: samples first .. last, added to what it is.
  __device__ __forceinline__ void prefix(float (&to)[RUN], int first, int last) const {
#pragma unroll 1
    for (int i = first; i <= last; i++)
#pragma unroll
      for (int k = 0; k < RUN; k++) to[k] = plus(to[k], at(k, i));
  }

  // Like slide_short and add_ends, for windows of up to two segments that begin `place` samples after one.
  __device__ __forceinline__ void sum(float (&to)[RUN], const extent16 &w, int place) const {
    float core[RUN];
    const int block = w.segments == 0 ? w.reach + 1 : RUN, ahead = place % block;
    suffix(to, block - 1 - ahead);
    if (w.segments == 0 && ahead == 0) return;
    int from = block - ahead;
#pragma unroll
    for (int k = 0; k < RUN; k++) core[k] = w.segments == 0 ? at(k, from) : 0;
    prefix(core, w.segments == 0 ? from + 1 : from, w.reach);
#pragma unroll
    for (int k = 0; k < RUN; k++) to[k] = plus(to[k], core[k]);
  }
};

template <bool SQUARE>
__device__ __forceinline__ void single_sums(const single_args &a, const float (&x)[RUN], float (&v)[RUN]) {
  const line_args &l = a.line;
  const int which = l.stat[SQUARE];
  const single_window<SQUARE> window = {x, a.repeated != 0, a.outside, l.before};
  window.sum(v, l.s.x, a.place);
  if (!l.shrink || which == FC_WINSTAT_SUM || which == FC_WINSTAT_SUMSQ) {
    line_finish(l, v, which, 0);
    return;
  }
#pragma unroll
  for (int k = 0; k < RUN; k++) v[k] = line_shrunk(l, v[k], which, 0);
}

// Calls f(k, offset) for each existing element, the thread's k-th; offsets in bytes from the distances of
// rows and channels.
template <class F>
__device__ __forceinline__ void single_each(const single_args &a, int64_t row, int64_t channel, F f) {
  const unsigned first = blockIdx.x * (SINGLE_THREADS * RUN) + threadIdx.x, c = a.channels;
#pragma unroll
  for (int k = 0; k < RUN; k++) {
    const unsigned e = first + k * SINGLE_THREADS, y = c == 1 ? e : e / c;
    if (e < static_cast<unsigned>(a.count)) f(k, y * row + (e - y * c) * channel);
  }
}

template <bool SUMS, bool SQUARES>
__global__ void __launch_bounds__(SINGLE_THREADS) single_columns(const __grid_constant__ single_args a) {
  const line_args &l = a.line;
  float x[RUN] = {}, v[RUN];
  single_each(a, l.row_in, l.plane_in,
              [&](int k, int64_t at) { x[k] = *reinterpret_cast<const float *>(l.in + at); });
#pragma unroll
  for (int q = 0; q < 2; q++) {
    if (q == 0 ? !SUMS : !SQUARES) continue;
    if (q == 0)
      single_sums<false>(a, x, v);
    else
      single_sums<true>(a, x, v);
    single_each(a, l.row_out, l.plane_out,
                [&](int k, int64_t at) { *reinterpret_cast<float *>(l.out[q] + at) = v[k]; });
  }
}

} // namespace winstat

// ---- short rows ------------------------------------------------------------------------

// The same results as line_march.cuh, bit for bit, for short rows and for rows of interleaved channels. A
// block of threads processes as many rows as fill it, or a piece of one row. It separates them into lines of
// one channel each, which are stored one after another in shared memory, with their borders.
//
// A thread computes the 16 windows that begin in one segment of a line. Their results overwrite the segment's
// samples, which all windows of earlier segments have read by then, and are written to memory row by row.

namespace winstat {

// Columns are counted from 0, the view's first. In `line`, in and out point to column 0, channel 0 of the
// first row; lo and hi limit the readable columns; x is the column of the first window. Planes are the
// channels or frames that blocks do not share; those of a channel are plane_in bytes apart, those of a frame
// frame_in bytes.
struct short_args {
  line_args line;
  int64_t lines;                        // rows of a plane
  int32_t row_in, row_out, result;      // words between columns; words between the results of two channels
  int32_t channels;                     // interleaved channels, a line each
  uint32_t over_channels, over_results; // 2^32 / words per column, to divide by
  int32_t second;                       // index of the quantity whose results come last
  int32_t rows;                         // rows per block
  int32_t pieces, each; // pieces per row; segments per piece that windows begin in, in whole groups
  int32_t plane, turns; // words per line; address bits that are swapped by channel
  fc_dev_divider by_line, by_channels; // segments per line; channels
  int32_t lanes;                       // 1 << lanes threads share a row
  int32_t along;                       // whether threads go along a row, not down the rows
  int32_t words;                       // words per tile
};

// Swaps words by channel, so that the channels of one column, which are written together, are in different
// banks.
__device__ __forceinline__ int short_turn(const short_args &a, int c) {
  return c << 3 & a.turns;
}
// Index in shared memory of word x of channel c of a row. The exclusive or keeps 16-byte reads of segments in
// different banks; it repeats every 128 words.
__device__ __forceinline__ int short_word(const short_args &a, int row, int c, int x) {
  const int i = (row * a.channels + c) * a.plane + x;
  return i ^ (i >> 5 & 3) << 2 ^ short_turn(a, c);
}
// The channel of a line, lines being numbered by row, then channel.
__device__ __forceinline__ int short_channel(const short_args &a, int line) {
  return line - a.by_channels.quotient(line) * a.channels;
}

// The piece that a block processes: its rows, the column x of its first sample, and the columns lo .. hi - 1
// of its results.
struct short_piece {
  int rows, x, lo, hi;
  int64_t in, out; // offset in bytes of column 0 of its first row
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

// The words of a tile that one thread copies. Along rows: every row, each 128th word. Down rows: a fixed
// column of every RUN_THREADS >> lanes-th row, `step` words apart in shared memory.
struct short_way {
  int first, end;  // rows to start in
  int element, by; // first element of a row, and the distance to the next
  int count, step; // down rows: words to copy from each start, and their distance
};

__device__ __forceinline__ short_way short_way_of(const short_args &a, int rows) {
  const int me = threadIdx.x;
  if (a.along) return {0, rows, me, RUN_THREADS, 0, RUN_THREADS};
  const int row = me >> a.lanes, abreast = RUN_THREADS >> a.lanes;
  return {row,          row < rows ? row + 1 : row,           me & ((1 << a.lanes) - 1),
          1 << a.lanes, (rows - row + abreast - 1) / abreast, abreast * a.channels * a.plane};
}

// Calls f(row, column, index within the column, number of words from there on) for each place in `columns`
// columns of `each` words where this thread starts.
template <class F>
__device__ __forceinline__ void short_each(const short_args &a, const short_way &w, int columns, int each,
                                           uint32_t over, F f) {
  const int all = columns * each, end = a.along && all > RUN_THREADS * each ? RUN_THREADS * each : all;
#pragma unroll 1
  for (int row = w.first; row < w.end; row++) {
#pragma unroll 1
    for (int i = w.element; i < end; i += w.by) {
      const int column = each == 1 ? i : __umulhi(i, over);
      f(row, column, i - column * each,
        a.along ? (columns - column + RUN_THREADS - 1) / RUN_THREADS : w.count);
    }
  }
}

__device__ __forceinline__ int short_clamp(int v, int lo, int hi) {
  return v < lo ? lo : v > hi ? hi : v;
}

// Starts to copy `count` words that are `bytes` apart in memory and `step` words apart in shared memory.
__device__ __forceinline__ void short_copy(float *to, int step, const char *from, int64_t bytes, int count) {
#pragma unroll 4
  for (int k = 0; k < count; k++, to += step, from += bytes) fc_copy_word(to, from);
}

// The same for column x of the border, which cannot be read.
__device__ __forceinline__ void short_edge(const short_args &a, const short_piece &p, float *tile, int step,
                                           const char *in, int64_t bytes, int row, int x, int c, int count) {
  const line_args &l = a.line;
  float *to = tile + short_word(a, row, c, x - p.x);
  const int source = l.edges.on ? border_source(l.edges.border, x, l.columns) : -1;
  if (source >= 0) {
    short_copy(to, step, in + row * l.row_in + 4ll * (source * a.row_in + c), bytes, count);
    return;
  }
  for (int k = 0; k < count; k++, to += step) *to = __uint_as_float(static_cast<uint32_t>(l.edges.code));
}

// The same along rows, for the border columns x .. x + columns - 1. Their source is a constant or evenly
// spaced columns, unless there is a turning point of the reflection between.
__device__ __forceinline__ void short_edges(const short_args &a, const short_piece &p, const short_way &w,
                                            float *tile, const char *in, int x, int columns) {
  const line_args &l = a.line;
  if (columns <= 0) return;
  const int border = l.edges.border, far = columns - 1;
  const int first = l.edges.on ? border_source(border, x, l.columns) : -1,
            apart = first < 0 ? 0 : border_source(border, x + far, l.columns) - first;
  const int step = border == FC_BORDER_REPLICATE ? 0 : apart == far ? 1 : -1;
  const bool evenly = apart == far * step && (step >= 0 || border != FC_BORDER_WRAP);
  const float outside = __uint_as_float(static_cast<uint32_t>(l.edges.code));
  short_each(a, w, columns, a.channels, a.over_channels, [&](int row, int column, int c, int count) {
    float *to = tile + short_word(a, row, c, x + column - p.x);
    const char *from = in + row * l.row_in + 4ll * ((first + step * column) * a.row_in + c);
    if (first < 0)
      for (int k = 0; k < count; k++, to += RUN_THREADS) *to = outside;
    else if (evenly)
      short_copy(to, RUN_THREADS, from, 4ll * RUN_THREADS * a.row_in * step, count);
    else
      for (; column < columns; column += RUN_THREADS) short_edge(a, p, tile, 0, in, 0, row, x + column, c, 1);
  });
}

// Starts to copy all samples that the windows of a piece contain.
__device__ __forceinline__ void short_load(const short_args &a, const short_piece &p, const short_way &w,
                                           float *tile) {
  const line_args &l = a.line;
  const int seen[2] = {p.lo - l.before, p.hi + l.s.x.reach - l.before}, channels = a.channels;
  const int lo = short_clamp(l.lo, seen[0], seen[1]), hi = short_clamp(l.hi, lo, seen[1]);
  const int ahead = lo - seen[0], beyond = ahead + seen[1] - hi;
  const int64_t bytes = a.along ? 4ll * RUN_THREADS * a.row_in : (RUN_THREADS >> a.lanes) * l.row_in;
  const char *in = l.in + p.in;
  short_each(a, w, hi - lo, channels, a.over_channels, [&](int row, int column, int c, int count) {
    const int x = lo + column;
    short_copy(tile + short_word(a, row, c, x - p.x), w.step, in + row * l.row_in + 4ll * (x * a.row_in + c),
               bytes, count);
  });
  // The border.
  if (a.along) {
    short_edges(a, p, w, tile, in, seen[0], ahead);
    short_edges(a, p, w, tile, in, hi, beyond - ahead);
  } else {
    short_each(a, w, beyond, channels, a.over_channels, [&](int row, int column, int c, int count) {
      short_edge(a, p, tile, w.step, in, bytes, row, column < ahead ? seen[0] + column : hi + column - ahead,
                 c, count);
    });
  }
  fc_commit_copies();
}

// Writes the results, which are where the samples were; those of a second quantity follow a.words later.
template <int QUANTITIES>
__device__ __forceinline__ void short_give(const short_args &a, const short_piece &p, const short_way &w,
                                           const float *tile) {
  const line_args &l = a.line;
  const int channels = a.channels;
  const int64_t bytes = a.along ? 4ll * RUN_THREADS * a.row_out : (RUN_THREADS >> a.lanes) * l.row_out;
  short_each(a, w, p.hi - p.lo, QUANTITIES * channels, a.over_results,
             [&](int row, int column, int which, int count) {
               const int later = QUANTITIES > 1 && which >= channels, c = later ? which - channels : which;
               const int q = QUANTITIES > 1 ? later ^ (a.second ^ 1) : 0, x = p.lo + column;
               const float *here = tile + q * a.words + short_word(a, row, c, x - l.before - p.x);
               char *to = (QUANTITIES > 1 ? l.out[q] : l.out[a.second]) + p.out + row * l.row_out +
                          4ll * (x * a.row_out) + 4ll * a.result * c;
#pragma unroll 4
               for (int k = 0; k < count; k++, here += w.step, to += bytes)
                 *reinterpret_cast<float *>(to) = *here;
             });
}

// The windows of a piece, 128 segments at a time.
template <bool SUMS, bool SQUARES>
__device__ __forceinline__ void short_windows_of(const short_args &a, const short_piece &p,
                                                 const run_memory &m, float *tile) {
  typedef quantities<SUMS, SQUARES> S;
  const line_args &l = a.line;
  const int count = p.rows * a.channels * a.each, each = a.plane / RUN;
#pragma unroll 1
  for (int base = 0; base < count; base += RUN_THREADS) {
    const int mine = base + static_cast<int>(threadIdx.x);
    const bool live = mine < count;
    // Idle lanes take a valid segment in their place, since shuffles need the whole group.
    const int i = live ? mine : base + static_cast<int>(threadIdx.x) % (1 << l.s.bits);
    const int line = i / a.each, begin = i - line * a.each, turn = short_turn(a, short_channel(a, line));
    const int segment = line * each + begin, x = p.x + l.before + begin * RUN;
    float v[S::COUNT][RUN];
    if (base + static_cast<int>(threadIdx.x & ~31u) < count) {
      make_windows<S>(l.s, m, v, tile, segment, 0, turn);
      if (SUMS) line_finish(l, v[0], l.stat[0], x);
      if (SQUARES) line_finish(l, v[S::COUNT - 1], l.stat[1], x);
    }
    __syncthreads();
    if (!live) continue;
#pragma unroll
    for (int q = 0; q < S::COUNT; q++)
#pragma unroll
      for (int k = 0; k < RUN / 4; k++)
        *reinterpret_cast<float4 *>(tile + q * a.words + (4 * quarter(4 * segment) ^ 4 * k ^ turn)) =
            make_float4(v[q][4 * k], v[q][4 * k + 1], v[q][4 * k + 2], v[q][4 * k + 3]);
  }
}

template <bool SUMS, bool SQUARES>
__global__ void __launch_bounds__(RUN_THREADS, SUMS &&SQUARES ? 5 : 7)
    short_lines(const __grid_constant__ short_args a) {
  extern __shared__ __align__(16) float tile[];
  typedef quantities<SUMS, SQUARES> S;
  const runs &s = a.line.s;
  const short_piece p = short_piece_of(a);
  run_memory m = {};
  m.segments = s.scan;
  m.ahead = tile + S::COUNT * a.words, m.groups = m.ahead + S::COUNT * s.scan;
  const short_way w = short_way_of(a, p.rows);
  short_load(a, p, w, tile);
  fc_await_copies();
  __syncthreads();
  if (s.scan > 0) {
    scan_segments<S>(s, m, tile, s.scan, 0, [&](int segment) {
      return short_turn(a, short_channel(a, a.by_line.quotient(segment)));
    });
    __syncthreads();
  }
  short_windows_of<SUMS, SQUARES>(a, p, m, tile);
  __syncthreads();
  short_give<S::COUNT>(a, p, w, tile);
}

} // namespace winstat

namespace winstat {

// Cuts rows into pieces and groups them into blocks.
static void cut_rows(short_args *a, const fc_short_cut &c) {
  runs &s = a->line.s;
  a->pieces = c.pieces, a->each = c.each, a->along = c.along, a->lanes = c.lanes;
  a->plane = c.whole * RUN, a->rows = c.rows, a->words = c.words;
  a->turns = c.channels == 1 ? 0 : c.whole % 2 == 0 ? 24 : 8; // 24 swaps pairs of segments too
  a->by_line = fc_dev_divider_of(c.whole), a->by_channels = fc_dev_divider_of(c.channels);
  s.scan = c.scan, s.totals = c.totals;
}

template <bool SUMS, bool SQUARES>
static fc_status launch(const short_args &a, int64_t bytes, int64_t planes, cudaStream_t stream) {
  const auto kernel = short_lines<SUMS, SQUARES>;
  const int64_t blocks = (a.lines + a.rows - 1) / a.rows * planes;
  if (!fc_allow_shared(kernel, bytes)) return FC_DEVICE;
  kernel<<<static_cast<unsigned>(blocks * a.pieces), RUN_THREADS, static_cast<size_t>(bytes), stream>>>(a);
  return fc_launch_status();
}

// Whether all rows are equally far apart, across frames too.
static bool follow(const fc_dev_view &v, int64_t rows, int64_t frames) {
  return frames == 1 || v.stride[FC_AXIS_N] == rows * v.stride[FC_AXIS_Y];
}

// Whether the border of a single sample repeats this sample.
static bool repeated(const pass<float> &p) {
  const int border = p.edges.border;
  return p.edges.on && (border == FC_BORDER_REPLICATE || border == FC_BORDER_WRAP ||
                        border == FC_BORDER_REFLECT || border == FC_BORDER_REFLECT101);
}

// Fills in the arguments. Columns count from the view's first; lines begin at a whole group.
static short_args short_args_of(const pass<float> &p, const line_args &line, int sum, int square,
                                int64_t *bytes) {
  short_args a = {};
  line_args &l = a.line;
  l = line;
  const int64_t size = sizeof(float);
  const int32_t first = line.x - line.before, quantities = (sum >= 0) + (square >= 0);
  l.lo += first, l.hi += first;
  l.in -= first * p.in.stride[FC_AXIS_X];
  const bool together = p.channels > 1 && p.channels <= FC_SHORT_CHANNELS && p.in.stride[FC_AXIS_C] == size;
  a.channels = together ? static_cast<int32_t>(p.channels) : 1;
  l.planes = static_cast<int32_t>(p.channels / a.channels);
  a.over_channels = static_cast<uint32_t>((1ull << 32) / a.channels + 1);
  a.over_results = static_cast<uint32_t>((1ull << 32) / (a.channels * quantities) + 1);
  a.second = sum < 0 || (square >= 0 && p.slot[square] > p.slot[sum]);
  a.row_in = static_cast<int32_t>(p.in.stride[FC_AXIS_X] / size);
  a.row_out = static_cast<int32_t>(p.out.stride[FC_AXIS_X] / size);
  a.result = static_cast<int32_t>(p.out.stride[FC_AXIS_C] / size);
  a.lines = p.rows;
  if (p.frames > 1 && follow(p.in, p.rows, p.frames) && follow(p.out, p.rows, p.frames))
    a.lines *= p.frames, l.frame_in = l.frame_out = 0;
  const fc_line row = {p.columns, p.origin[0], p.before[0], p.window[0]};
  const fc_short_cut c = fc_short_cut_of(&row, a.channels, quantities, a.lines);
  l.x = c.x, *bytes = fc_short_bytes(&c);
  cut_rows(&a, c);
  return a;
}

// ---- a single column -----------------------------------------------------------------

template <bool SUMS, bool SQUARES> static fc_status launch_single(const single_args &a, cudaStream_t stream) {
  single_columns<SUMS, SQUARES>
      <<<fc_blocks(a.count, SINGLE_THREADS * RUN, INT32_MAX), SINGLE_THREADS, 0, stream>>>(a);
  return fc_launch_status();
}

static fc_status run_single(const pass<float> &p, const line_args &line, bool sums, bool squares,
                            cudaStream_t stream) {
  single_args a = {};
  const int64_t channel = sizeof(float);
  a.line = line;
  a.line.in = p.in.data + p.n0 * p.in.stride[FC_AXIS_N] + p.y0 * p.in.stride[FC_AXIS_Y];
  a.count = static_cast<int32_t>(p.frames * p.rows * p.channels);
  a.channels = static_cast<int32_t>(p.channels);
  if (line.plane_in == channel && line.plane_out == channel && line.row_in == p.channels * channel &&
      line.row_out == line.row_in)
    a.line.row_in = a.line.row_out = channel, a.channels = 1;
  a.place = static_cast<int32_t>(floor_mod(p.origin[0] - p.before[0], RUN));
  a.repeated = repeated(p);
  const uint32_t code = static_cast<uint32_t>(p.edges.code);
  memcpy(&a.outside, &code, sizeof code);
  return !squares ? launch_single<true, false>(a, stream)
         : sums   ? launch_single<true, true>(a, stream)
                  : launch_single<false, true>(a, stream);
}

// ---- which quantities ------------------------------------------------------------------

fc_status run_short(const pass<float> &p, const line_args &line, fc_winstat_kernel kernel, int sum,
                    int square, cudaStream_t stream) {
  if (kernel == FC_WINSTAT_BY_SINGLE) return run_single(p, line, sum >= 0, square >= 0, stream);
  int64_t bytes = 0;
  short_args a = short_args_of(p, line, sum, square, &bytes);
  const int64_t planes = a.line.planes * (p.frames * p.rows / a.lines);
  return square < 0 ? launch<true, false>(a, bytes, planes, stream)
         : sum >= 0 ? launch<true, true>(a, bytes, planes, stream)
                    : launch<false, true>(a, bytes, planes, stream);
}

} // namespace winstat
