// SPDX-License-Identifier: MIT
//
// line_march.cuh - sums of floats in windows along rows: parts of the general kernel (runs.cu), and one with
// half its instructions and the same bits for simple cases: rows of contiguous words, results that are
// floats, at most one statistic of sums and one of sums of squares.
#ifndef FC_FILTERS_WINSTAT_LINE_MARCH_CUH
#define FC_FILTERS_WINSTAT_LINE_MARCH_CUH

#include "filters/winstat/samples.cuh"
#include "filters/winstat/slide16.cuh"

// Sums of floats in windows along rows, whatever their length.
//
// A block of threads goes along a row in tiles of 128 segments of 16 samples: samples come into shared
// memory, those of the next tile while one is worked on, and a thread makes the 16 windows that begin in one
// segment (slide16.cuh). The sum of the segments that a window covers completely is combined from groups of
// up to 32: the rest of the group in which the window begins, whole groups and the beginning of the last
// group. The samples at the end of long windows are copied separately from those at the beginning, and the
// groups in between have been summed before. Results are exchanged through shared memory, so that a warp
// writes 32 neighbours.

namespace winstat {

constexpr int RUN_THREADS = 128; // segments per tile
constexpr int GROUP = 32;        // segments of the largest group; tiles are anchored at these
constexpr int RUN_NEAR = 64;     // segments from one end of a window to the other, in one piece
constexpr int RUN_COPIES = (RUN_THREADS + RUN_NEAR + GROUP) * RUN / (4 * RUN_THREADS); // maximum per thread
constexpr int FAR_SEGMENTS = RUN_THREADS + 32;                                         // of the second piece

static_assert(RUN_NEAR >= GROUP, "where ends are far apart groups are the largest");
static_assert(SLIDE_ANCHOR % (GROUP * RUN) == 0, "groups begin where views may");

struct runs {
  int64_t first;       // sample 0 of the first tile, at most -before: at the start of a group in the signal
  int64_t stretches;   // of `tiles` tiles each
  int32_t tiles, warm; // tiles before a stretch's own of which only groups are needed
  extent16 x;
  int32_t bits, u, v;            // groups of 1 << bits; x.segments = u groups and v
  int32_t pieces, near_segments; // two pieces, `far` samples apart; segments of the first
  int32_t apart;                 // distance of segments of a window's ends in shared memory
  int32_t scanned, scan;  // segments from which groups are made in shared memory: the first, and their number
  int32_t totals;         // words for groups, per quantity
  int32_t words, aligned; // samples are contiguous words; all rows are aligned to 16 bytes
  int32_t floats;         // results are contiguous floats
  float over;
};

// One row of one channel, and the position of a tile in it.
struct run_place {
  int64_t n, y, c;
  int64_t x; // sample 0, in columns of the view
  int tile;  // of the stretch, negative during warm-up
};

// ---- samples into shared memory -----------------------------------------------------

// The position of word i of a piece: the four words of a segment's quarters are permuted so that threads of
// eight segments use different banks.
__device__ __forceinline__ int quarter(int i) {
  return (i & ~3) | ((i ^ i >> 3) & 3);
}

// A piece of a row that begins at column x: its samples lo .. hi - 1 are readable. `row` is the address of
// column 0.
struct run_piece {
  const char *row;
  int64_t x;
  int lo, hi, count;
};

// The address of sample i if readable, or of its source; NULL: it is the constant, or zero.
__device__ __forceinline__ const char *sample_at(const pass<float> &p, const run_piece &r, int i) {
  int64_t source = r.x + i;
  if (i < r.lo || i >= r.hi) source = p.edges.on ? border_source(p.edges.border, source, p.columns) : -1;
  const bool none = source < 0 && (p.edges.on || i < r.lo || i >= r.hi);
  return none ? nullptr : r.row + source * p.in.stride[FC_AXIS_X];
}

// The part of a piece that windows cover.
__device__ __forceinline__ void seen_of(const pass<float> &p, const run_piece &r, int (&seen)[2]) {
  const int64_t lo = -p.before[0] - r.x, hi = p.columns + p.window[0] - 1 - p.before[0] - r.x;
  seen[0] = static_cast<int>(lo < 0 ? 0 : lo > r.count ? r.count : lo);
  seen[1] = static_cast<int>(hi < 0 ? 0 : hi > r.count ? r.count : hi);
}

template <typename T>
__device__ __forceinline__ void load_elements_of(const pass<float> &p, const run_piece &r, float *to) {
  T outside;
  memcpy(&outside, &p.edges.code, sizeof outside);
  int seen[2];
  seen_of(p, r, seen);
  for (int i = seen[0] + threadIdx.x; i < seen[1]; i += RUN_THREADS) {
    const char *at = sample_at(p, r, i);
    to[4 * quarter(i / 4) + i % 4] =
        fc_dev_value<float, T>(at ? *reinterpret_cast<const T *>(at) : outside, p.load);
  }
}

// Words, some of which may be unreadable or not aligned to 16 bytes.
inline __device__ __noinline__ void copy_apart(const pass<float> &p, run_piece r, bool aligned, float *to) {
  const float *words = reinterpret_cast<const float *>(r.row) + r.x;
  int seen[2];
  seen_of(p, r, seen);
  auto word = [&](int i) {
    float *here = to + 4 * quarter(i / 4) + i % 4;
    if (const char *at = sample_at(p, r, i))
      fc_copy_word(here, at);
    else
      *here = __uint_as_float(static_cast<uint32_t>(p.edges.code));
  };
  if (aligned) {
    copy_with_ends<RUN_THREADS>(
        threadIdx.x, r.count, r.lo, r.hi, true, seen,
        [&](int i) { fc_copy_words(to + 4 * quarter(i / 4), words + i); }, word);
  } else {
    for (int i = seen[0] + threadIdx.x; i < seen[1]; i += RUN_THREADS) word(i);
  }
}

inline __device__ __noinline__ void load_elements(const pass<float> &p, run_piece r, float *to) {
  if (p.in.dtype == FC_F32)
    load_elements_of<float>(p, r, to);
  else
    load_elements_of<double>(p, r, to);
}

// Starts to copy `count` samples, a multiple of RUN, from column x on.
__device__ __forceinline__ void load_piece(const pass<float> &p, const runs &s, const run_place &at,
                                           int64_t x, int count, float *to) {
  const int64_t first = (p.edges.on ? 0 : p.lo[0]) - x, last = (p.edges.on ? p.columns : p.hi[0]) - x;
  run_piece r = {p.in.at(at.n, at.y, 0, at.c), x, 0, 0, count};
  r.lo = static_cast<int>(first < 0 ? 0 : first > count ? count : first);
  r.hi = at.y < p.lo[1] || at.y >= p.hi[1] ? r.lo
                                           : static_cast<int>(last < r.lo    ? r.lo
                                                              : last > count ? count
                                                                             : last);
  if (!s.words) {
    load_elements(p, r, to);
    return;
  }
  if (!s.aligned || r.lo > 0 || r.hi < count) {
    copy_apart(p, r, s.aligned, to);
    return;
  }
  float *here = to + 4 * quarter(threadIdx.x); // at the same distance as the samples
  const float *mine = reinterpret_cast<const float *>(r.row) + x + 4 * static_cast<int>(threadIdx.x);
#pragma unroll
  for (int i = 0; i < RUN_COPIES; i++)
    if (4 * (threadIdx.x + i * RUN_THREADS) < count)
      fc_copy_words(here + i * 4 * RUN_THREADS, mine + i * 4 * RUN_THREADS);
}

// The samples of a tile, and those of its windows' ends if they are far away.
__device__ __forceinline__ void load_samples(const pass<float> &p, const runs &s, const run_place &at,
                                             float *to) {
  if (at.tile >= 0) load_piece(p, s, at, at.x, s.near_segments * RUN, to);
  if (s.pieces > 1)
    load_piece(p, s, at, at.x + static_cast<int64_t>(s.u) * GROUP * RUN, FAR_SEGMENTS * RUN,
               to + s.near_segments * RUN);
}

// Words of shared memory: two or more tiles, which also serve to exchange a warp's results, and for each
// quantity the prefixes of segments, and groups.
struct run_memory {
  float *tiles, *staging, *ahead, *groups;
  int tile, segments;
};

__device__ __forceinline__ run_memory memory_of(const runs &s, float *memory, int tiles, int staging) {
  run_memory m;
  m.segments = s.scanned + s.scan;
  m.tile = (s.near_segments + (s.pieces > 1 ? FAR_SEGMENTS : 0)) * RUN;
  m.tiles = memory, m.staging = memory + tiles * m.tile + threadIdx.x / 32 * 32 * RUN;
  m.ahead = memory + tiles * m.tile + staging, m.groups = m.ahead + 2 * m.segments;
  return m;
}

// The number of wanted quantities, sums before sums of squares, and the summand of the q-th for a sample.
template <bool SUMS, bool SQUARES> struct quantities {
  static constexpr int COUNT = SUMS + SQUARES;
  static __device__ __forceinline__ float of(int q, float v) { return SUMS && q == 0 ? v : times(v, v); }
};

// Samples from the beginning of a segment on, whose words are permuted by the bits `turn`.
template <int N>
__device__ __forceinline__ void read_segment(float (&x)[N], const float *tile, int segment, int turn = 0) {
#pragma unroll
  for (int k = 0; k < N / 4; k++) {
    const int first = 4 * quarter(4 * (segment + k / 4));
    const float4 q = *reinterpret_cast<const float4 *>(tile + (first ^ k % 4 * 4 ^ turn));
    x[4 * k] = q.x, x[4 * k + 1] = q.y, x[4 * k + 2] = q.z, x[4 * k + 3] = q.w;
  }
}

template <class S, int N>
__device__ __forceinline__ void quantity_of(int q, float (&y)[N], const float (&x)[N]) {
#pragma unroll
  for (int k = 0; k < N; k++) y[k] = S::of(q, x[k]);
}

// ---- whole segments -----------------------------------------------------------------

struct no_turn {
  __device__ __forceinline__ int operator()(int) const { return 0; }
};

// m.ahead[]: for each of `count` segments the sum before it in its group. m.groups[]: each group's sum, from
// `group` on. turn(segment): as in read_segment.
template <class S, class Turn = no_turn>
__device__ __forceinline__ void scan_segments(const runs &s, const run_memory &m, const float *tile,
                                              int count, int group, Turn turn = {}) {
  const int size = 1 << s.bits, place = threadIdx.x & (size - 1);
#pragma unroll 1
  for (int i = threadIdx.x; i < count; i += RUN_THREADS) { // warps as a whole
    const int segment = s.scanned + i, which = group + (i >> s.bits);
    float x[RUN], y[RUN], total[S::COUNT];
    read_segment(x, tile, segment, turn(segment));
#pragma unroll
    for (int q = 0; q < S::COUNT; q++) quantity_of<S>(q, y, x), total[q] = sum16(y);
#pragma unroll
    for (int by = 1; by < GROUP; by *= 2) {
      if (by >= size) break;
#pragma unroll
      for (int q = 0; q < S::COUNT; q++) {
        const float other = __shfl_up_sync(ALL, total[q], by);
        if (place >= by) total[q] = plus(other, total[q]);
      }
    }
#pragma unroll
    for (int q = 0; q < S::COUNT; q++) {
      const float before = __shfl_up_sync(ALL, total[q], 1);
      m.ahead[q * m.segments + segment] = place ? before : 0;
      if (place == size - 1 && which >= 0) m.groups[q * s.totals + which] = total[q];
    }
  }
}

// What lies between a thread's segment, whose sums are total[], and the one in which its windows end. A
// warp's segments are whole adjacent groups. If there are groups in between, a warp's 32 segments are one
// group.
template <class S>
__device__ __forceinline__ void sum_between(const runs &s, const run_memory &m, float (&total)[S::COUNT],
                                            int segment, int group) {
  const int size = 1 << s.bits, place = segment & (size - 1), mine = group + (segment >> s.bits);
#pragma unroll
  for (int by = 1; by < GROUP; by *= 2) {
    if (by >= size) break;
#pragma unroll
    for (int q = 0; q < S::COUNT; q++) {
      const float other = __shfl_down_sync(ALL, total[q], by);
      if (place + by < size) total[q] = plus(total[q], other);
    }
  }
#pragma unroll
  for (int q = 0; q < S::COUNT; q++) {
    const float *groups = m.groups + q * s.totals + mine;
    float rest = __shfl_down_sync(ALL, total[q], 1);
    if (place == size - 1) rest = 0;
    if (s.u > 1) {
      float middle = 0;
      for (int k = 1 + place; k < s.u; k += GROUP) middle = plus(middle, groups[k]);
#pragma unroll
      for (int by = GROUP / 2; by > 0; by /= 2) middle = plus(middle, __shfl_xor_sync(ALL, middle, by));
      rest = plus(rest, middle);
    }
    if (place + s.v >= size) rest = plus(rest, groups[s.u]);
    total[q] = plus(rest, m.ahead[q * m.segments + segment + s.apart]);
  }
}

// ---- windows ------------------------------------------------------------------------

template <class S> struct short_windows {
  template <int W>
  static __device__ __forceinline__ void run(float (&v)[S::COUNT][RUN], const float *const &tile,
                                             const int &segment, const int &turn) {
    float x[(RUN + W + 2) / 4 * 4], y[(RUN + W + 2) / 4 * 4];
    read_segment(x, tile, segment, turn);
#pragma unroll
    for (int q = 0; q < S::COUNT; q++) quantity_of<S>(q, y, x), slide_short<W>(v[q], y);
  }
};

// v: suffixes. The first window ends with sample W - 1 of `segment`; core[]: what lies between.
template <class S> struct long_windows {
  template <int W>
  static __device__ __forceinline__ void run(float (&v)[S::COUNT][RUN], const float (&core)[S::COUNT],
                                             const float *const &tile, const int &segment, const int &turn) {
    float x[(RUN + W + 2) / 4 * 4], y[(RUN + W + 2) / 4 * 4];
    read_segment(x, tile, segment, turn);
#pragma unroll
    for (int q = 0; q < S::COUNT; q++) quantity_of<S>(q, y, x), add_ends<W>(v[q], core[q], y);
  }
};

// The windows that begin in a thread's segment; turn: as in read_segment.
template <class S>
__device__ __forceinline__ void make_windows(const runs &s, const run_memory &m, float (&v)[S::COUNT][RUN],
                                             const float *tile, int segment, int group, int turn = 0) {
  if (s.x.segments == 0) {
    with_window<short_windows<S>>(s.x.reach + 1, v, tile, segment, turn);
    return;
  }
  float x[RUN], core[S::COUNT];
  read_segment(x, tile, segment, turn);
#pragma unroll
  for (int q = 0; q < S::COUNT; q++) quantity_of<S>(q, v[q], x), suffixes(v[q]), core[q] = v[q][0];
  if (s.x.segments > 1) {
    sum_between<S>(s, m, core, segment, group);
  } else {
#pragma unroll
    for (int q = 0; q < S::COUNT; q++) core[q] = 0;
  }
  const int end = segment + s.apart;
  with_window<long_windows<S>>(s.x.rest + 1, v, core, tile, end, turn);
}

// ---- out ----------------------------------------------------------------------------

__device__ __forceinline__ bool of_squares(int which) {
  return which == FC_WINSTAT_SUMSQ || which == FC_WINSTAT_RMS;
}

// Stores a warp's results of one statistic from shared memory: x is the column of the first, and lo .. hi - 1
// are needed.
inline __device__ __noinline__ void write_slowly(const pass<float> &p, char *to, int which,
                                                 const float *staging, int64_t x, int lo, int hi) {
#pragma unroll 1
  for (int i = lo + static_cast<int>(threadIdx.x % 32); i < hi; i += 32) {
    const float n = static_cast<float>(inside(p, 0, x + i)), sum = staging[4 * quarter(i / 4) + i % 4];
    const float v = which == FC_WINSTAT_MEAN  ? mean_of(sum, n, 1 / n)
                    : which == FC_WINSTAT_RMS ? root(sum / n)
                                              : sum;
    fc_dev_store_any<float>(to + i * p.out.stride[FC_AXIS_X], p.out.dtype, v, p.store, p.notes);
  }
}

__device__ __forceinline__ void write_run(const pass<float> &p, const runs &s, const run_place &at, int which,
                                          int slot, const float *staging, int64_t x) {
  const int lane = threadIdx.x % 32;
  const int lo = static_cast<int>(x < 0 ? -x : 0);
  const int64_t left = p.columns - x;
  const int hi = static_cast<int>(left < 32 * RUN ? left : 32 * RUN);
  char *to = p.out.at(at.n, at.y, x, slot * p.channels + at.c);
  const bool whole =
      !p.shrink || (x - p.before[0] >= p.lo[0] && x - p.before[0] + p.window[0] + (32 * RUN - 1) <= p.hi[0]);
  if (!s.floats || !whole || which == FC_WINSTAT_RMS) {
    write_slowly(p, to, which, staging, x, lo, hi);
    return;
  }
  float *floats = reinterpret_cast<float *>(to) + lane;
  const unsigned length = hi - lo;
  float v[RUN];
#pragma unroll
  for (int k = 0; k < RUN; k++) v[k] = staging[4 * quarter(8 * k + lane / 4) + lane % 4];
  if (which == FC_WINSTAT_MEAN) {
#pragma unroll
    for (int k = 0; k < RUN; k++) v[k] = mean_of(v[k], p.area, s.over);
  }
  if (length == 32 * RUN) {
#pragma unroll
    for (int k = 0; k < RUN; k++) floats[32 * k] = v[k];
    return;
  }
#pragma unroll
  for (int k = 0; k < RUN; k++)
    if (static_cast<unsigned>(32 * k + lane - lo) < length) floats[32 * k] = v[k];
}

// Sixteen sums per thread: exchanged within a warp, and written.
__device__ __forceinline__ void give_runs(const pass<float> &p, const runs &s, const run_place &at,
                                          const float (&v)[RUN], float *staging, bool squares) {
  const int lane = threadIdx.x % 32;
  __syncwarp();
#pragma unroll
  for (int k = 0; k < RUN / 4; k++)
    *reinterpret_cast<float4 *>(staging + 4 * quarter(4 * lane + k)) =
        make_float4(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
  __syncwarp();
  const int64_t x = at.x + p.before[0] + (threadIdx.x - lane) * RUN;
  for (int i = 0; i < p.n_stats; i++)
    if (of_squares(p.stat[i]) == squares) write_run(p, s, at, p.stat[i], p.slot[i], staging, x);
}

// ---- rows of contiguous words -----------------------------------------------------------

constexpr int LINE_AHEAD = 1; // tiles in flight
constexpr int TILE_SAMPLES = RUN_THREADS * RUN;

struct line_args {
  const char *in; // sample 0 of the first tile, per row
  char *out[2];   // and its result: that of the sum or mean, of the sum of squares
  int64_t row_in, row_out, plane_in, plane_out, frame_in, frame_out; // bytes
  int32_t columns, rows, planes;
  int32_t lo, hi, x;         // of the first tile: readable samples; column of its first window
  int32_t before;            // samples of windows before the start of a row
  int32_t quads;             // samples of tiles are aligned to 16 bytes
  ends edges;                // the value beyond, if there is nothing to read
  int32_t stat[2];           // which statistics
  int32_t shrink, inside[2]; // for windows that shrink, only columns inside[0] .. inside[1] - 1 count
  float area;
  runs s;
};

// A piece of a tile of which samples lo .. hi - 1 are readable, or that does not consist of quads: `from` is
// sample 0.
inline __device__ __noinline__ void line_copy_ends(const line_args &a, const float *from, float *to, int lo,
                                                   int hi, int count) {
  if (!a.quads && lo <= 0 && hi >= count) {
    const int i = threadIdx.x;
    float *here = to + 4 * quarter(i / 4) + i % 4; // at the same distance as the samples
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

// Sixteen results per thread are exchanged and written, four per lane if aligned to 16 bytes, else 32 at a
// time from multiples of 128 on: `x` is the column of the warp's first. PASSING: quads are not kept in the
// second-level cache.
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
  // Round k writes the words that are `turn` before 32 k: for some lanes from the previous 32 words.
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

// Converts sums over n samples to means, with the bits of a division: mean_of is the same except for the
// smallest.
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

// Converts the sum of a window that shrinks to a statistic; x is its column. Called rarely, and not inlined.
inline __device__ __noinline__ float line_shrunk(const line_args &a, float sum, int which, int x) {
  const int from = x - a.before, to = from + a.s.x.reach + 1;
  const float n =
      static_cast<float>((to < a.inside[1] ? to : a.inside[1]) - (from > a.inside[0] ? from : a.inside[0]));
  return which == FC_WINSTAT_MEAN ? mean_of(sum, n, 1 / n) : root(sum / n);
}

// Converts a thread's sums to statistics: for the windows of 16 columns from x on. Few of them shrink
// noticeably.
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
      // At the end of a row only as much as its windows cover, in whole groups.
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
    // The samples at the beginning of windows, if their ends are far, belong to the warp.
    float *staging = s.pieces > 1 ? now + (threadIdx.x & ~31u) * RUN : m.staging;
    if (SUMS) line_give(v[0], staging, sums, x, a.columns);
    if (SQUARES) line_give(v[S::COUNT - 1], staging, squares, x, a.columns);
  }
}

} // namespace winstat

#endif
