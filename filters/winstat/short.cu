// SPDX-License-Identifier: MIT
//
// short.cu - launches the kernel of short.cuh.
#include "filters/winstat/runs_launch.cuh"
#include "filters/winstat/short.cuh"
#include "filters/winstat/single.cuh"

namespace winstat {

constexpr int32_t SHORT_SEGMENTS = 384; // of a block that windows begin in, at most
constexpr int32_t SHORT_WORDS = 6500;   // of a block's tile, unless a row needs more: eight fit
constexpr int32_t SHORT_ALONG = 512;    // columns that threads go along
constexpr int32_t SHORT_CHANNELS = 16;  // side by side, at most
constexpr int64_t SHORT_COLUMNS = 2048; // longer rows of one channel fill blocks of their own
constexpr int64_t SHORT_IN_LONG = 400;  // ... and those whose windows are longer than a group
constexpr int64_t SHORT_STEP = 1 << 12; // words between columns, at most

static bool in_words(const fc_dev_view &v) {
  for (int a = 0; a < FC_AXES; a++)
    if (v.stride[a] % static_cast<int64_t>(sizeof(float)) != 0) return false;
  return v.dtype == FC_F32 && reinterpret_cast<uintptr_t>(v.data) % sizeof(float) == 0 &&
         v.stride[FC_AXIS_X] > 0 && v.stride[FC_AXIS_X] <= SHORT_STEP * static_cast<int64_t>(sizeof(float));
}

static int32_t up_to(int32_t v, int32_t multiple) {
  return (v + multiple - 1) / multiple * multiple;
}

// Segments of a line of which the rows of threads that go down them find words in the same place.
static int32_t segments_of(const short_args &a, int32_t lanes, int32_t size) {
  const int32_t abreast = RUN_THREADS >> lanes, even = abreast >= 8 ? 1 : 8 / abreast;
  int32_t whole = up_to(a.each + a.line.s.x.segments + 1, size);
  while (!a.along && whole * a.channels % even != 0) whole += size;
  return whole;
}

static int32_t rows_of(const short_args &a, int32_t whole, int32_t lanes, int32_t quantities) {
  const int32_t abreast = a.along ? 1 : RUN_THREADS >> lanes;
  int32_t rows = a.pieces > 1 ? 1 : SHORT_SEGMENTS / (a.channels * a.each);
  const int32_t room = SHORT_WORDS / (quantities * a.channels * whole * RUN);
  if (rows > room) rows = room;
  if (rows > a.lines) rows = static_cast<int32_t>(a.lines);
  if (rows < 1) rows = 1;
  return rows > abreast ? rows / abreast * abreast : rows;
}

// Threads of a row, as the power of two: few enough that most have work, of which what begins with a word
// costs three times the words that follow down the rows.
static int32_t lanes_of(const short_args &a, int32_t columns, int32_t size, int32_t quantities) {
  const int32_t inside = columns * a.channels, beyond = a.line.s.x.reach * a.channels;
  int32_t best = 7;
  double least = 0;
  for (int32_t lanes = 7; lanes >= 2; lanes--) {
    const int32_t rows = rows_of(a, segments_of(a, lanes, size), lanes, quantities), each = 1 << lanes,
                  abreast = RUN_THREADS / each;
    const double turns = (inside + each - 1) / each + 2 * ((beyond + each - 1) / each),
                 cost = turns * (3 + (rows + abreast - 1) / abreast) / rows;
    if (lanes == 7 || cost < 0.95 * least) least = cost, best = lanes;
  }
  return best;
}

// How rows are cut into lines and blocks.
static void cut_rows(short_args *a, int32_t quantities) {
  runs &s = a->line.s;
  const int32_t size = 1 << s.bits, c = a->channels,
                segments = up_to((a->line.columns - a->line.x + RUN - 1) / RUN, size);
  const int32_t pieces =
      static_cast<int32_t>((static_cast<int64_t>(segments) * c + SHORT_SEGMENTS - 1) / SHORT_SEGMENTS);
  a->each = up_to((segments + pieces - 1) / pieces, size);
  a->pieces = (segments + a->each - 1) / a->each;
  const int32_t columns = a->line.columns < a->each * RUN ? a->line.columns : a->each * RUN;
  a->along = columns >= SHORT_ALONG || a->pieces > 1;
  a->lanes = a->along ? 7 : lanes_of(*a, columns, size, quantities);
  const int32_t whole = segments_of(*a, a->lanes, size);
  a->plane = whole * RUN, a->rows = rows_of(*a, whole, a->lanes, quantities);
  a->turns = c == 1 ? 0 : whole % 2 == 0 ? 24 : 8; // segments may change places in pairs
  a->by_line = fc_dev_divider_of(whole), a->by_channels = fc_dev_divider_of(c);
  s.scan = s.x.segments < 2 ? 0 : up_to(a->rows * c * whole, GROUP), s.totals = s.scan >> s.bits;
  a->words = a->rows * c * a->plane;
  if (a->words < s.scan * RUN) a->words = s.scan * RUN;
}

template <bool SUMS, bool SQUARES, bool TALL>
static fc_status launch(const short_args &a, int64_t planes, cudaStream_t stream, bool *done) {
  const auto kernel = short_lines<SUMS, SQUARES, TALL>;
  const int64_t blocks = (a.lines + a.rows - 1) / a.rows * planes,
                bytes = sizeof(float) * (SUMS + SQUARES) *
                        (static_cast<int64_t>(a.words) + a.line.s.scan + a.line.s.totals);
  if (blocks > INT32_MAX / a.pieces || !fc_allow_shared(kernel, bytes)) return FC_OK;
  kernel<<<static_cast<unsigned>(blocks * a.pieces), RUN_THREADS, static_cast<size_t>(bytes), stream>>>(a);
  *done = true;
  return fc_launch_status();
}

// Whether 32 bits number the words of a row.
static bool near(const fc_dev_view &v, int64_t columns) {
  return columns * (v.stride[FC_AXIS_X] / static_cast<int64_t>(sizeof(float))) < INT32_MAX / 2 &&
         v.stride[FC_AXIS_C] / static_cast<int64_t>(sizeof(float)) < INT32_MAX;
}

// Whether all rows are equally far apart, those of different frames too.
static bool follow(const fc_dev_view &v, int64_t rows, int64_t frames) {
  return frames == 1 || v.stride[FC_AXIS_N] == rows * v.stride[FC_AXIS_Y];
}

// Whether what stands beyond the ends of a single sample is that again.
static bool repeated(const pass<float> &p) {
  const int border = p.edges.border;
  return p.edges.on && (border == FC_BORDER_REPLICATE || border == FC_BORDER_WRAP ||
                        border == FC_BORDER_REFLECT || border == FC_BORDER_REFLECT101);
}

// Columns are counted from the view's first, and begin with the smallest group that is whole.
static short_args short_args_of(const pass<float> &p, const line_args &line, bool together, int sum,
                                int square) {
  short_args a = {};
  line_args &l = a.line;
  l = line;
  const int64_t size = sizeof(float);
  const int32_t first = line.x - line.before, quantities = (sum >= 0) + (square >= 0);
  l.lo += first, l.hi += first;
  l.in -= first * p.in.stride[FC_AXIS_X];
  l.x = static_cast<int32_t>(-floor_mod(p.origin[0] - p.before[0], RUN << l.s.bits));
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
  a.tall = extent16_of(p.window[1]), a.tall_before = static_cast<int32_t>(p.before[1]);
  a.repeated = repeated(p);
  cut_rows(&a, quantities);
  return a;
}

// ---- a single column -----------------------------------------------------------------

// Whether windows of a single column see nothing but its sample and what stands beyond, in few segments.
static bool single(const pass<float> &p, const line_args &line) {
  return p.columns == 1 && line.s.x.segments < 2 && (p.edges.on || (p.lo[0] == 0 && p.hi[0] == 1));
}

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

// ---- which rows ------------------------------------------------------------------------

template <bool TALL>
static fc_status launch_any(const short_args &a, int64_t planes, bool sums, bool squares, cudaStream_t stream,
                            bool *done) {
  return !squares ? launch<true, false, TALL>(a, planes, stream, done)
         : sums   ? launch<true, true, TALL>(a, planes, stream, done)
                  : launch<false, true, TALL>(a, planes, stream, done);
}

fc_status run_short(const pass<float> &p, const line_args &line, int sum, int square, cudaStream_t stream,
                    bool *done) {
  *done = false;
  const int64_t size = sizeof(float);
  const bool tall = p.window[1] > 1,
             together = p.channels > 1 && p.channels <= SHORT_CHANNELS && p.in.stride[FC_AXIS_C] == size,
             apart = p.n_stats * p.channels > 1 && p.out.stride[FC_AXIS_X] != size;
  const int64_t most = line.s.bits < 5 ? SHORT_COLUMNS : SHORT_IN_LONG;
  if ((!tall && !together && !apart && p.columns > most) || line.s.pieces > 1 || !in_words(p.in) ||
      !in_words(p.out) || p.frames * p.rows > INT32_MAX / 2 / p.channels || !near(p.in, p.columns) ||
      !near(p.out, p.columns))
    return FC_OK;
  if (!tall && single(p, line) && follow(p.in, p.rows, p.frames) && follow(p.out, p.rows, p.frames)) {
    *done = true;
    return run_single(p, line, sum >= 0, square >= 0, stream);
  }
  const short_args a = short_args_of(p, line, together, sum, square);
  const int64_t planes = a.line.planes * (p.frames * p.rows / a.lines);
  return tall ? launch_any<true>(a, planes, sum >= 0, square >= 0, stream, done)
              : launch_any<false>(a, planes, sum >= 0, square >= 0, stream, done);
}

} // namespace winstat
