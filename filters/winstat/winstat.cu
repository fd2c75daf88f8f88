// SPDX-License-Identifier: MIT
//
// winstat.cu - sliding statistics on a CUDA device.
//
// choice.c says which kernel makes which statistic. Those for anything are here, and the launches.
//
// A window is put together from blocks whose borders are fixed in the signal (van Herk 1992, Gil and Werman
// 1993): the suffix of the block that it starts in, the whole blocks that it contains, and the prefix of the
// block that it ends in. Nothing is ever subtracted, so rounding errors do not accumulate.
//
//   along x   four outputs a lane (some variances: sixteen), from groups of up to 32 segments of as many
//   samples.
//             Windows of more than SLIDE_MAX columns: a warp per block of 256 positions, with a
//             table of whole blocks that is computed first.
//   along y   a thread per block of 16 rows of one column. The table has a second level, blocks
//             of 256, so that a window of 10,000 rows costs about 5 look-ups an output; windows
//             of up to 16 rows are read directly.
//
// Windows of several rows and columns use a table of the sums along x, computed for a band of rows at a time
// so that scratch memory stays bounded. Each quantity that the statistics need (sums, deviations, extremes)
// has its own kernels and its own read of the input; statistics of the same quantity share one.
#include "filters/winstat/box/cuts.h"
#include "filters/winstat/columns.cuh"
#include "filters/winstat/line_spread.cuh"
#include "filters/winstat/samples.cuh"
#include "filters/winstat/launch.cuh"

namespace winstat {

// ---- along x ---------------------------------------------------------------

// Stores a result of a row: in the table of sums along x, or as an output.
template <class P>
__device__ __forceinline__ void deliver(const pass<typename P::real> &p, P *table, const P &piece,
                                        int64_t line, int64_t n, int64_t y, int64_t x, int64_t c) {
  if (table)
    table[table_index(p, line, x, c)] = piece;
  else
    emit(p, piece, n, y, x, c);
}

// ---- along x: windows of up to SLIDE_MAX columns ----------------------------
//
// A lane computes the four outputs of one segment: positions 4 i .. 4 i + 3 of the signal. Their windows
// start in the four samples of segment i (in input positions). With q = (w - 1) / 4 and r = (w - 1) % 4,
// window j (0 .. 3) is
//
//  samples j .. 3 of segment i + segments i + 1 .. i + q - 1 + the next r + j + 1 samples (segment i + q on)
//
// (Of variances of floats in windows along rows alone, segments have sixteen samples, and the ends of windows
// are made by moments.cuh.)
//
// Segments are joined in groups of G, a power of two up to q and 32: the rest of the group of i, whole
// groups, the beginning of the group of i + q. All of it depends on positions in the signal alone, so the
// order of additions is the same for any view.
//
// A block computes a tile of segments in two steps. First it scans the groups that windows end in, and stores
// in shared memory, for each segment, the join of those before it in its group, and the join of each whole
// group. Then it joins these into windows. Samples are read again in the second step, from the caches. For
// long windows a block continues with the next tiles, so that the groups between are summed once.

// Columns per lane.
constexpr int FOUR = 4;
template <class P> constexpr int SEGMENT = FOUR;
template <> constexpr int SEGMENT<line_spread> = line_spread::SEGMENT;

// A tile's segments and one group more are one load of `batch` for each thread.
template <class P> struct slide_tile {
  static constexpr int threads = THREADS / (SEGMENT<P> / 4), batch = sizeof(P) <= 8    ? 4
                                                                     : sizeof(P) <= 16 ? 2
                                                                                       : 1;
  static constexpr int blocks = batch * (THREADS / threads); // per multiprocessor, at least
  static constexpr int segments = batch * threads - 32;
};

// x0: position of the first output, relative to the view, <= 0 and a multiple of SLIDE_ANCHOR in the signal.
// q = u G + v, G segments being a group.
struct slide {
  int64_t x0, stretches;                  // stretches of `tiles` tiles each
  int32_t q, r, group, bits, u, v, tiles; // the group has 1 << bits segments
  int32_t wide;                           // bytes of a segment that can be loaded at once; or 0
  fc_moments_shares shares;               // of variances
};

// The adjacent samples of a segment; codes of 8 and 16 bits as they lie in memory, so that nothing waits for
// a load before all are on their way.
template <class P> struct alignas(16) quad { typename P::sample at[SEGMENT<P>]; };

// One channel of one row, of any type: kernels for each would take three times as long to compile.
template <class P> struct row_reader {
  typedef typename P::sample S;
  static constexpr bool CODES = std::is_integral<S>::value;
  const char *data; // the sample at position 0 of the view
  int64_t lo, hi, step;
  fc_dev_map<typename P::real> map;
  int dtype, wide; // bytes of a segment, if it is loaded at once: samples are adjacent, and aligned; or 0

  __device__ __forceinline__ bool holds(int64_t from, int64_t to) const { return from >= lo && to <= hi; }

  __device__ __forceinline__ S sample(int64_t x) const {
    return load_sample(data + x * step, dtype, map, S());
  }

  // The samples of the segment that begins at x, all of which may be read.
  __device__ __forceinline__ quad<P> load(int64_t x) const {
    const char *from = data + x * step;
    quad<P> q;
    if (CODES && wide == 4) {
      *reinterpret_cast<int *>(&q) = *reinterpret_cast<const int *>(from);
    } else if (CODES && wide == 8) {
      *reinterpret_cast<int2 *>(&q) = *reinterpret_cast<const int2 *>(from);
    } else if (wide) {
      q = *reinterpret_cast<const quad<P> *>(from);
    } else {
#pragma unroll
      for (int k = 0; k < SEGMENT<P>; k++) q.at[k] = sample(x + k);
    }
    return q;
  }

  __device__ __forceinline__ S sample_of(const quad<P> &q, int k) const {
    if constexpr (CODES) {
      if (wide == 4) return (q.at[0] >> 8 * k & 255) - map.bias;
      const int half = q.at[k / 2] >> 16 * (k % 2);
      if (wide == 8) return dtype == FC_I16 ? static_cast<int16_t>(half) : (half & 65535) - map.bias;
    }
    return q.at[k];
  }
};

template <class P>
__device__ __forceinline__ row_reader<P> reader_of(const pass<typename P::real> &p, const slide &s, int64_t n,
                                                   int64_t y, int64_t c) {
  row_reader<P> r;
  r.data = p.in.at(n, y, 0, c), r.dtype = p.in.dtype;
  r.lo = p.lo[0], r.hi = y < p.lo[1] || y >= p.hi[1] ? p.lo[0] : p.hi[0];
  r.step = p.in.stride[FC_AXIS_X], r.map = p.load;
  const uint64_t start = reinterpret_cast<uintptr_t>(r.data) + (s.x0 - p.before[0]) * r.step;
  r.wide = r.step * SEGMENT<P> == s.wide && start % min(s.wide, 16) == 0 ? s.wide : 0;
  return r;
}

template <class P>
__device__ __forceinline__ void pieces_of(P (&e)[SEGMENT<P>], const quad<P> &q, const row_reader<P> &r) {
#pragma unroll
  for (int k = 0; k < SEGMENT<P>; k++) e[k] = P::of(r.sample_of(q, k));
}

// The pieces of a segment that is only partly readable.
template <class P>
__device__ __forceinline__ void pieces_checked(P (&e)[SEGMENT<P>], const row_reader<P> &r, int64_t x) {
#pragma unroll
  for (int k = 0; k < SEGMENT<P>; k++) e[k] = r.holds(x + k, x + k + 1) ? P::of(r.sample(x + k)) : P::none();
}

__device__ __forceinline__ line_spread total_of(const line_spread (&e)[FC_MOMENTS_RUN]) {
  fc_moments suffix[FC_MOMENTS_RUN];
  return begin_segment(suffix, e);
}
template <class P> __device__ __forceinline__ P total_of(const P (&e)[FOUR]) {
  return P::join(P::join(e[0], e[1]), P::join(e[2], e[3]));
}

// Totals of BATCH segments of a thread, as many segments apart as there are threads; x is the position of the
// warp's first segment.
template <class P, int BATCH>
__device__ __forceinline__ void load_totals(P (&total)[BATCH], const row_reader<P> &r, int64_t x, int lane) {
  constexpr int APART = slide_tile<P>::threads * SEGMENT<P>, WARP = 32 * SEGMENT<P>;
  const int64_t mine = x + lane * SEGMENT<P>;
  P e[SEGMENT<P>];
  if (r.holds(x, x + (BATCH - 1) * APART + WARP)) {
    quad<P> q[BATCH];
#pragma unroll
    for (int k = 0; k < BATCH; k++) q[k] = r.load(mine + k * APART);
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
      pieces_of(e, q[k], r);
      total[k] = total_of(e);
    }
    return;
  }
#pragma unroll
  for (int k = 0; k < BATCH; k++) {
    if (r.holds(x + k * APART, x + k * APART + WARP))
      pieces_of(e, r.load(mine + k * APART), r);
    else
      pieces_checked(e, r, mine + k * APART);
    total[k] = total_of(e);
  }
}

