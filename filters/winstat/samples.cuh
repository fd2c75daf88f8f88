// SPDX-License-Identifier: MIT
//
// samples.cuh - code shared by the kernels of winstat.cu: tuning, their arguments, loading samples and
// storing statistics, and the scans of a warp.
#ifndef FC_FILTERS_WINSTAT_SAMPLES_CUH
#define FC_FILTERS_WINSTAT_SAMPLES_CUH

#include "core/contract/edges.h"
#include "filters/winstat/pieces.cuh"

namespace winstat {

// ---- tuning ----------------------------------------------------------------

constexpr int THREADS = 256;
// Warps per block in kernels whose warps use up to 9 KiB of shared memory each.
constexpr int WARPS = 4;
constexpr int SLIDE_MAX = FC_WINSTAT_SLIDE_MAX;
constexpr int SLIDE_ANCHOR = FC_WINSTAT_SLIDE_ANCHOR; // positions in the signal: those of a warp
constexpr int SLIDE_TILES = 16;                       // maximum per block
constexpr int SLIDE_BLOCKS = 1024; // blocks get a second tile only above this number of blocks
constexpr int ROW_LANE = 8, ROW_BLOCK = 32 * ROW_LANE; // positions per lane and per block, longer windows
constexpr int COLUMN_DIRECT = 16;                      // rows that a thread sums directly
constexpr int COLUMN_BLOCK = 16;      // rows per block, and blocks per block of the second level
constexpr int64_t BUDGET = 128 << 20; // bytes of scratch by which bands of rows are limited
constexpr unsigned GRID_Y = 65535;

// ---- what kernels are told -------------------------------------------------

// fc_edges, for kernels that make the border themselves; `on` is 0 if the host has made it.
struct ends {
  int32_t on, border;
  uint64_t code;
};

static inline ends ends_of(const fc_edges *edges) {
  return edges ? ends{1, edges->border, edges->code} : ends{0, 0, 0};
}

// fc_border_map: the source of position p of a signal of `extent` elements, or -1 for the constant. Most
// positions are less than a signal length outside.
template <typename I> __device__ __forceinline__ I border_source(int border, I p, I extent) {
  if (p >= 0 && p < extent) return p;
  if (border == FC_BORDER_REPLICATE) return p < 0 ? 0 : extent - 1;
  if (border != FC_BORDER_WRAP && border != FC_BORDER_REFLECT && border != FC_BORDER_REFLECT101) return -1;
  // Mirrors are at `edge` beyond the first element: half an element, or none.
  const I edge = border == FC_BORDER_REFLECT;
  const I near = border == FC_BORDER_WRAP ? (p < 0 ? p + extent : p - extent)
                 : p < 0                  ? -edge - p
                                          : 2 * (extent - 1) + edge - p;
  if (near >= 0 && near < extent) return near;
  const I period = border == FC_BORDER_WRAP ? extent : 2 * (extent - 1 + edge);
  if (period == 0) return 0;
  const I rest = p % period, q = rest < 0 ? rest + period : rest;
  return q < extent ? q : period - edge - q;
}

// One pass: `frames` frames from `n0` on, output rows y0 .. y0 + rows - 1. Positions along x and y are
// relative to the view. `lo` .. `hi` - 1 are readable, and count when the window shrinks; with `edges` the
// part beyond the view has to be made.
template <typename R> struct pass {
  fc_dev_view in, out;
  fc_dev_map<R> load, store;
  int64_t before[2], window[2], origin[2], lo[2], hi[2];
  int64_t columns, channels;
  int64_t n0, frames, y0, rows;
  R area; // samples of a window that does not shrink
  int32_t shrink, n_stats;
  int32_t stat[FC_WINSTAT_STATS], slot[FC_WINSTAT_STATS]; // which statistics, and their index in the output
  ends edges;
  uint32_t *notes;
};

// Of `count` samples, a multiple of four, those from seen[0] to seen[1] - 1 are loaded into shared memory, by
// EACH threads of which this is number `me`: with `quads` by quad(i) for four readable ones, as in lo .. hi -
// 1, otherwise by word(i) for one.
template <int EACH, class Quad, class Word>
__device__ __forceinline__ void copy_with_ends(int me, int count, int lo, int hi, bool quads,
                                               const int (&seen)[2], Quad quad, Word word) {
  if (!quads) lo = hi = seen[0];
  const int first = ((lo < 0       ? 0
                      : lo > count ? count
                                   : lo) +
                     3) &
                    ~3,
            last = (hi > count ? count : hi) & ~3, end = seen[1] < count ? seen[1] : count;
#pragma unroll 1
  for (int i = first + 4 * me; i < last; i += 4 * EACH) quad(i);
#pragma unroll 1
  for (int i = (seen[0] > 0 ? seen[0] : 0) + me; i < first && i < end; i += EACH) word(i);
#pragma unroll 1
  for (int i = (first > last ? first : last) + me; i < end; i += EACH) word(i);
}

__host__ __device__ inline int64_t floor_div(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q * b > a ? q - 1 : q;
}
__host__ __device__ inline int64_t floor_mod(int64_t a, int64_t b) {
  return a - floor_div(a, b) * b;
}

// ---- samples in, statistics out --------------------------------------------

template <typename R>
__device__ __forceinline__ R load_sample(const char *at, int dtype, const fc_dev_map<R> &map, R) {
  return dtype == FC_F32 ? fc_dev_load<R, float>(at, map) : fc_dev_load<R, double>(at, map);
}
__device__ __forceinline__ int32_t load_sample(const char *at, int dtype, const fc_dev_map<double> &map,
                                               int32_t) {
  switch (dtype) {
  case FC_U8: return *reinterpret_cast<const uint8_t *>(at) - map.bias;
  case FC_I16: return *reinterpret_cast<const int16_t *>(at);
  case FC_U16: return *reinterpret_cast<const uint16_t *>(at) - map.bias;
  default: return *reinterpret_cast<const int32_t *>(at);
  }
}

// The join of `count` samples, `stride` bytes apart.
template <class P>
__device__ __forceinline__ P join_samples(const pass<typename P::real> &p, const char *at, int64_t stride,
                                          int64_t count) {
  typedef typename P::sample S;
  if (count <= 0) return P::none();
  P sum = P::of(load_sample(at, p.in.dtype, p.load, S()));
#pragma unroll 4
  for (int64_t i = 1; i < count; i++)
    sum = P::join(sum, P::of(load_sample(at + i * stride, p.in.dtype, p.load, S())));
  return sum;
}

// The piece of one sample; the empty piece if there is nothing to read.
template <class P>
__device__ __forceinline__ P piece_at(const pass<typename P::real> &p, int64_t n, int64_t y, int64_t x,
                                      int64_t c) {
  if (x < p.lo[0] || x >= p.hi[0] || y < p.lo[1] || y >= p.hi[1]) return P::none();
  return P::of(load_sample(p.in.at(n, y, x, c), p.in.dtype, p.load, typename P::sample()));
}

// The readable part of the window of position i on axis a, 0 for x: positions from .. to - 1.
struct span {
  int64_t from, to;
};
template <typename R> __device__ __forceinline__ span window_at(const pass<R> &p, int a, int64_t i) {
  span s = {i - p.before[a], i - p.before[a] + p.window[a]};
  if (!p.shrink) return s;
  s.from = s.from > p.lo[a] ? s.from : p.lo[a];
  s.to = s.to < p.hi[a] ? s.to : p.hi[a];
  return s;
}
template <typename R> __device__ __forceinline__ int64_t inside(const pass<R> &p, int a, int64_t i) {
  span s = window_at(p, a, i);
  return s.to - s.from;
}

template <class P>
__device__ __forceinline__ void emit(const pass<typename P::real> &p, const P &piece, int64_t n, int64_t y,
                                     int64_t x, int64_t c) {
  typedef typename P::real R;
  R count = p.shrink ? static_cast<R>(inside(p, 0, x)) * static_cast<R>(inside(p, 1, y)) : p.area;
  for (int s = 0; s < p.n_stats; s++) {
    R v = stat_of(piece, p.stat[s], count, p.load.scale);
    fc_dev_store_any<R>(p.out.at(n, y, x, p.slot[s] * p.channels + c), p.out.dtype, v, p.store, p.notes);
  }
}

// The table of joined rows: of every frame, rows y0 - before .. of the pass, and within a row channel by
// channel.
template <typename R> __device__ __forceinline__ int64_t table_rows(const pass<R> &p) {
  return p.rows + p.window[1] - 1;
}
template <typename R>
__device__ __forceinline__ int64_t table_index(const pass<R> &p, int64_t line, int64_t x, int64_t c) {
  return (line * p.channels + c) * p.columns + x;
}

// ---- a warp's scans --------------------------------------------------------

constexpr unsigned ALL = 0xffffffffu;

enum direction { UP, DOWN, FROM_ZERO };

// __shfl_*_sync of a whole piece.
template <direction D, class P> __device__ __forceinline__ P shuffle(const P &piece, int by) {
  static_assert(sizeof(P) % 4 == 0, "pieces are made of words");
  int words[sizeof(P) / 4];
  memcpy(words, &piece, sizeof(P));
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(P) / 4); i++)
    words[i] = D == UP     ? __shfl_up_sync(ALL, words[i], by)
               : D == DOWN ? __shfl_down_sync(ALL, words[i], by)
                           : __shfl_sync(ALL, words[i], 0);
  P result;
  memcpy(&result, words, sizeof(P));
  return result;
}

