// SPDX-License-Identifier: MIT
//
// units.cuh - a unit is up to 16 consecutive chunks: their positions, merging them, and storing the result.
// Internal to stats.cu.
#ifndef FC_FILTERS_STATS_UNITS_CUH
#define FC_FILTERS_STATS_UNITS_CUH

#include <math_constants.h>
#include "filters/gpu/cuda.cuh"
#include "filters/stats/choice.h"
#include "filters/stats/stats_math.h"

// Statistics of a chunk of 1024 samples of a channel, measured by a warp. Internal to
// stats.cu.

namespace stats {

// Warps per block, and concurrent blocks: many small blocks keep loads in flight while others merge; if there
// are few chunks, all chunks of a unit are measured concurrently. Of a channel alone: fewer registers.
constexpr int FEW = 4, ALL_WARPS = 16;
template <typename T> constexpr int resident = sizeof(T) == 8 ? 4 : 5;
template <typename T> constexpr int resident_alone = sizeof(T) == 8 ? 4 : sizeof(T) == 4 ? 7 : 6;
constexpr int UNIT_BITS = 4, UNIT = FC_STATS_UNIT; // maximum of chunks per block of threads
static_assert(UNIT == 1 << UNIT_BITS, "a power of two");
constexpr int MERGERS = 128;
constexpr unsigned ALL = 0xffffffffu;
constexpr int OWN = FC_STATS_LANES / 32; // lanes of the chunk that a lane of the warp has
constexpr int EACH = FC_STATS_CHUNK / 32;
static_assert(OWN == 4, "sums below are written for four");

// The layout of samples. A *block* is `span` samples of each channel, fewer for the last of a frame; its
// sample e is row e / columns, column e % columns, from the block's first row on - or, if rows are contiguous
// (as in time), simply e steps along x.
struct layout : fc_stats_case {
  fc_dev_view in;
  uint32_t
      flip; // bits of words of 16-bit integers to invert: those without a sign are measured as signed ones
};

__device__ __forceinline__ int64_t samples_in(const layout &l, int64_t block) {
  int64_t left = l.length - block * l.align, positions = left < l.align ? left : l.align;
  return l.audio ? positions : positions * l.columns;
}

// Address of sample e of a block.
__device__ __forceinline__ const char *address(const layout &l, const char *block, int64_t e) {
  if (l.even) return block + e * l.in.stride[FC_AXIS_X];
  // A block of several rows has few samples; one row may have any number.
  int64_t y = e < l.columns ? 0 : static_cast<uint32_t>(e) / static_cast<uint32_t>(l.columns);
  return block + y * l.in.stride[FC_AXIS_Y] + (e - y * l.columns) * l.in.stride[FC_AXIS_X];
}

// ---- a warp adds up --------------------------------------------------------

__device__ __forceinline__ double plus(double a, double b) {
  return fc_stats_plus(a, b);
}

__device__ __forceinline__ double across(double v, int by) {
  return __shfl_xor_sync(ALL, v, by);
}

// The lanes of the chunk that a thread has: 4 t .. 4 t + 3 (QUADS), which are one load, or t, t + 32, t + 64
// and t + 96, so that neighbouring threads have neighbouring lanes. Sums are folded as on the CPU: lanes i
// and i + 64, and so on to i and i + 1. Every thread gets the sum; QUADS have half the work in the first two
// steps.
template <bool QUADS> __device__ __forceinline__ double fold(const double (&v)[OWN]) {
  if (!QUADS) {
    double sum = plus(plus(v[0], v[2]), plus(v[1], v[3]));
    for (int by = 16; by > 0; by /= 2) sum = plus(sum, across(sum, by));
    return sum;
  }
  const bool high = threadIdx.x & 16, odd = threadIdx.x & 8;
  const double a = plus(high ? v[2] : v[0], across(high ? v[0] : v[2], 16));
  const double b = plus(high ? v[3] : v[1], across(high ? v[1] : v[3], 16));
  double sum = plus(odd ? b : a, across(odd ? a : b, 8));
  for (int by = 4; by > 0; by /= 2) sum = plus(sum, across(sum, by));
  sum = plus(sum, across(sum, 16));
  return plus(sum, across(sum, 8));
}

__device__ __forceinline__ int32_t add_lanes(int32_t v) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(ALL, v);
#else
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(ALL, v, by);
  return v;
#endif
}
// For a difference below 2^50.
__device__ __forceinline__ int64_t add_lanes(int64_t v) {
  const int32_t low = add_lanes(static_cast<int32_t>(v & 0xffffff));
  return static_cast<int64_t>(add_lanes(static_cast<int32_t>(v >> 24))) * (1 << 24) + low;
}
__device__ __forceinline__ uint64_t add_lanes(uint64_t v) {
  return static_cast<uint64_t>(add_lanes(static_cast<int64_t>(v)));
}