// Scans the groups first .. first + count - 1, counted from the group that begins at x0. groups[]: the join
// of each; ahead[]: for each segment but the first `skip`, the join of those before it in its group.
template <class P>
__device__ void scan_groups(const row_reader<P> &r, int bits, int64_t x0, int first, int count, int skip,
                            P *ahead, P *groups) {
  constexpr int BATCH = slide_tile<P>::batch, APART = slide_tile<P>::threads;
  const int group = 1 << bits, lane = threadIdx.x % 32, place = lane & (group - 1), segments = count << bits;
  const int64_t start = x0 + static_cast<int64_t>(first) * group * SEGMENT<P>;
  for (int base = threadIdx.x - lane; base < segments; base += APART * BATCH) {
    const int64_t x = start + static_cast<int64_t>(base) * SEGMENT<P>;
    P total[BATCH];
    load_totals<P, BATCH>(total, r, x, lane);
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
      for (int by = 1; by < group; by *= 2) {
        const P other = shuffle<UP>(total[k], by);
        if (place >= by) total[k] = P::join(other, total[k]);
      }
      const P before = shuffle<UP>(total[k], 1);
      const int i = base + k * APART + lane;
      if (i >= skip && i < segments) ahead[i - skip] = place ? before : P::none();
      if (place == group - 1 && i < segments) groups[first + (i >> bits)] = total[k];
    }
  }
}