// Joins of v[k] .. the last of the warp's 32 K pieces, lane after lane.
template <class P, int K> __device__ __forceinline__ void scan_suffixes(P (&v)[K], int lane) {
#pragma unroll
  for (int k = K - 2; k >= 0; k--) v[k] = P::join(v[k], v[k + 1]);
  P later = v[0];
  for (int by = 1; by < 32; by *= 2) {
    P other = shuffle<DOWN>(later, by);
    if (lane + by < 32) later = P::join(later, other);
  }
  P rest = shuffle<DOWN>(later, 1);
  if (lane == 31) return;
#pragma unroll
  for (int k = 0; k < K; k++) v[k] = P::join(v[k], rest);
}

// Joins of the first piece .. v[k], restarting at piece `fresh` of the warp's (none if it is beyond them);
// those before it start with `ahead`.
template <class P, int K>
__device__ __forceinline__ void scan_prefixes(P (&v)[K], int lane, int64_t fresh, const P &ahead) {
  const int first = lane * K;
#pragma unroll
  for (int k = 1; k < K; k++)
    if (first + k != fresh) v[k] = P::join(v[k - 1], v[k]);
  P so_far = v[K - 1];
  int cut = fresh < first + K && fresh >= first;
  for (int by = 1; by < 32; by *= 2) {
    P other = shuffle<UP>(so_far, by);
    int other_cut = __shfl_up_sync(ALL, cut, by);
    if (lane < by) continue;
    if (!cut) so_far = P::join(other, so_far);
    cut |= other_cut;
  }
  P rest = shuffle<UP>(so_far, 1);
  int rest_cut = __shfl_up_sync(ALL, cut, 1);
  if (lane == 0)
    rest = ahead;
  else if (!rest_cut)
    rest = P::join(ahead, rest);
#pragma unroll
  for (int k = 0; k < K; k++)
    if (first + k < fresh || fresh < first) v[k] = P::join(rest, v[k]);
}

// All lanes get the join of the lanes' pieces.
template <class P> __device__ __forceinline__ P join_lanes(P v, int lane) {
  for (int by = 16; by > 0; by /= 2) {
    P other = shuffle<DOWN>(v, by);
    if (lane < by) v = P::join(v, other);
  }
  return shuffle<FROM_ZERO>(v, 0);
}

// The order of lanes in memory: piece i of a warp's 32 K. One in nine is a gap, to avoid bank conflicts.
template <int K> struct staging {
  static constexpr int size = 36 * K;
  static __device__ __forceinline__ int at(int i) { return i + i / 8; }
};

} // namespace winstat

#endif
