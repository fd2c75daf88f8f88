// SPDX-License-Identifier: MIT
//
// runs.cu - sums of floats in windows along rows: chooses and launches a kernel of line_march.cuh or a faster
// one.
#include "filters/winstat/rows/line_march.cuh"
#include "filters/winstat/launch.cuh"

namespace winstat {

// A launch should have at least this many blocks before a block is given a second tile.
constexpr int64_t RUN_BLOCKS = 4096;
constexpr int64_t TILE = RUN_THREADS * RUN;
constexpr int32_t EACH = RUN_THREADS / GROUP; // groups of the largest size per tile

// Lays out in shared memory what windows of q segments and more begin and end with.
static void place_ends(runs *s) {
  const int32_t q = s->x.segments;
  while (s->bits < 5 && 2 << s->bits <= q) s->bits++;
  s->u = q >> s->bits, s->v = q & ((1 << s->bits) - 1);
  s->pieces = q > RUN_NEAR ? 2 : 1, s->near_segments = RUN_THREADS;
  if (s->pieces == 2) {
    s->apart = RUN_THREADS + s->v, s->scanned = RUN_THREADS, s->scan = FAR_SEGMENTS;
    s->warm = (s->u - 1 + EACH - 1) / EACH;
    return;
  }
  s->apart = q, s->near_segments += q + 1;
  if (q < 2) return;
  s->near_segments = (s->near_segments + GROUP - 1) / GROUP * GROUP;
  s->scan = s->near_segments, s->totals = s->scan >> s->bits;
}

static runs runs_of(const pass<float> &p, int64_t rows) {
  runs s = {};
  s.x = extent16_of(p.window[0]);
  place_ends(&s);
  s.first = -p.before[0] - floor_mod(p.origin[0] - p.before[0], GROUP * RUN);
  s.over = 1 / p.area;
  s.floats = p.out.dtype == FC_F32 && p.out.stride[FC_AXIS_X] == sizeof(float);
  const int64_t tiles = (p.columns - p.before[0] - s.first + TILE - 1) / TILE,
                spare = rows * tiles / RUN_BLOCKS;
  int64_t each = s.pieces == 2 ? 4 * p.window[0] / TILE + 1 : RUN_TILES;
  if (each > spare) each = spare;
  if (each > tiles) each = tiles;
  s.tiles = static_cast<int32_t>(each < 1 ? 1 : each);
  s.stretches = (tiles + s.tiles - 1) / s.tiles;
  if (s.pieces == 2) s.totals = s.tiles * (RUN_THREADS / GROUP) + s.u + 2;
  s.words = p.in.dtype == FC_F32 && p.in.stride[FC_AXIS_X] == sizeof(float);
  const int64_t start = static_cast<int64_t>(reinterpret_cast<uintptr_t>(p.in.data)) +
                        s.first * static_cast<int64_t>(sizeof(float));
  s.aligned = s.words && start % 16 == 0 && p.in.stride[FC_AXIS_Y] % 16 == 0 &&
              p.in.stride[FC_AXIS_N] % 16 == 0 && (p.channels == 1 || p.in.stride[FC_AXIS_C] % 16 == 0);
  if (start % 4 != 0 || p.in.stride[FC_AXIS_Y] % 4 != 0 || p.in.stride[FC_AXIS_N] % 4 != 0 ||
      p.in.stride[FC_AXIS_C] % 4 != 0)
    s.words = 0;
  return s;
}

static int64_t bytes_of(const runs &s) {
  const int64_t tile = RUN * static_cast<int64_t>(s.near_segments + (s.pieces > 1 ? FAR_SEGMENTS : 0));
  return sizeof(float) * (2 * tile + TILE + 2 * static_cast<int64_t>(s.scanned + s.scan + s.totals));
}

static int64_t lines_bytes(const runs &s) {
  const int64_t tile = RUN * static_cast<int64_t>(s.near_segments + (s.pieces > 1 ? FAR_SEGMENTS : 0));
  return sizeof(float) * ((LINE_AHEAD + 1) * tile + (s.pieces > 1 ? 0 : TILE) +
                          2 * static_cast<int64_t>(s.scanned + s.scan + s.totals));
}

template <bool SQUARES> static fc_status launch(const pass<float> &p, cudaStream_t stream) {
  const int64_t rows = p.frames * p.rows * p.channels;
  const runs s = runs_of(p, rows);
  const auto kernel = row_runs<SQUARES>;
  if (!fc_allow_shared(kernel, bytes_of(s))) return FC_DEVICE;
  kernel<<<fc_blocks(rows * s.stretches, 1, INT32_MAX), RUN_THREADS, bytes_of(s), stream>>>(p, s);
  return fc_launch_status();
}

// Whether at most one statistic is a sum or mean and at most one is of squares, and 32 bits can number all
// columns and rows. Returns the indices of these statistics, -1 where there is none.
static bool few_statistics(const pass<float> &p, const runs &s, int *sum, int *square) {
  *sum = *square = -1;
  for (int i = 0; i < p.n_stats; i++) {
    int *which = p.stat[i] == FC_WINSTAT_SUM || p.stat[i] == FC_WINSTAT_MEAN ? sum : square;
    if (*which >= 0) return false;
    *which = i;
  }
  return p.columns < 1 << 30 && p.hi[0] < 1 << 30 &&
         p.frames * p.rows * p.channels <= INT32_MAX / s.stretches;
}

static line_args lines_of(const pass<float> &p, const runs &s, int sum, int square) {
  line_args a = {};
  a.s = s, a.area = p.area, a.shrink = p.shrink;
  a.inside[0] = static_cast<int32_t>(p.lo[0]), a.inside[1] = static_cast<int32_t>(p.hi[0]);
  if (sum >= 0) a.stat[0] = p.stat[sum];
  if (square >= 0) a.stat[1] = p.stat[square];
  const int64_t x = s.first + p.before[0];
  auto start = [](const fc_dev_view &v, int64_t n, int64_t y, int64_t x, int64_t c) {
    return v.data + n * v.stride[FC_AXIS_N] + y * v.stride[FC_AXIS_Y] + x * v.stride[FC_AXIS_X] +
           c * v.stride[FC_AXIS_C];
  };
  a.in = start(p.in, p.n0, p.y0, s.first, 0);
  if (sum >= 0) a.out[0] = start(p.out, p.n0, p.y0, 0, p.slot[sum] * p.channels);
  if (square >= 0) a.out[1] = start(p.out, p.n0, p.y0, 0, p.slot[square] * p.channels);
  a.row_in = p.in.stride[FC_AXIS_Y], a.row_out = p.out.stride[FC_AXIS_Y];
  a.plane_in = p.in.stride[FC_AXIS_C], a.plane_out = p.out.stride[FC_AXIS_C];
  a.frame_in = p.in.stride[FC_AXIS_N], a.frame_out = p.out.stride[FC_AXIS_N];
  a.columns = static_cast<int32_t>(p.columns), a.rows = static_cast<int32_t>(p.rows);
  a.planes = static_cast<int32_t>(p.channels), a.x = static_cast<int32_t>(x);
  a.lo = static_cast<int32_t>((p.edges.on ? 0 : p.lo[0]) - s.first);
  a.hi = static_cast<int32_t>((p.edges.on ? p.columns : p.hi[0]) - s.first);
  a.before = static_cast<int32_t>(p.before[0]), a.edges = p.edges, a.quads = s.aligned;
  return a;
}

// The same arguments with columns counted from column 0 of the view, as line_ring.cu and short.cu count them.
static line_args ring_line(line_args a) {
  const int32_t first = a.x - a.before;
  a.in -= first * static_cast<int64_t>(sizeof(float)), a.lo += first, a.hi += first;
  return a;
}

template <bool SUMS, bool SQUARES>
static fc_status launch_lines(const pass<float> &p, const line_args &a, cudaStream_t stream) {
  const auto kernel = line_march<SUMS, SQUARES>;
  const int64_t bytes = lines_bytes(a.s);
  if (!fc_allow_shared(kernel, bytes)) return FC_DEVICE;
  kernel<<<static_cast<unsigned>(p.frames * p.rows * p.channels * a.s.stretches), RUN_THREADS, bytes,
           stream>>>(a);
  return fc_launch_status();
}

static fc_status launch_any(const pass<float> &p, cudaStream_t stream) {
  bool sums = false, squares = false;
  for (int i = 0; i < p.n_stats; i++) {
    const bool square = p.stat[i] == FC_WINSTAT_SUMSQ || p.stat[i] == FC_WINSTAT_RMS;
    squares = squares || square, sums = sums || !square;
  }
  const fc_status status = sums ? launch<false>(p, stream) : FC_OK;
  return status == FC_OK && squares ? launch<true>(p, stream) : status;
}

// Tries the faster kernels, which ask for more of the layout.
static fc_status run_lines(const pass<float> &p, const runs &s, cudaStream_t stream, bool *done) {
  int sum = -1, square = -1;
  *done = false;
  if (!few_statistics(p, s, &sum, &square)) return FC_OK;
  const line_args a = lines_of(p, s, sum, square);
  fc_status status = run_short(p, a, sum, square, stream, done);
  if (status != FC_OK || *done) return status;
  if (!s.words || !s.floats) return FC_OK;
  status = run_ring(ring_line(a), p.frames * p.rows * p.channels, sum >= 0, square >= 0, stream, done);
  if (status != FC_OK || *done) return status;
  *done = true;
  return square < 0 ? launch_lines<true, false>(p, a, stream)
         : sum >= 0 ? launch_lines<true, true>(p, a, stream)
                    : launch_lines<false, true>(p, a, stream);
}

fc_status run_one_row(pass<float> p, cudaStream_t stream, bool *done) {
  constexpr int64_t MOST = 2 * RUN; // longest window whose sums do not depend on the order of segments
  int sum = -1, square = -1;
  *done = false;
  const bool alone = p.shrink && p.lo[1] == 0 && p.hi[1] == 1;
  const bool constant = p.edges.border == FC_BORDER_CONSTANT && p.edges.code != 0;
  if (p.rows != 1 || p.window[0] > MOST || p.window[1] > MOST || (!alone && (!p.edges.on || constant)))
    return FC_OK;
  if (p.shrink) p.area = static_cast<float>(p.window[0]); // rows outside do not count
  const runs s = runs_of(p, p.frames * p.channels);
  if (!few_statistics(p, s, &sum, &square)) return FC_OK;
  return run_short(p, lines_of(p, s, sum, square), sum, square, stream, done);
}

fc_status run_runs(const pass<float> &p, cudaStream_t stream) {
  bool done = false;
  const fc_status status = run_lines(p, runs_of(p, p.frames * p.rows * p.channels), stream, &done);
  if (status != FC_OK || done) return status;
  return launch_any(p, stream);
}

} // namespace winstat
