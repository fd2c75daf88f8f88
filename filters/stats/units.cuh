// SPDX-License-Identifier: MIT
//
// units.cuh - up to 16 chunks in a row, a unit: where they lie, how they are merged and where the
// result goes. Internal to stats.cu.
#ifndef FC_FILTERS_STATS_UNITS_CUH
#define FC_FILTERS_STATS_UNITS_CUH

#include "filters/stats/chunks.cuh"

namespace stats {

// ---- a unit ------------------------------------------------------------------

// As fc_stats_part_merge. Of as many samples on both sides, a power of two, the divisions are exact products.
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

// A unit of a channel: a place among [frame][block][unit][channel]. No device has the memory for 2^32 parts.
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

// Where the part of a block of frame n and channel c goes; channel 0 brings the head.
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

// Chunks of a unit; none of one that is beyond the last block's samples.
__device__ __forceinline__ int64_t chunks_in(const layout &l, const place &at) {
  const int64_t samples = samples_in(l, at.block) - static_cast<int64_t>(at.unit) * l.unit * FC_STATS_CHUNK;
  const int64_t count = (samples + FC_STATS_CHUNK - 1) / FC_STATS_CHUNK;
  return count < 0 ? 0 : count < l.unit ? count : l.unit;
}

// Asks for the chunk that a warp measures after this one, a line a lane: it comes into the second cache
// meanwhile. Only floats, which take long, gain by it.
template <typename T>
__device__ __forceinline__ void ask_ahead(const layout &l, const char *block, int64_t first, int64_t left) {
  const int byte = threadIdx.x % 32 * 128;
  if (!l.adjacent || left < FC_STATS_CHUNK || byte >= FC_STATS_CHUNK * static_cast<int>(sizeof(T))) return;
  asm volatile("prefetch.global.L2 [%0];" ::"l"(block + first * static_cast<int64_t>(sizeof(T)) + byte));
}

// The chunk that nobody has begun with, from the last one down; less than 0 when there is none.
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
  fc_stats_part p = measure<T>::chunk(l, from, first, count < FC_STATS_CHUNK ? count : FC_STATS_CHUNK);
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

// Parts of integers, exact in any order, of as many lanes side by side; all of these get the result.
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

// A warp merges the chunks of each unit, parts[] of unit `base` and those after it; of units that are `step`
// apart the one at `at_step`.
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