// Stores the results of a segment, for outputs from x on; those outside the view are dropped.
template <class P>
__device__ __forceinline__ void deliver_segment(const pass<typename P::real> &p, P *table,
                                                const P (&e)[SEGMENT<P>], int64_t line, int64_t n, int64_t y,
                                                int64_t x, int64_t c) {
  typedef typename P::real R;
  if (table) {
#pragma unroll
    for (int k = 0; k < SEGMENT<P>; k++)
      if (x + k >= 0 && x + k < p.columns) table[table_index(p, line, x + k, c)] = e[k];
    return;
  }
  const bool all =
      x >= 0 && x + SEGMENT<P> <= p.columns && p.out.dtype == FC_F32 && p.out.stride[FC_AXIS_X] == 4;
  const R rows = static_cast<R>(inside(p, 1, y));
  R count[SEGMENT<P>];
#pragma unroll
  for (int k = 0; k < SEGMENT<P>; k++)
    count[k] = k > 0 && !p.shrink ? count[0] : static_cast<R>(inside(p, 0, x + k)) * rows;
  for (int s = 0; s < p.n_stats; s++) {
    char *to = p.out.at(n, y, x, p.slot[s] * p.channels + c);
    R v[SEGMENT<P>];
#pragma unroll
    for (int k = 0; k < SEGMENT<P>; k++) v[k] = stat_of(e[k], p.stat[s], count[k], p.load.scale);
    if (all && reinterpret_cast<uintptr_t>(to) % 16 == 0) {
#pragma unroll
      for (int k = 0; k < SEGMENT<P>; k += 4)
        reinterpret_cast<float4 *>(to)[k / 4] =
            make_float4(static_cast<float>(v[k]), static_cast<float>(v[k + 1]), static_cast<float>(v[k + 2]),
                        static_cast<float>(v[k + 3]));
      continue;
    }
#pragma unroll
    for (int k = 0; k < SEGMENT<P>; k++)
      if (x + k >= 0 && x + k < p.columns)
        fc_dev_store_any<R>(to + k * p.out.stride[FC_AXIS_X], p.out.dtype, v[k], p.store, p.notes);
  }
}

// Windows of up to four samples: they start in segment a and end there or in b, the next one.
template <class P>
__device__ __forceinline__ void join_short(P (&result)[FOUR], const P (&a)[FOUR], const P (&b)[FOUR],
                                           int reach) {
#pragma unroll
  for (int j = 0; j < FOUR; j++) {
    result[j] = a[j];
#pragma unroll
    for (int k = 1; k < FOUR; k++)
      if (k <= reach) result[j] = P::join(result[j], j + k < FOUR ? a[j + k] : b[j + k - FOUR]);
  }
}

// Joins suffix[], `between` and the ends of the windows. Window 0 ends with sample r of segment a; the others
// end up to three samples later, in a or in b, the next segment.
template <class P>
__device__ __forceinline__ void join_ends(P (&suffix)[FOUR], P between, const P (&a)[FOUR],
                                          const P (&b)[FOUR], int r) {
  P next[FOUR]; // the samples that outputs 1, 2 and 3 add
#pragma unroll
  for (int k = 0; k < FOUR; k++) {
    if (k <= r) between = P::join(between, a[k]);
    next[k] = b[k];
  }
#pragma unroll
  for (int k = 0; k + 1 < FOUR; k++) {
    const P own[FOUR] = {a[(k + 1) % FOUR], k + 2 < FOUR ? a[(k + 2) % FOUR] : b[(k + 2) % FOUR],
                         k + 3 < FOUR ? a[(k + 3) % FOUR] : b[(k + 3) % FOUR], b[k]};
    next[k] = r == 0 ? own[0] : r == 1 ? own[1] : r == 2 ? own[2] : own[3];
  }
#pragma unroll
  for (int j = 0; j < FOUR; j++) {
    suffix[j] = P::join(suffix[j], between);
    if (j + 1 < FOUR) between = P::join(between, next[j]);
  }
}

// Joins what lies between segment i and the one that its windows end in: the rest of its group, whole groups
// and the beginning of the last group. Every lane of the warp takes part.
template <class P>
__device__ __forceinline__ P join_between(const slide &s, P total, int i, int lane, int first_group, P ahead,
                                          const P *groups) {
  const int place = lane & (s.group - 1), mine = first_group + (i >> s.bits);
  for (int by = 1; by < s.group; by *= 2) {
    const P other = shuffle<DOWN>(total, by);
    if (place + by < s.group) total = P::join(total, other);
  }
  P rest = shuffle<DOWN>(total, 1);
  if (place == s.group - 1) rest = P::none();
  if (s.u > 1) {
    P middle = P::none();
#pragma unroll 1
    for (int k = 1 + lane; k < s.u; k += 32) middle = P::join(middle, groups[mine + k]);
    rest = P::join(rest, join_lanes(middle, lane));
  }
  if (place + s.v >= s.group) rest = P::join(rest, groups[mine + s.u]);
  return P::join(rest, ahead);
}

// e: the samples of a lane's segment at position `from`, and then the windows that begin with them. `between`
// makes what lies between them and the segment in which they end from the piece of the lane's segment.
template <class Between>
__device__ __forceinline__ void windows_of(line_spread (&e)[FC_MOMENTS_RUN], const slide &s,
                                           const row_reader<line_spread> &r, int64_t from, bool inside,
                                           Between between) {
  fc_moments suffix[FC_MOMENTS_RUN];
  const line_spread own = begin_segment(suffix, e), core = between(own);
  const int64_t end = from + s.q * static_cast<int64_t>(FC_MOMENTS_RUN);
  fc_moments_windows(
      s.shares, suffix, own.p, {(core.p - own.p) + core.d, core.m}, (s.q - 1) * FC_MOMENTS_RUN, s.r + 1,
      [&](int k) {
        const bool there = inside || r.holds(end + k, end + k + 1);
        return there ? line_spread::of(r.sample(end + k)).p : 0;
      },
      [&](int k, float, const fc_moments &m) { e[k].m = m.squares; });
}