__device__ __forceinline__ uint32_t add_lanes(uint32_t v) {
  return static_cast<uint32_t>(add_lanes(static_cast<int32_t>(v)));
}

__device__ __forceinline__ int32_t least_of_lanes(int32_t v) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(ALL, v);
#else
  for (int by = 16; by > 0; by /= 2) v = min(v, __shfl_xor_sync(ALL, v, by));
  return v;
#endif
}
__device__ __forceinline__ int32_t most_of_lanes(int32_t v) {
  return ~least_of_lanes(~v);
}

// Floats, none of them NaN, compare as integers if the other bits of negative ones are inverted.
__device__ __forceinline__ int32_t ordered(int32_t bits) {
  return bits ^ (bits >> 31 & 0x7fffffff);
}
__device__ __forceinline__ float least_of_lanes(float v) {
  return __int_as_float(ordered(least_of_lanes(ordered(__float_as_int(v)))));
}
__device__ __forceinline__ float most_of_lanes(float v) {
  return -least_of_lanes(-v);
}
__device__ __forceinline__ double least_of_lanes(double v) {
  for (int by = 16; by > 0; by /= 2) {
    double other = across(v, by);
    v = other < v ? other : v;
  }
  return v;
}
__device__ __forceinline__ double most_of_lanes(double v) {
  return -least_of_lanes(-v);
}

// ---- loading a chunk ---------------------------------------------------------

// 16 bytes of samples.
template <typename T> struct __align__(16) vector {
  static constexpr int count = 16 / sizeof(T);
  T at[count];
};

// A whole chunk loaded in aligned units of 16 bytes.
template <typename T>
__device__ __forceinline__ bool is_easy(const layout &l, const char *block, int64_t first, int64_t count) {
  return l.adjacent && count == FC_STATS_CHUNK &&
         (reinterpret_cast<uintptr_t>(block) + first * sizeof(T)) % 16 == 0;
}

// Samples of a chunk with `runs`: d is at base + d * sizeof(T), plus `gap` bytes from `split` on.
struct run {
  const char *base;
  int64_t gap;
  int32_t split;

  template <typename T> __device__ __forceinline__ T at(int d) const {
    return *reinterpret_cast<const T *>(base + d * static_cast<int>(sizeof(T)) + (d < split ? 0 : gap));
  }
};

__device__ __forceinline__ run run_of(const layout &l, const char *block, int64_t first) {
  if (l.even) return {block + first * l.in.stride[FC_AXIS_X], 0, FC_STATS_CHUNK};
  const int64_t y = first < l.columns ? 0 : static_cast<uint32_t>(first) / static_cast<uint32_t>(l.columns);
  const int64_t left = (y + 1) * l.columns - first;
  return {block + y * l.in.stride[FC_AXIS_Y] + (first - y * l.columns) * l.in.stride[FC_AXIS_X],
          l.in.stride[FC_AXIS_Y] - l.columns * l.in.stride[FC_AXIS_X],
          left < FC_STATS_CHUNK ? static_cast<int32_t>(left) : FC_STATS_CHUNK};
}

// The samples of a thread's lanes in QUADS, row after row.
template <typename T>
__device__ __forceinline__ void load_quads(T (&v)[EACH], const char *block, int64_t first) {
  constexpr int PARTS = OWN / vector<T>::count;
  const vector<T> *from =
      reinterpret_cast<const vector<T> *>(block + first * sizeof(T)) + threadIdx.x % 32 * PARTS;
  vector<T> q[FC_STATS_ROWS * PARTS];
#pragma unroll
  for (int i = 0; i < FC_STATS_ROWS * PARTS; i++) q[i] = from[i / PARTS * 32 * PARTS + i % PARTS];
#pragma unroll
  for (int i = 0; i < EACH; i++) v[i] = q[i / vector<T>::count].at[i % vector<T>::count];
}

