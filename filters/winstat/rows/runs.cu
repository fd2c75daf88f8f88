// SPDX-License-Identifier: MIT
//
// runs.cu - sums of floats in windows along rows: the general kernel, of parts of line_march.cuh; launches
// it, that of line_march.cuh or a faster one.
#include "filters/winstat/rows/cuts.h"
#include "filters/winstat/rows/line_march.cuh"
#include "filters/winstat/launch.cuh"

namespace winstat {

// ---- a block's way along a row --------------------------------------------------------

__device__ __forceinline__ void work_tile(const pass<float> &p, const runs &s, const run_place &at,
                                          const run_memory &m, const float *tile, bool squares) {
  const int group = s.pieces > 1 ? at.tile * (RUN_THREADS / GROUP) : 0;
  typedef quantities<true, false> S;
  if (s.scan > 0) {
    scan_segments<S>(s, m, tile, s.scan, s.pieces > 1 ? group + s.u : 0);
    __syncthreads();
  }
  if (at.tile < 0 || at.x + p.before[0] + (threadIdx.x & ~31) * RUN >= p.columns) return; // warps as a whole
  float v[S::COUNT][RUN];
  make_windows<S>(s, m, v, tile, threadIdx.x, group);
  give_runs(p, s, at, v[0], m.staging, squares);
}

// Of squares, which take the place of samples, or of these.
__global__ void __launch_bounds__(RUN_THREADS, 5)
    row_runs(const __grid_constant__ pass<float> p, const __grid_constant__ runs s, bool squares) {
  extern __shared__ __align__(16) float samples[];
  const run_memory m = memory_of(s, samples, 2, RUN_THREADS * RUN);
  const int64_t items = p.frames * p.rows * p.channels * s.stretches;
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const int64_t stretch = item % s.stretches, rest = item / s.stretches, line = rest / p.channels;
    run_place at;
    at.c = rest - line * p.channels, at.n = p.n0 + line / p.rows, at.y = p.y0 + line % p.rows;
    constexpr int64_t LONG = RUN_THREADS * RUN;
    const int64_t first = s.first + stretch * s.tiles * LONG,
                  tiles = (p.columns - p.before[0] - first + LONG - 1) / LONG;
    const int end = static_cast<int>(tiles < s.tiles ? tiles : s.tiles);
    at.tile = -s.warm, at.x = first - s.warm * LONG;
    __syncthreads();
    load_samples(p, s, at, m.tiles), fc_commit_copies();
    for (int k = 0; at.tile < end; k ^= 1) {
      fc_await_copies();
      __syncthreads();
      run_place next = at;
      next.tile++, next.x += LONG;
      if (next.tile < end) load_samples(p, s, next, m.tiles + (k ^ 1) * m.tile), fc_commit_copies();
      float *const tile = m.tiles + k * m.tile;
      if (squares) {
        for (int i = threadIdx.x; i < m.tile; i += RUN_THREADS) tile[i] = times(tile[i], tile[i]);
        __syncthreads();
      }
      work_tile(p, s, at, m, tile, squares);
      at = next;
    }
  }
}

// ---- launching ------------------------------------------------------------------------

static_assert(RUN_THREADS == FC_LINE_THREADS && GROUP == FC_LINE_GROUP && RUN_NEAR == FC_LINE_NEAR,
              "as counted");
constexpr int64_t TILE = RUN_THREADS * RUN;
constexpr int32_t EACH = RUN_THREADS / GROUP; // groups of the largest size per tile

static fc_line line_of(const pass<float> &p) {
  return {p.columns, p.origin[0], p.before[0], p.window[0]};
}

static int64_t lines_of(const pass<float> &p) {
  return p.frames * p.rows * p.channels;
}

// Lays out in shared memory what windows of q segments and more begin and end with.
static void place_ends(runs *s) {
  const int32_t q = s->x.segments;
  const fc_line_groups g = fc_line_groups_of(s->x.reach + 1);
  s->bits = g.bits, s->u = g.u, s->v = g.v;
  s->pieces = g.pieces, s->near_segments = RUN_THREADS;
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

static runs runs_of(const pass<float> &p) {
  runs s = {};
  const fc_line l = line_of(p);
  const fc_line_tiles t = fc_line_tiles_of(&l, lines_of(p));
  s.x = extent16_of(p.window[0]);
  place_ends(&s);
  s.first = t.first, s.tiles = t.tiles, s.stretches = t.stretches;
  s.over = 1 / p.area;
  s.floats = p.out.dtype == FC_F32 && p.out.stride[FC_AXIS_X] == sizeof(float);
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

static fc_status launch(const pass<float> &p, const runs &s, bool squares, cudaStream_t stream) {
  if (!fc_allow_shared(row_runs, bytes_of(s))) return FC_DEVICE;
  row_runs<<<fc_blocks(lines_of(p) * s.stretches, 1, INT32_MAX), RUN_THREADS, bytes_of(s), stream>>>(p, s,
                                                                                                     squares);
  return fc_launch_status();
}

// The indices of a sum or mean and of a statistic of squares, -1 where there is none.
static void indices_of(const pass<float> &p, int *sum, int *square) {
  *sum = *square = -1;
  for (int i = 0; i < p.n_stats; i++)
    *(p.stat[i] == FC_WINSTAT_SUM || p.stat[i] == FC_WINSTAT_MEAN ? sum : square) = i;
}

static line_args args_of(const pass<float> &p, const runs &s, int sum, int square) {
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
  kernel<<<static_cast<unsigned>(lines_of(p) * a.s.stretches), RUN_THREADS, bytes, stream>>>(a);
  return fc_launch_status();
}

fc_status run_runs(const pass<float> &p, fc_winstat_kernel kernel, cudaStream_t stream) {
  const runs s = runs_of(p);
  int sum = -1, square = -1;
  indices_of(p, &sum, &square);
  if (kernel == FC_WINSTAT_BY_RUNS) {
    const fc_status status = sum >= 0 ? launch(p, s, false, stream) : FC_OK;
    return status == FC_OK && square >= 0 ? launch(p, s, true, stream) : status;
  }
  const line_args a = args_of(p, s, sum, square);
  if (kernel == FC_WINSTAT_BY_RING) return run_ring(ring_line(a), lines_of(p), sum >= 0, square >= 0, stream);
  if (kernel != FC_WINSTAT_BY_LINES) return run_short(p, a, kernel, sum, square, stream);
  return square < 0 ? launch_lines<true, false>(p, a, stream)
         : sum >= 0 ? launch_lines<true, true>(p, a, stream)
                    : launch_lines<false, true>(p, a, stream);
}

} // namespace winstat