template <class P, class Between>
__device__ __forceinline__ void windows_of(P (&e)[SEGMENT<P>], const slide &s, const row_reader<P> &r,
                                           int64_t from, bool inside, Between between) {
  const int64_t end = from + s.q * static_cast<int64_t>(SEGMENT<P>);
  P a[SEGMENT<P>], b[SEGMENT<P>];
  if (inside) {
    const quad<P> q0 = r.load(end), q1 = r.load(end + SEGMENT<P>);
    pieces_of(a, q0, r), pieces_of(b, q1, r);
  } else {
    pieces_checked(a, r, end), pieces_checked(b, r, end + SEGMENT<P>);
  }
  if (s.q == 0) {
    P result[SEGMENT<P>];
    join_short(result, e, b, s.r);
#pragma unroll
    for (int k = 0; k < SEGMENT<P>; k++) e[k] = result[k];
    return;
  }
#pragma unroll
  for (int k = SEGMENT<P> - 2; k >= 0; k--) e[k] = P::join(e[k], e[k + 1]);
  join_ends(e, between(e[0]), a, b, s.r);
}

// The outputs of one tile: `count` segments from output x0 on; the first segment's group is
// groups[first_group].
template <class P>
__device__ void slide_outputs(const pass<typename P::real> &p, const slide &s, const row_reader<P> &r,
                              int64_t line, int64_t n, int64_t y, int64_t x0, int64_t c, int count,
                              int first_group, const P *ahead, const P *groups, P *table) {
  constexpr int WARP = 32 * SEGMENT<P>;
  const int lane = threadIdx.x % 32;
  for (int base = threadIdx.x - lane; base < count; base += slide_tile<P>::threads) {
    const int i = base + lane;
    const int64_t x = x0 + static_cast<int64_t>(i) * SEGMENT<P>, from = x - p.before[0];
    const int64_t first = from - lane * SEGMENT<P>, far = s.q * static_cast<int64_t>(SEGMENT<P>);
    P e[SEGMENT<P>];
    const bool inside = r.holds(first, first + far + WARP + SEGMENT<P>);
    if (inside)
      pieces_of(e, r.load(from), r);
    else
      pieces_checked(e, r, from);
    windows_of(e, s, r, from, inside, [&](const P &own) {
      const P begun = i < count ? ahead[i + s.v] : P::none();
      return join_between(s, own, i, lane, first_group, begun, groups);
    });
    if (i < count) deliver_segment(p, table, e, line, n, y, x, c); // in one place: most of the kernel's code
  }
}

template <class P>
__global__ void __launch_bounds__(slide_tile<P>::threads, slide_tile<P>::blocks)
    row_slide(pass<typename P::real> p, slide s, P *table) {
  constexpr int TILE = slide_tile<P>::segments;
  extern __shared__ __align__(16) unsigned char memory[];
  P *ahead = reinterpret_cast<P *>(memory), *groups = ahead + TILE + 32;
  const int64_t lines = table_rows(p), count = p.frames * lines;
  for (int64_t line = blockIdx.y; line < count; line += gridDim.y) {
    const int64_t frame = line / lines, n = p.n0 + frame, y = p.y0 - p.before[1] + (line - frame * lines);
    for (int64_t item = blockIdx.x; item < s.stretches * p.channels; item += gridDim.x) {
      const int64_t stretch = item / p.channels, c = item - stretch * p.channels;
      const row_reader<P> r = reader_of<P>(p, s, n, y, c);
      const int64_t begin = s.x0 + stretch * s.tiles * TILE * SEGMENT<P>;
      for (int t = 0; t < s.tiles; t++) {
        const int64_t x = begin + static_cast<int64_t>(t) * TILE * SEGMENT<P>;
        const int64_t wanted = (p.columns - x + SEGMENT<P> - 1) / SEGMENT<P>;
        if (wanted <= 0) break;
        const int segments = wanted < TILE ? static_cast<int>(wanted) : TILE, first = t * (TILE >> s.bits);
        // In the first tile also the groups that no window ends in.
        const int extra = t == 0 ? s.u - 1 : 0, ends = ((segments - 1) >> s.bits) + 2;
        if (s.q > 0)
          scan_groups<P>(r, s.bits, begin - p.before[0], first + s.u - extra, ends + extra, extra << s.bits,
                         ahead, groups);
        __syncthreads();
        slide_outputs<P>(p, s, r, line, n, y, x, c, segments, first, ahead, groups, table);
        __syncthreads();
      }
    }
  }
}

// ---- along x: longer windows -------------------------------------------------

// Blocks along x. `first`: the block, counted from position 0 of the signal, in which the window of column 0
// starts. Windows start in the first `starts` blocks; the table has `count` blocks for each line and channel,
// the others being contained in windows as a whole.
struct blocks {
  int64_t first, starts, count;
};

// Loads 32 K pieces from position x on; each lane gets K adjacent ones.
template <class P, int K>
__device__ __forceinline__ void load_pieces(const pass<typename P::real> &p, P (&v)[K], P *shared, int lane,
                                            int64_t n, int64_t y, int64_t x, int64_t c) {
  __syncwarp();
#pragma unroll
  for (int k = 0; k < K; k++)
    shared[staging<K>::at(k * 32 + lane)] = piece_at<P>(p, n, y, x + k * 32 + lane, c);
  __syncwarp();
#pragma unroll
  for (int k = 0; k < K; k++) v[k] = shared[staging<K>::at(lane * K + k)];
}