// Those of other lanes, in any layout; the chunk's first in place of missing ones. A lane divides for its
// first one, and walks by `hop` bytes to the next, `wrap` more where that is in another row; divided for
// each, they took 94 instructions a sample.
template <typename T>
__device__ __forceinline__ void load_apart(T (&v)[EACH], const layout &l, const char *block, int64_t first,
                                           int64_t count) {
  const bool one = l.even || l.columns > INT32_MAX; // a chunk never has more than one end of such a row
  const uint32_t columns = one ? INT32_MAX : static_cast<uint32_t>(l.columns), lane = threadIdx.x % 32,
                 down = 32 / columns, across = 32 - down * columns;
  const int64_t step = l.in.stride[FC_AXIS_X], row = l.in.stride[FC_AXIS_Y], hop = down * row + across * step,
                wrap = l.even ? 0 : row - l.columns * step, e = first + lane,
                rest = l.columns - (e < l.columns ? e : static_cast<uint32_t>(e) % columns);
  const char *start = address(l, block, first), *from = address(l, block, e);
  uint32_t left = l.even || rest > INT32_MAX ? INT32_MAX : static_cast<uint32_t>(rest); // of the row
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    v[i] = *reinterpret_cast<const T *>(i * 32 + static_cast<int>(lane) < count ? from : start);
    const bool wraps = left <= across;
    from += hop + (wraps ? wrap : 0), left += (wraps ? columns : 0) - across;
  }
}

// Adjacent elements from any address: from the words that contain them, and no others.
template <int COUNT> __device__ __forceinline__ void load_shifted(uint32_t *words, const char *from) {
  const uint32_t askew = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) % 4);
  const uint32_t *at = reinterpret_cast<const uint32_t *>(from - askew) + threadIdx.x % 32;
  uint32_t next[COUNT];
#pragma unroll
  for (int i = 0; i < COUNT; i++) words[i] = at[i * 32], next[i] = askew ? at[i * 32 + 1] : 0;
#pragma unroll
  for (int i = 0; i < COUNT; i++) words[i] = __funnelshift_r(words[i], next[i], askew * 8);
}

// Those of a chunk that continues in another row: the words before its split and after it, each from its
// address, and the one across it, if there is one, element by element.
template <int COUNT, typename T> __device__ __forceinline__ void load_split(uint32_t *words, const run &r) {
  constexpr int PACK = 4 / sizeof(T);
  const int lane = threadIdx.x % 32;
  uint32_t next[COUNT], askew[COUNT];
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    const int d = (i * 32 + lane) * PACK;
    const char *from = r.base + d * static_cast<int>(sizeof(T)) + (d < r.split ? 0 : r.gap);
    const bool one = d >= r.split || d + PACK <= r.split;
    askew[i] = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) % 4);
    const uint32_t *at = reinterpret_cast<const uint32_t *>(from - askew[i]);
    words[i] = one ? at[0] : 0, next[i] = one && askew[i] ? at[1] : 0;
  }
#pragma unroll
  for (int i = 0; i < COUNT; i++) words[i] = __funnelshift_r(words[i], next[i], askew[i] * 8);
  const int across = r.split / PACK;
  if (r.split % PACK == 0 || across % 32 != lane) return;
  uint32_t word = 0;
#pragma unroll
  for (int k = 0; k < PACK; k++)
    word |= (static_cast<uint32_t>(r.at<T>(across * PACK + k)) & (~0u >> (32 - 8 * sizeof(T))))
            << k * (32 / PACK);
#pragma unroll
  for (int i = 0; i < COUNT; i++) words[i] = i == across / 32 ? word : words[i];
}

// Integers in any order, in words; the chunk's first in place of missing ones.
template <typename T>
__device__ __forceinline__ void load_codes(uint32_t *words, const layout &l, const char *block, int64_t first,
                                           int64_t count) {
  constexpr int PACK = 4 / sizeof(T);
  if (is_easy<T>(l, block, first, count)) {
    const uint4 *from = reinterpret_cast<const uint4 *>(block + first * sizeof(T)) + threadIdx.x % 32;
    uint4 q[EACH / PACK / 4];
#pragma unroll
    for (int i = 0; i < EACH / PACK / 4; i++) q[i] = from[i * 32];
#pragma unroll
    for (int i = 0; i < EACH / PACK / 4; i++)
      words[4 * i] = q[i].x, words[4 * i + 1] = q[i].y, words[4 * i + 2] = q[i].z, words[4 * i + 3] = q[i].w;
    return;
  }
  if (PACK > 1 && l.runs && count == FC_STATS_CHUNK) {
    const run r = run_of(l, block, first);
    if (r.split == FC_STATS_CHUNK)
      load_shifted<EACH / PACK>(words, r.base);
    else
      load_split<EACH / PACK, T>(words, r);
    return;
  }
  T v[EACH];
  load_apart(v, l, block, first, count);
#pragma unroll
  for (int i = 0; i < EACH / PACK; i++) {
    words[i] = 0;
#pragma unroll
    for (int k = 0; k < PACK; k++)
      words[i] |= (static_cast<uint32_t>(v[i * PACK + k]) & (~0u >> (32 - 8 * sizeof(T)))) << k * (32 / PACK);
  }
}