// Computes the table of whole blocks, a warp per block.
template <class P>
__global__ void __launch_bounds__(32 * WARPS) row_blocks(pass<typename P::real> p, blocks b, P *whole) {
  constexpr int K = ROW_LANE;
  const int64_t lines = table_rows(p), lane = threadIdx.x % 32, size = 32 * K;
  const int64_t block = static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / 32;
  if (block >= b.count) return;
  const int64_t x = (b.first + block) * size - p.origin[0];
  for (int64_t line = blockIdx.y; line < p.frames * lines; line += gridDim.y) {
    int64_t frame = line / lines, n = p.n0 + frame, y = p.y0 - p.before[1] + (line - frame * lines);
    for (int64_t c = 0; c < p.channels; c++) {
      P sum = piece_at<P>(p, n, y, x + lane, c);
      for (int k = 1; k < K; k++) sum = P::join(sum, piece_at<P>(p, n, y, x + k * 32 + lane, c));
      sum = join_lanes(sum, static_cast<int>(lane));
      if (lane == 0) whole[(line * p.channels + c) * b.count + block] = sum;
    }
  }
}

// The ends of the windows that start in one block of a line: v[k] becomes the prefix, within its own block,
// up to the last sample of window lane * K + k.
template <class P, int K>
__device__ __forceinline__ void scan_ends(const pass<typename P::real> &p, P (&v)[K], P *shared, int lane,
                                          int64_t n, int64_t y, int64_t x, int64_t c) {
  const int64_t size = 32 * K, reach = p.window[0] - 1, rest = reach % size;
  P ahead = P::none();
  for (int64_t i = lane; i < rest; i += 32)
    ahead = P::join(ahead, piece_at<P>(p, n, y, x + reach - rest + i, c));
  ahead = join_lanes(ahead, lane);
  load_pieces<P, K>(p, v, shared, lane, n, y, x + reach, c);
  scan_prefixes<P, K>(v, lane, rest ? size - rest : 0, ahead);
}

// The windows of more than 32 K positions, a warp per block in which windows start.
template <class P>
__global__ void __launch_bounds__(32 * WARPS)
    row_windows(pass<typename P::real> p, blocks b, const P *whole, P *table) {
  constexpr int K = ROW_LANE;
  __shared__ __align__(16) unsigned char memory[WARPS * staging<K>::size * sizeof(P)];
  P *shared = reinterpret_cast<P *>(memory) + threadIdx.x / 32 * staging<K>::size;
  const int lane = threadIdx.x % 32;
  const int64_t lines = table_rows(p), size = 32 * K, reach = p.window[0] - 1, between = reach / size;
  const int64_t block = static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / 32;
  if (block >= b.starts) return;
  const int64_t x = (b.first + block) * size - p.origin[0];
  for (int64_t line = blockIdx.y; line < p.frames * lines; line += gridDim.y) {
    int64_t frame = line / lines, n = p.n0 + frame, y = p.y0 - p.before[1] + (line - frame * lines);
    for (int64_t c = 0; c < p.channels; c++) {
      const P *held = whole + (line * p.channels + c) * b.count + block;
      P v[K], ends[K], middle = P::none();
      load_pieces<P, K>(p, v, shared, lane, n, y, x, c);
      scan_suffixes<P, K>(v, lane);
      for (int64_t i = 1 + lane; i < between; i += 32) middle = P::join(middle, held[i]);
      middle = join_lanes(middle, lane);
      const P longer = P::join(middle, held[between]);
      scan_ends<P, K>(p, ends, shared, lane, n, y, x, c);
      __syncwarp();
#pragma unroll
      for (int k = 0; k < K; k++) {
        int i = lane * K + k;
        bool second = reach % size != 0 && i >= size - reach % size;
        P head = P::join(v[k], second ? longer : middle);
        shared[staging<K>::at(i)] = P::join(head, ends[k]);
      }
      __syncwarp();
#pragma unroll 1
      for (int k = 0; k < K; k++) {
        int64_t i = k * 32 + lane, at = x + i + p.before[0];
        if (at >= 0 && at < p.columns)
          deliver(p, table, shared[staging<K>::at(static_cast<int>(i))], line, n, y, at, c);
      }
    }
  }
}

// ---- host: memory ----------------------------------------------------------

struct shape {
  int64_t columns, rows, channels, frames;
};

// Scratch memory of a pass over so many rows of so many frames, in pieces of `size` bytes.
struct needs {
  int64_t table, row_whole, column_low, column_high; // pieces
  int64_t pieces() const { return table + row_whole + column_low + column_high; }
};

// An upper bound for any position of the view in the signal.
static needs needs_of(const fc_winstat *w, const shape &s, int64_t frames, int64_t rows) {
  needs n = {0, 0, 0, 0};
  const int64_t wx = w->before[0] + w->after[0] + 1, wy = w->before[1] + w->after[1] + 1;
  const int64_t lines = frames * (rows + wy - 1), cells = s.columns * s.channels;
  if (wx > 1 && wy > 1) n.table = lines * cells;
  if (wx > SLIDE_MAX) n.row_whole = lines * s.channels * ((s.columns + wx) / ROW_BLOCK + 3);
  if (wy > COLUMN_DIRECT) {
    int64_t blocks = (rows + wy) / COLUMN_BLOCK + 3;
    n.column_low = frames * cells * blocks;
    n.column_high = frames * cells * (blocks / COLUMN_BLOCK + 2);
  }
  return n;
}

// How much a pass processes: as many whole frames as the budget allows, else a band of rows of one frame, at
// least as high as the window so that the halo does not cost more than the band.
struct cut {
  int64_t frames, rows;
};

static cut cut_of(const fc_winstat *w, const shape &s, int64_t size) {
  const int64_t wy = w->before[1] + w->after[1] + 1;
  const int64_t frame = needs_of(w, s, 1, s.rows).pieces() * size;
  cut c = {s.frames, s.rows};
  if (frame == 0) return c;
  if (c.frames > BUDGET / frame) c.frames = BUDGET / frame;
  if (c.frames > 0) return c;
  c.frames = 1;
  while (c.rows > wy && needs_of(w, s, 1, c.rows).pieces() * size > BUDGET)
    c.rows = c.rows / 2 > wy ? c.rows / 2 : wy;
  return c;
}

// Scratch memory that is enough for the passes of cut_of. Monotonic: never less for a larger shape.
static int64_t scratch_of(const fc_winstat *w, const shape &s, int64_t size) {
  const int64_t wy = w->before[1] + w->after[1] + 1;
  const int64_t all = needs_of(w, s, s.frames, s.rows).pieces() * size;
  const int64_t least = needs_of(w, s, 1, s.rows < wy ? s.rows : wy).pieces() * size;
  return all <= BUDGET ? all : least > BUDGET ? least : BUDGET;
}

static shape shape_of(const fc_view *v) {
  return {v->shape[FC_AXIS_X], v->shape[FC_AXIS_Y], v->shape[FC_AXIS_C], v->shape[FC_AXIS_N]};
}

// ---- host: launching -------------------------------------------------------

// Parameters of row_slide. `tiles` changes the distribution of the work only, not the results.
template <class P> static slide slide_of(const pass<typename P::real> &p, int64_t lines) {
  slide s = {};
  const int64_t reach = p.window[0] - 1, tile = slide_tile<P>::segments * SEGMENT<P>;
  s.x0 = -floor_mod(p.origin[0], SLIDE_ANCHOR);
  s.q = static_cast<int32_t>(reach / SEGMENT<P>), s.r = static_cast<int32_t>(reach % SEGMENT<P>);
  s.group = 1;
  while (s.group < 32 && 2 * s.group <= s.q) s.group *= 2, s.bits++;
  s.u = s.q / s.group, s.v = s.q % s.group;
  const int64_t tiles = (p.columns - s.x0 + tile - 1) / tile;
  int64_t each = s.u > 1 && s.group == 32 ? 4 * p.window[0] / tile + 1 : 1;
  // Filling the device with blocks has priority.
  const int64_t spare = lines * p.channels * tiles / SLIDE_BLOCKS;
  if (each > spare) each = spare;
  s.tiles = static_cast<int32_t>(each < 1             ? 1
                                 : each > SLIDE_TILES ? SLIDE_TILES
                                 : each > tiles       ? tiles
                                                      : each);
  s.shares = fc_moments_shares_of(p.window[0]);
  s.stretches = (tiles + s.tiles - 1) / s.tiles;
  const int32_t size = static_cast<int32_t>(fc_dtype_size(p.in.dtype));
  s.wide = !fc_dtype_is_float(p.in.dtype) || size == sizeof(typename P::sample) ? SEGMENT<P> * size : 0;
  return s;
}

template <class P>
static void launch_slide(const pass<typename P::real> &p, int64_t lines, P *table, cudaStream_t stream) {
  const slide s = slide_of<P>(p, lines);
  const int64_t tile = slide_tile<P>::segments, pieces = tile + 32 + s.u + s.tiles * (tile / s.group) + 2;
  const dim3 grid(fc_blocks(s.stretches * p.channels, 1, INT32_MAX), fc_blocks(lines, 1, GRID_Y));
  row_slide<P><<<grid, slide_tile<P>::threads, pieces * sizeof(P), stream>>>(p, s, table);
}

// Pieces that no others are made of than those of windows along rows, in one pass (is_line).
template <class P> constexpr bool ALONG = std::is_same<P, line_spread>::value;

// Windows longer than one pass takes.
template <class P>
static void launch_blocks(const pass<typename P::real> &p, unsigned y, P *whole, P *table,
                          cudaStream_t stream) {
  const int64_t start = p.origin[0] - p.before[0];
  blocks b;
  b.first = floor_div(start, ROW_BLOCK);
  b.starts = floor_div(start + p.columns - 1, ROW_BLOCK) - b.first + 1;
  b.count = b.starts + (p.window[0] - 1) / ROW_BLOCK;
  row_blocks<P><<<dim3(fc_blocks(b.count, WARPS, INT32_MAX), y), 32 * WARPS, 0, stream>>>(p, b, whole);
  row_windows<P>
      <<<dim3(fc_blocks(b.starts, WARPS, INT32_MAX), y), 32 * WARPS, 0, stream>>>(p, b, whole, table);
}

template <class P>
static fc_status launch_rows(const pass<typename P::real> &p, P *whole, P *table, cudaStream_t stream) {
  const int64_t lines = p.frames * (p.rows + p.window[1] - 1), wx = p.window[0];
  const unsigned y = fc_blocks(lines, 1, GRID_Y);
  if (ALONG<P> || wx <= SLIDE_MAX) {
    launch_slide<P>(p, lines, table, stream);
    return fc_launch_status();
  }
  if constexpr (!ALONG<P>) launch_blocks<P>(p, y, whole, table, stream);
  return fc_launch_status();
}