// ---- a chunk of floats -------------------------------------------------------

// The square of a float is exact in double, so adding it may be fused.
__device__ __forceinline__ double add_square(double sum, float v) {
  return __fma_rn(static_cast<double>(v), static_cast<double>(v), sum);
}
__device__ __forceinline__ double add_square(double sum, double v) {
  return plus(sum, fc_stats_times(v, v));
}
__device__ __forceinline__ double add_apart(double sum, double v, double mean) {
  const double apart = plus(v, -mean);
  return plus(sum, fc_stats_times(apart, apart));
}

__device__ __forceinline__ float smaller(float a, float b) {
  return fminf(a, b);
}
__device__ __forceinline__ double smaller(double a, double b) {
  return b < a ? b : a;
}
__device__ __forceinline__ float larger(float a, float b) {
  return fmaxf(a, b);
}
__device__ __forceinline__ double larger(double a, double b) {
  return b > a ? b : a;
}

// For a chunk with NaN, infinities or missing samples, each thread's lanes 32 apart; missing samples are NaN,
// and distinguished by `count`.
template <typename T> __device__ __forceinline__ fc_stats_part some_of(const T (&v)[EACH], int64_t count) {
  double sum[OWN] = {}, squares[OWN] = {}, spread[OWN] = {};
  T least = static_cast<T>(CUDART_INF), most = static_cast<T>(-CUDART_INF);
  int finite = 0, nan = 0;
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const bool here = v[i] - v[i] == 0;
    const T w = here ? v[i] : T(0);
    nan += v[i] != v[i], finite += here;
    sum[i % OWN] = plus(sum[i % OWN], static_cast<double>(w));
    squares[i % OWN] = add_square(squares[i % OWN], w);
    least = here ? smaller(least, w) : least, most = here ? larger(most, w) : most;
  }
  fc_stats_part p = fc_stats_part_none();
  p.sum = fold<false>(sum), p.squares = fold<false>(squares);
  p.least = plus(least_of_lanes(least), 0), p.most = plus(most_of_lanes(most), 0);
  finite = add_lanes(finite), nan = add_lanes(nan);
  p.finite = finite, p.nan = nan - (FC_STATS_CHUNK - count), p.inf = FC_STATS_CHUNK - finite - nan;
  const double mean = finite ? p.sum / finite : 0;
#pragma unroll
  for (int i = 0; i < EACH; i++)
    if (v[i] - v[i] == 0) spread[i % OWN] = add_apart(spread[i % OWN], static_cast<double>(v[i]), mean);
  p.spread = fold<false>(spread);
  return p;
}

// Reads the samples again: if the caller's were passed, they would always have to be in memory.
template <typename T>
__device__ __noinline__ fc_stats_part measure_some(const layout &l, const char *block, int64_t first,
                                                   int64_t count) {
  T v[EACH];
  load_apart(v, l, block, first, count);
#pragma unroll
  for (int i = 0; i < EACH; i++)
    if (i * 32 + static_cast<int>(threadIdx.x % 32) >= count) v[i] = static_cast<T>(CUDART_NAN);
  return some_of(v, count);
}

// Of a whole chunk of doubles. A sum that is finite has finite samples only.
template <bool QUADS>
__device__ __forceinline__ fc_stats_part measure_whole(const double (&v)[EACH], const layout &l,
                                                       const char *block, int64_t first) {
  double sum[OWN] = {}, squares[OWN] = {}, spread[OWN] = {}, least = v[0], most = v[0];
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    sum[i % OWN] = plus(sum[i % OWN], v[i]);
    squares[i % OWN] = add_square(squares[i % OWN], v[i]);
    least = smaller(least, v[i]), most = larger(most, v[i]);
  }
  fc_stats_part p = fc_stats_part_none();
  p.sum = fold<QUADS>(sum);
  if (!(p.sum - p.sum == 0)) return measure_some<double>(l, block, first, FC_STATS_CHUNK);
  p.squares = fold<QUADS>(squares);
  p.least = plus(least_of_lanes(least), 0), p.most = plus(most_of_lanes(most), 0);
  p.finite = FC_STATS_CHUNK;
  const double mean = fc_stats_times(p.sum, 1.0 / FC_STATS_CHUNK); // a power of two: as divided
#pragma unroll
  for (int i = 0; i < EACH; i++) spread[i % OWN] = add_apart(spread[i % OWN], v[i], mean);
  p.spread = fold<QUADS>(spread);
  return p;
}

using moments = fc_stats_moments;

__device__ __forceinline__ moments join_across(const moments &m, int by, double each) {
  const moments other = {across(m.sum, by), across(m.twice, by)};
  return fc_stats_join(m, other, each);
}

// For lane k of the four that a thread has.
__device__ __forceinline__ moments column_of(const float (&v)[EACH], int k) {
  double rows[FC_STATS_ROWS];
#pragma unroll
  for (int r = 0; r < FC_STATS_ROWS; r++) rows[r] = v[r * OWN + k];
  return fc_stats_column(rows);
}

// The moments of a thread's samples (QUADS), whose lanes are neighbours.
__device__ __forceinline__ moments moments_of_quads(const float (&v)[EACH]) {
  const moments low = fc_stats_join(column_of(v, 0), column_of(v, 1), 1.0 / 8);
  const moments high = fc_stats_join(column_of(v, 2), column_of(v, 3), 1.0 / 8);
  return fc_stats_join(low, high, 1.0 / 16);
}

// Those of the chunk, where a thread has lanes t, t + 32 and so on.
__device__ __forceinline__ moments moments_of_apart(const float (&v)[EACH]) {
  moments m[OWN];
#pragma unroll
  for (int k = 0; k < OWN; k++) m[k] = join_across(join_across(column_of(v, k), 1, 1.0 / 8), 2, 1.0 / 16);
  m[0] = fc_stats_join(m[0], m[2], 1.0 / 32), m[1] = fc_stats_join(m[1], m[3], 1.0 / 32);
  moments all = fc_stats_join(m[0], m[1], 1.0 / 64);
  double each = 1.0 / 128;
  for (int by = 16; by >= 4; by /= 2, each *= 0.5) all = join_across(all, by, each);
  return all;
}

// For a whole chunk of floats, in one pass.
template <bool QUADS>
__device__ __forceinline__ fc_stats_part measure_whole(const float (&v)[EACH], const layout &l,
                                                       const char *block, int64_t first) {
  float least = v[0], most = v[0];
#pragma unroll
  for (int i = 1; i < EACH; i++) least = fminf(least, v[i]), most = fmaxf(most, v[i]);
  moments all;
  if (QUADS) {
    all = moments_of_quads(v);
    double each = 1.0 / 32;
    for (int by = 16; by > 0; by /= 2, each *= 0.5) all = join_across(all, by, each);
  } else
    all = moments_of_apart(v);
  if (!(all.sum - all.sum == 0)) return measure_some<float>(l, block, first, FC_STATS_CHUNK);
  fc_stats_part p = fc_stats_part_none();
  fc_stats_part_set(&p, all);
  p.least = plus(least_of_lanes(least), 0), p.most = plus(most_of_lanes(most), 0);
  return p;
}

// A chunk for which is_easy.
template <typename T>
__device__ __forceinline__ fc_stats_part measure_easy(const layout &l, const char *block, int64_t first) {
  T v[EACH];
  load_quads(v, block, first);
  return measure_whole<true>(v, l, block, first);
}

template <typename T>
__device__ __forceinline__ fc_stats_part measure_values(const layout &l, const char *block, int64_t first,
                                                        int64_t count) {
  if (count < FC_STATS_CHUNK) return measure_some<T>(l, block, first, count);
  if (is_easy<T>(l, block, first, count)) return measure_easy<T>(l, block, first);
  T v[EACH];
  load_apart(v, l, block, first, FC_STATS_CHUNK);
  return measure_whole<false>(v, l, block, first);
}

// ---- a chunk of integers -----------------------------------------------------

// What a thread sums for stored integers, word by word; for 8 and 16 bits everything except the squares of 16
// fits 32 bits, squares of 32 bits are summed in halves.
template <typename T> struct code_sums;