template <class P>
static void launch_columns(const pass<typename P::real> &p, P *low, P *high, const P *table,
                           cudaStream_t stream) {
  const int64_t start = p.origin[1] + p.y0 - p.before[1];
  const unsigned x = fc_blocks(p.columns * p.channels, THREADS, INT32_MAX);
  if (p.window[1] <= COLUMN_DIRECT) {
    const dim3 grid(x, fc_blocks(p.frames * p.rows, 1, GRID_Y));
    if (table)
      column_of_rows<P><<<grid, THREADS, 0, stream>>>(p, table);
    else
      column_direct<P><<<grid, THREADS, 0, stream>>>(p);
    return;
  }
  column_tables<P> t;
  t.low = low, t.high = high;
  t.first = floor_div(start, COLUMN_BLOCK);
  t.starts = floor_div(start + p.rows - 1, COLUMN_BLOCK) - t.first + 1;
  t.count = t.starts + (p.window[1] - 1) / COLUMN_BLOCK;
  t.first_high = floor_div(t.first, COLUMN_BLOCK);
  t.count_high = floor_div(t.first + t.count - 1, COLUMN_BLOCK) - t.first_high + 1;
  column_blocks<P><<<dim3(x, fc_blocks(p.frames * t.count, 1, GRID_Y)), THREADS, 0, stream>>>(p, t, table);
  column_blocks_high<P><<<dim3(x, fc_blocks(p.frames * t.count_high, 1, GRID_Y)), THREADS, 0, stream>>>(p, t);
  column_windows<P><<<dim3(x, fc_blocks(p.frames * t.starts, 1, GRID_Y)), THREADS, 0, stream>>>(p, t, table);
}

// The part of the arguments that is the same for all passes. Launches need no check of grid sizes: fc_blocks
// clamps them to the allowed maximum, and 2^31 - 1 blocks along x always suffice for the columns of all
// channels.
template <typename R> static pass<R> pass_of(const call &c) {
  const fc_winstat *w = c.w;
  const fc_view *in = c.in, *out = c.out;
  pass<R> p;
  static const int axes[2] = {FC_AXIS_X, FC_AXIS_Y};
  p.in = fc_dev_view_of(in), p.out = fc_dev_view_of(out);
  p.load = fc_dev_map_of<R>(in->kind, in->dtype), p.store = fc_dev_map_of<R>(out->kind, out->dtype);
  for (int a = 0; a < 2; a++) {
    p.before[a] = w->before[a], p.window[a] = w->before[a] + w->after[a] + 1;
    const fc_winstat_span s = fc_winstat_read(w, in, nullptr, a, axes[a]);
    p.origin[a] = in->origin[axes[a]], p.lo[a] = s.lo, p.hi[a] = s.hi;
  }
  p.columns = in->shape[FC_AXIS_X], p.channels = in->shape[FC_AXIS_C];
  p.area = static_cast<R>(p.window[0]) * static_cast<R>(p.window[1]);
  p.shrink = w->shrink, p.n_stats = 0, p.notes = c.notes, p.edges = ends_of(c.edges);
  return p;
}

template <typename R> static void ask_for(pass<R> *p, const fc_winstat *w, unsigned mask) {
  for (int i = 0; i < w->n_stats; i++)
    if (mask & 1u << w->stat[i]) p->stat[p->n_stats] = w->stat[i], p->slot[p->n_stats++] = i;
}

// Computes those of the statistics that are in `mask`, if any, by pieces P.
template <class P> static fc_status run(const call &call, unsigned mask) {
  const fc_winstat *w = call.w;
  const shape s = shape_of(call.in);
  const cut c = cut_of(w, s, sizeof(P));
  pass<typename P::real> p = pass_of<typename P::real>(call);
  ask_for(&p, w, mask);
  if (p.n_stats == 0) return FC_OK;
  for (p.n0 = 0; p.n0 < s.frames; p.n0 += c.frames)
    for (p.y0 = 0; p.y0 < s.rows; p.y0 += c.rows) {
      p.frames = s.frames - p.n0 < c.frames ? s.frames - p.n0 : c.frames;
      p.rows = s.rows - p.y0 < c.rows ? s.rows - p.y0 : c.rows;
      const needs n = needs_of(w, s, p.frames, p.rows);
      P *table = n.table ? static_cast<P *>(call.scratch) : nullptr;
      P *whole = static_cast<P *>(call.scratch) + n.table, *low = whole + n.row_whole,
        *high = low + n.column_low;
      fc_status status = FC_OK;
      if (p.window[1] == 1 || p.window[0] > 1) status = launch_rows<P>(p, whole, table, call.stream);
      if constexpr (!ALONG<P>)
        if (status == FC_OK && p.window[1] > 1) {
          launch_columns<P>(p, low, high, table, call.stream);
          status = fc_launch_status();
        }
      if (status != FC_OK) return status;
    }
  return FC_OK;
}

constexpr unsigned TOTALS =
    1u << FC_WINSTAT_SUM | 1u << FC_WINSTAT_SUMSQ | 1u << FC_WINSTAT_MEAN | 1u << FC_WINSTAT_RMS;
constexpr unsigned DEVIATIONS = 1u << FC_WINSTAT_VAR | 1u << FC_WINSTAT_STD;
constexpr unsigned EXTREMES = 1u << FC_WINSTAT_MIN | 1u << FC_WINSTAT_MAX;

// Whether composed kernels could make the variances, too: as they do, from segments of sixteen.
static bool is_line(const fc_winstat *w) {
  const int64_t across = fc_winstat_across(w);
  return fc_winstat_tall(w) == 1 && !w->shrink && across > FC_WINSTAT_SPREAD_MOST && across <= SLIDE_MAX;
}

template <typename F> static fc_status run_deviations(const call &c, unsigned mask) {
  if constexpr (std::is_same<F, float>::value)
    if (is_line(c.w)) return run<line_spread>(c, mask);
  return run<spread<F>>(c, mask);
}

template <typename F> static fc_status run_values(const call &c, unsigned left) {
  fc_status status = run<sums<F>>(c, TOTALS & left);
  if (status == FC_OK) status = run_deviations<F>(c, DEVIATIONS & left);
  if (status == FC_OK) status = run<range<F>>(c, EXTREMES & left);
  return status;
}

static fc_status run_codes(const call &c, unsigned left) {
  const unsigned exact = (TOTALS | DEVIATIONS) & left;
  fc_status status = c.in->dtype == FC_I32 ? run<wide_codes>(c, exact) : run<codes>(c, exact);
  if (status == FC_OK) status = run<code_range>(c, EXTREMES & left);
  return status;
}

static fc_status run_any(const call &c, unsigned mask) {
  if (!fc_dtype_is_float(c.in->dtype)) return run_codes(c, mask);
  return fc_dispatch_compute(c.w->compute, [&](auto f) { return run_values<decltype(f)>(c, mask); });
}

static fc_status run_floats(const call &c, fc_winstat_kernel kernel, unsigned mask) {
  pass<float> p = pass_of<float>(c);
  ask_for(&p, c.w, mask);
  p.n0 = p.y0 = 0, p.frames = c.in->shape[FC_AXIS_N], p.rows = c.in->shape[FC_AXIS_Y];
  return kernel == FC_WINSTAT_BY_SUMS ? run_sums(p, c.stream) : run_runs(p, kernel, c.stream);
}

// With x and y exchanged, once more where they are.
template <class Run> static fc_status run_turned(call c, Run run) {
  const fc_winstat w = fc_winstat_turned(c.w);
  const fc_view in = fc_winstat_turned_view(c.in), out = fc_winstat_turned_view(c.out);
  c.w = &w, c.in = &in, c.out = &out, c.turned = !c.turned;
  return run(c);
}

// ---- choosing ---------------------------------------------------------------

// Kernels that make one statistic; NULL: those that make several at once.
typedef fc_status (*launcher)(const call &c, int which);
static launcher launcher_of(fc_winstat_kernel kernel) {
  switch (kernel) {
  case FC_WINSTAT_BY_DEVIATION: return run_spread_bytes;
  case FC_WINSTAT_BY_SPREAD: return run_spread;
  case FC_WINSTAT_BY_PEAK: return run_peak;
  default: return nullptr;
  }
}

// Launches kernels for the statistics of which it is the choice.
static fc_status run_kernel(const call &c, fc_winstat_kernel kernel, const fc_winstat_kernel *chosen) {
  unsigned mask = 0;
  for (int i = 0; i < c.w->n_stats; i++) {
    if (chosen[i] != kernel) continue;
    mask |= 1u << c.w->stat[i];
    const launcher one = launcher_of(kernel);
    const fc_status status = one ? one(c, i) : FC_OK;
    if (status != FC_OK) return status;
  }
  if (mask == 0 || launcher_of(kernel)) return FC_OK;
  if (kernel == FC_WINSTAT_BY_SUMS && c.turned)
    return run_turned(c, [&](const call &back) { return run_floats(back, kernel, mask); });
  return kernel == FC_WINSTAT_BY_STRIPS ? run_strips(c, mask)
         : kernel == FC_WINSTAT_BY_ANY  ? run_any(c, mask)
                                        : run_floats(c, kernel, mask);
}

static fc_status chip_of(fc_winstat_chip *chip) {
  int device = 0, block = 0, all = 0, reserved = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&block, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock, device) != cudaSuccess) {
    const fc_status status = fc_launch_status(); // by the error, which is forgotten
    return status == FC_OK ? FC_UNSUPPORTED : status;
  }
  *chip = {block, all, reserved};
  return FC_OK;
}

// `whole`: the border is not the host's.
static fc_status run_chosen(const call &c, bool whole) {
  fc_winstat_case k = {c.w, c.in, c.out, c.edges, whole, c.turned, {}};
  fc_winstat_kernel chosen[FC_WINSTAT_STATS];
  if (fc_view_count(c.out) == 0) return FC_OK;
  fc_status status = chip_of(&k.chip);
  if (status != FC_OK) return status;
  fc_winstat_choose(&k, chosen);
  if (chosen[0] == FC_WINSTAT_BY_HOST) return FC_UNSUPPORTED;
  for (int kernel = 0; kernel < FC_WINSTAT_BY_HOST && status == FC_OK; kernel++)
    status = run_kernel(c, static_cast<fc_winstat_kernel>(kernel), chosen);
  return status;
}

// ---- images of a single column ----------------------------------------------

// run_chosen with x and y exchanged where fc_winstat_stands says so.
static fc_status run_lying(const call &c, bool whole) {
  if (!fc_winstat_stands(c.w, c.in)) return run_chosen(c, whole);
  return run_turned(c, [&](const call &lying) { return run_chosen(lying, whole); });
}

} // namespace winstat

extern "C" size_t fc_winstat_cuda_scratch(const fc_winstat *w, const fc_view *in) {
  // Enough for the largest piece, that of the variance in double.
  const bool stands = fc_winstat_stands(w, in);
  const fc_winstat along = stands ? fc_winstat_turned(w) : *w;
  const fc_view row = stands ? fc_winstat_turned_view(in) : *in;
  return static_cast<size_t>(winstat::scratch_of(&along, winstat::shape_of(&row), 32));
}

extern "C" fc_status fc_winstat_cuda(const fc_winstat *w, const fc_view *in, const fc_view *out,
                                     void *scratch, uint32_t *notes, void *stream) {
  return winstat::run_lying({w, in, nullptr, out, scratch, notes, static_cast<cudaStream_t>(stream), false},
                            false);
}

extern "C" fc_status fc_winstat_cuda_edges(const fc_winstat *w, const fc_view *in, const fc_edges *edges,
                                           const fc_view *out, void *scratch, uint32_t *notes, void *stream) {
  const fc_edges *made = w->shrink ? nullptr : edges;
  return winstat::run_lying({w, in, made, out, scratch, notes, static_cast<cudaStream_t>(stream), false},
                            true);
}