template <> struct code_sums<uint8_t> {
  uint32_t sum = 0, low = 0, high = 0;
  uint32_t least = ~0u, most = 0;
  __device__ __forceinline__ void add(uint32_t word) {
    const uint32_t even = word & 0x00ff00ff, odd = word >> 8 & 0x00ff00ff;
    sum = __dp4a(word, 0x01010101u, sum), low = __dp4a(word, word, low);
    least = __vminu2(least, __vminu2(even, odd)), most = __vmaxu2(most, __vmaxu2(even, odd));
  }
  __device__ __forceinline__ int32_t smallest() const { return min(least & 0xffff, least >> 16); }
  __device__ __forceinline__ int32_t largest() const { return max(most & 0xffff, most >> 16); }
};
template <> struct code_sums<int16_t> {
  int32_t sum = 0;
  uint32_t high = 0;
  uint64_t low = 0;
  uint32_t least = 0x7fff7fff, most = 0x80008000;
  __device__ __forceinline__ void add(uint32_t word) {
    const int32_t a = static_cast<int16_t>(word), b = static_cast<int32_t>(word) >> 16;
    sum += a + b, low += static_cast<uint32_t>(a * a) + static_cast<uint32_t>(b * b);
    least = __vmins2(least, word), most = __vmaxs2(most, word);
  }
  __device__ __forceinline__ int32_t smallest() const {
    return min(static_cast<int16_t>(least), static_cast<int16_t>(least >> 16));
  }
  __device__ __forceinline__ int32_t largest() const {
    return max(static_cast<int16_t>(most), static_cast<int16_t>(most >> 16));
  }
};
template <> struct code_sums<int32_t> {
  int64_t sum = 0;
  uint64_t low = 0, high = 0;
  int32_t least = INT32_MAX, most = INT32_MIN;
  __device__ __forceinline__ void add(uint32_t word) {
    const int32_t code = static_cast<int32_t>(word);
    const uint64_t square = static_cast<uint64_t>(static_cast<int64_t>(code) * code);
    sum += code, low += square & 0xffffffffu, high += square >> 32;
    least = min(least, code), most = max(most, code);
  }
  __device__ __forceinline__ int32_t smallest() const { return least; }
  __device__ __forceinline__ int32_t largest() const { return most; }
};

// The part of a chunk from its threads' sums, with `extra` in place of each missing sample.
template <typename T>
__device__ __forceinline__ fc_stats_part part_of_codes(const code_sums<T> &sums, int64_t count, int64_t extra,
                                                       int64_t bias) {
  const int64_t missing = FC_STATS_CHUNK - count;
  const int64_t raw = static_cast<int64_t>(add_lanes(sums.sum)) - missing * extra;
  const uint64_t low = add_lanes(sums.low), high = sizeof(T) > 2 ? add_lanes(sums.high) : 0;
  fc_stats_part p = fc_stats_part_none();
  p.finite = count;
  p.least = static_cast<double>(least_of_lanes(sums.smallest()) - bias);
  p.most = static_cast<double>(most_of_lanes(sums.largest()) - bias);
  const int64_t sum = raw - count * bias;
  p.sum_low = static_cast<uint64_t>(sum), p.sum_high = sum < 0 ? ~uint64_t(0) : 0;
  p.squares_low = low;
  fc_stats_add_wide(&p.squares_low, &p.squares_high, high << 32, high >> 32);
  // missing < 2^10 and the square <= 2^62: the product has two halves.
  const uint64_t square = static_cast<uint64_t>(extra * extra), n = static_cast<uint64_t>(missing);
  const uint64_t off_low = square * n,
                 off_high = ((square >> 32) * n + (((square & 0xffffffffu) * n) >> 32)) >> 32;
  fc_stats_add_wide(&p.squares_low, &p.squares_high, ~off_low + 1, ~off_high + (off_low == 0));
  if (bias) p.squares_low = p.squares_low - static_cast<uint64_t>(2 * bias * raw) + count * bias * bias;
  return p;
}

// Integers are exact in any order. In place of missing samples the chunk's first is used, which changes no
// extreme, and subtracted in the end. Only integers of 8 and 16 bits have a bias, which is subtracted from
// the sums.
template <typename T>
__device__ __forceinline__ fc_stats_part measure_codes(const layout &l, const char *block, int64_t first,
                                                       int64_t count) {
  uint32_t words[EACH * sizeof(T) / 4];
  load_codes<T>(words, l, block, first, count);
  code_sums<T> sums;
#pragma unroll
  for (int i = 0; i < static_cast<int>(EACH * sizeof(T) / 4); i++) {
    if (sizeof(T) == 2) words[i] ^= l.flip;
    sums.add(words[i]);
  }
  const int64_t extra = __shfl_sync(ALL, static_cast<int32_t>(static_cast<T>(words[0])), 0);
  return part_of_codes<T>(sums, count, extra, l.bias);
}

template <typename T> struct measure {
  static __device__ __forceinline__ fc_stats_part chunk(const layout &l, const char *b, int64_t first,
                                                        int64_t n) {
    return measure_codes<T>(l, b, first, n);
  }
};
template <> struct measure<float> {
  static __device__ __forceinline__ fc_stats_part chunk(const layout &l, const char *b, int64_t first,
                                                        int64_t n) {
    return measure_values<float>(l, b, first, n);
  }
};
template <> struct measure<double> {
  static __device__ __forceinline__ fc_stats_part chunk(const layout &l, const char *b, int64_t first,
                                                        int64_t n) {
    return measure_values<double>(l, b, first, n);
  }
};

} // namespace stats

namespace stats {

// ---- a unit ------------------------------------------------------------------

// Like fc_stats_part_merge. With equal numbers of samples on both sides, a power of two, the divisions are
// exact products.
__device__ __forceinline__ fc_stats_part merge(const fc_stats_part &a, const fc_stats_part &b) {
  if (a.finite != b.finite || a.finite == 0 || (a.finite & (a.finite - 1)) != 0)
    return fc_stats_part_merge(&a, &b);
  const double n = static_cast<double>(a.finite),
               each = __longlong_as_double((2 * 1023LL << 52) - __double_as_longlong(n)); // 1 / n
  const double apart = plus(fc_stats_times(b.sum, each), -fc_stats_times(a.sum, each));
  fc_stats_part m = a;
  m.finite += b.finite, m.nan += b.nan, m.inf += b.inf;
  m.least = b.least < a.least ? b.least : a.least, m.most = b.most > a.most ? b.most : a.most;
  m.sum = plus(a.sum, b.sum), m.squares = plus(a.squares, b.squares);
  m.spread = plus(plus(a.spread, b.spread), fc_stats_times(fc_stats_times(apart, apart), n * 0.5));
  fc_stats_add_wide(&m.sum_low, &m.sum_high, b.sum_low, b.sum_high);
  fc_stats_add_wide(&m.squares_low, &m.squares_high, b.squares_low, b.squares_high);
  return m;
}

// A unit of a channel: an index into [frame][block][unit][channel]. No device has memory for 2^32 parts.
struct place {
  uint32_t n, block, unit, c;
};
__device__ __forceinline__ uint32_t split_off(uint32_t *i, int64_t count) {
  const uint32_t size = static_cast<uint32_t>(count), all = *i;
  if (size == 1) return 0;
  *i = all / size;
  return all - *i * size;
}
__device__ __forceinline__ place place_of(const layout &l, uint32_t i) {
  place at;
  at.c = split_off(&i, l.channels), at.unit = split_off(&i, l.units);
  at.n = l.frames == 1 ? 0 : i / static_cast<uint32_t>(l.blocks);
  at.block = i - at.n * static_cast<uint32_t>(l.blocks);
  return at;
}

// Where the part of a block of frame n and channel c is stored; channel 0 also stores the head.
__device__ __forceinline__ void deliver(const layout &l, char *blocks, int64_t frame_bytes, const place &at,
                                        const fc_stats_part &p) {
  char *to = blocks + at.n * frame_bytes + at.block * l.block_bytes;
  if (at.c == 0) {
    fc_stats_block head = {static_cast<uint32_t>(l.channels), l.kind, l.in.dtype, 0};
    *reinterpret_cast<fc_stats_block *>(to) = head;
  }
  reinterpret_cast<fc_stats_part *>(to + sizeof(fc_stats_block))[at.c] = p;
}

// Where the block begins.
__device__ __forceinline__ const char *block_at(const layout &l, const place &at) {
  const int64_t position = at.block * l.align;
  return l.audio ? l.in.at(at.n, 0, position, at.c) : l.in.at(at.n, position, 0, at.c);
}

// Chunks of a unit; 0 for one beyond the last block's samples.
__device__ __forceinline__ int64_t chunks_in(const layout &l, const place &at) {
  const int64_t samples = samples_in(l, at.block) - static_cast<int64_t>(at.unit) * l.unit * FC_STATS_CHUNK;
  const int64_t count = (samples + FC_STATS_CHUNK - 1) / FC_STATS_CHUNK;
  return count < 0 ? 0 : count < l.unit ? count : l.unit;
}

// Prefetches the chunk that a warp measures next, a line per lane, into the second-level cache. Only floats,
// which take long, gain from it.
template <typename T>
__device__ __forceinline__ void ask_ahead(const layout &l, const char *block, int64_t first, int64_t left) {
  const int byte = threadIdx.x % 32 * 128;
  if (!l.adjacent || left < FC_STATS_CHUNK || byte >= FC_STATS_CHUNK * static_cast<int>(sizeof(T))) return;
  asm volatile("prefetch.global.L2 [%0];" ::"l"(block + first * static_cast<int64_t>(sizeof(T)) + byte));
}

// The next chunk that no thread has started, from the last one down; less than 0 if there is none.
__device__ __forceinline__ int take(int *left) {
  int i = 0;
  if (threadIdx.x % 32 == 0) i = atomicSub(left, 1) - 1;
  return __shfl_sync(ALL, i, 0);
}

template <typename T, int WARPS>
__device__ __forceinline__ void measure_one(const layout &l, const place &at, int k, fc_stats_part *to) {
  const int64_t first = (static_cast<int64_t>(at.unit) * l.unit + k) * FC_STATS_CHUNK,
                count = samples_in(l, at.block) - first;
  if (count <= 0) {
    if (k == 0 && threadIdx.x % 32 == 0) *to = fc_stats_part_none();
    return;
  }
  const char *from = block_at(l, at);
  if (static_cast<T>(0.5) != 0 && k + WARPS < l.unit)
    ask_ahead<T>(l, from, first + WARPS * FC_STATS_CHUNK, count - WARPS * FC_STATS_CHUNK);
  const int64_t n = count < FC_STATS_CHUNK ? count : FC_STATS_CHUNK;
  const fc_stats_part p = measure<T>::chunk(l, from, first, n);
  if (threadIdx.x % 32 == 0) *to = p;
}

__device__ __forceinline__ void deliver_unit(const layout &l, const place &at, const fc_stats_part &p,
                                             fc_stats_part *units, char *blocks, int64_t frame_bytes) {
  if (l.units == 1)
    deliver(l, blocks, frame_bytes, at, p);
  else
    units[((at.n * l.blocks + at.block) * l.channels + at.c) * l.units + at.unit] = p;
}

__device__ __forceinline__ uint64_t across(uint64_t v, int by) {
  return __shfl_xor_sync(ALL, static_cast<unsigned long long>(v), by);
}

// Merges parts of integers, exact in any order, of this many adjacent lanes; all of these get the result.
__device__ __forceinline__ fc_stats_part merge_codes(fc_stats_part p, int lanes) {
  for (int by = 1; by < lanes; by *= 2) {
    const double least = across(p.least, by), most = across(p.most, by);
    p.finite += across(p.finite, by);
    p.least = least < p.least ? least : p.least, p.most = most > p.most ? most : p.most;
    fc_stats_add_wide(&p.sum_low, &p.sum_high, across(p.sum_low, by), across(p.sum_high, by));
    fc_stats_add_wide(&p.squares_low, &p.squares_high, across(p.squares_low, by), across(p.squares_high, by));
  }
  return p;
}

// A warp merges the chunks of each unit: parts[] of unit `base` and those after it; of units `step` apart the
// one at `at_step`.
template <typename T>
__device__ __forceinline__ void finish_units(const layout &l, fc_stats_part *parts, uint32_t base,
                                             int64_t total, fc_stats_part *units, char *blocks,
                                             int64_t frame_bytes, uint32_t step = 1, uint32_t at_step = 0) {
  const int i = threadIdx.x % 32, k = i & (l.unit - 1), set = i >> l.unit_bits;
  const bool mine = i < UNIT && base + set < total;
  const place at = place_of(l, (mine ? base + set : base) * step + at_step);
  const int64_t count = mine ? chunks_in(l, at) : 0;
  fc_stats_part p = fc_stats_part_none();
  if constexpr (static_cast<T>(0.5) == 0) {
    p = merge_codes(k < count ? parts[i] : p, l.unit);
  } else {
    for (int apart = 1; apart < l.unit; apart *= 2) {
      if ((k & (2 * apart - 1)) == 0 && k + apart < count) parts[i] = merge(parts[i], parts[i + apart]);
      __syncwarp();
    }
    if (mine && k == 0) p = parts[i];
  }
  if (mine && k == 0 && (l.units == 1 || count > 0)) deliver_unit(l, at, p, units, blocks, frame_bytes);
}

} // namespace stats

#endif
