// SPDX-License-Identifier: MIT
//
// stats_stream.cuh - long signals of floats whose units are whole, adjacent and aligned. Blocks of threads
// stay and go from unit to unit; each lane copies its own samples of the chunks to come into shared memory
// (cp.async), so that what is on its way takes no registers and is waited for by nobody else. A unit is
// merged by one warp, in turns, while the others measure the next. Internal to stats.cu.
#ifndef FC_FILTERS_STATS_STREAM_CUH
#define FC_FILTERS_STATS_STREAM_CUH

#include <cuda_pipeline_primitives.h>

#include "filters/stats_units.cuh"

namespace stats {

// Warps of a block, chunks that a warp has under way, this one included, blocks that a multiprocessor has at
// once and in turn.
constexpr int STREAM_WARPS = 2, STREAM_DEPTH = 2, STREAM_BLOCKS = 10, STREAM_TURNS = 8;
constexpr int STREAM_EACH = UNIT / STREAM_WARPS; // chunks of a unit that a warp has
constexpr int STREAM_BYTES = STREAM_WARPS * STREAM_DEPTH * FC_STATS_CHUNK * 4; // of shared memory
constexpr int64_t STREAM_LEAST = 1024;                                         // units that are worth it

// The samples a lane is to measure: its four of every row of 128, chunk after chunk.
struct stream_ahead {
  float4 *room; // of the lane, a chunk's FC_STATS_ROWS pieces 32 apart
  const char *from;
  uint32_t unit;
  int chunk, stage;

  // Begins to copy the next chunk, if there is one.
  __device__ __forceinline__ void fetch(const layout &l, uint32_t total) {
    if (unit < total) {
      if (chunk == 0) {
        const place at = place_of(l, unit);
        const int64_t first = static_cast<int64_t>(at.unit) * UNIT + threadIdx.x / 32;
        from = block_at(l, at) + first * (FC_STATS_CHUNK * 4) + threadIdx.x % 32 * 16;
      }
      float4 *to = room + stage * (FC_STATS_CHUNK / 4);
      const char *piece = from + chunk * (STREAM_WARPS * FC_STATS_CHUNK * 4);
#pragma unroll
      for (int i = 0; i < FC_STATS_ROWS; i++) __pipeline_memcpy_async(to + i * 32, piece + i * 512, 16);
      if (++chunk == STREAM_EACH) chunk = 0, unit += gridDim.x;
    }
    __pipeline_commit();
    if (++stage == STREAM_DEPTH) stage = 0;
  }
};

// The sums of two quantities, each in the order of fold: lanes that differ in bit 2 share the work.
__device__ __forceinline__ void fold_both(const double (&v)[OWN], const double (&w)[OWN], double *of_v,
                                          double *of_w) {
  const bool high = threadIdx.x & 16, odd = threadIdx.x & 8, second = threadIdx.x & 4;
  const double v0 = plus(high ? v[2] : v[0], across(high ? v[0] : v[2], 16));
  const double v1 = plus(high ? v[3] : v[1], across(high ? v[1] : v[3], 16));
  const double w0 = plus(high ? w[2] : w[0], across(high ? w[0] : w[2], 16));
  const double w1 = plus(high ? w[3] : w[1], across(high ? w[1] : w[3], 16));
  const double a = plus(odd ? v1 : v0, across(odd ? v0 : v1, 8));
  const double b = plus(odd ? w1 : w0, across(odd ? w0 : w1, 8));
  double sum = plus(second ? b : a, across(second ? a : b, 4));
  for (int by = 2; by > 0; by /= 2) sum = plus(sum, across(sum, by));
  sum = plus(sum, across(sum, 16)), sum = plus(sum, across(sum, 8));
  const double other = across(sum, 4);
  *of_v = second ? other : sum, *of_w = second ? sum : other;
}

// Four samples, fetched whenever it says so: kept in registers, as the compiler would, they leave room for
// fewer warps.
__device__ __forceinline__ void fetch_four(float (&v)[OWN], const float4 *from) {
  static_assert(OWN == 4, "a load of 16 bytes");
  asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(from)))
               : "memory");
}

// As measure_whole.
__device__ __forceinline__ fc_stats_part measure_copied(const float4 *room, const layout &l,
                                                        const char *chunk) {
  double sum[OWN] = {}, squares[OWN] = {}, spread[OWN] = {};
  float v[OWN], least = CUDART_INF_F, most = -CUDART_INF_F;
#pragma unroll
  for (int i = 0; i < FC_STATS_ROWS; i++) {
    fetch_four(v, room + i * 32);
#pragma unroll
    for (int k = 0; k < OWN; k++) {
      sum[k] = plus(sum[k], static_cast<double>(v[k])), squares[k] = add_square(squares[k], v[k]);
      least = fminf(least, v[k]), most = fmaxf(most, v[k]);
    }
  }
  fc_stats_part p = fc_stats_part_none();
  fold_both(sum, squares, &p.sum, &p.squares);
  if (!(p.sum - p.sum == 0)) return measure_some<float>(l, chunk, 0, FC_STATS_CHUNK);
  const double mean = fc_stats_times(p.sum, 1.0 / FC_STATS_CHUNK);
#pragma unroll
  for (int i = 0; i < FC_STATS_ROWS; i++) {
    fetch_four(v, room + i * 32);
#pragma unroll
    for (int k = 0; k < OWN; k++) spread[k] = add_apart(spread[k], static_cast<double>(v[k]), mean);
  }
  p.spread = fold<true>(spread);
  p.least = plus(least_of_lanes(least), 0), p.most = plus(most_of_lanes(most), 0);
  p.finite = FC_STATS_CHUNK;
  return p;
}

// A warp merges the parts of a unit's chunks, which are all there.
__device__ __forceinline__ void merge_unit(fc_stats_part *parts) {
  const int k = threadIdx.x % 32;
  for (int apart = 1; apart < UNIT; apart *= 2) {
    if (k < UNIT && (k & (2 * apart - 1)) == 0) parts[k] = merge(parts[k], parts[k + apart]);
    __syncwarp();
  }
}

__global__ void __launch_bounds__(32 * STREAM_WARPS, STREAM_BLOCKS)
    stream_units(const __grid_constant__ layout l, fc_stats_part *units, char *blocks, int64_t frame_bytes,
                 uint32_t total) {
  extern __shared__ float4 stream_rooms[];
  __shared__ fc_stats_part parts[2][UNIT]; // of this unit, and of the one that is merged
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float4 *room = stream_rooms + warp * (STREAM_DEPTH * FC_STATS_CHUNK / 4) + lane;
  stream_ahead ahead = {const_cast<float4 *>(room), nullptr, blockIdx.x, 0, 0};
#pragma unroll
  for (int i = 0; i < STREAM_DEPTH - 1; i++) ahead.fetch(l, total);
  int stage = 0, turn = 0;
  for (uint32_t u = blockIdx.x; u < total; u += gridDim.x, turn ^= 1) {
    const place at = place_of(l, u);
    const char *unit = block_at(l, at) + static_cast<int64_t>(at.unit) * (UNIT * FC_STATS_CHUNK * 4);
#pragma unroll 1
    for (int k = warp; k < UNIT; k += STREAM_WARPS) {
      ahead.fetch(l, total);
      __pipeline_wait_prior(STREAM_DEPTH - 1);
      const fc_stats_part p =
          measure_copied(room + stage * (FC_STATS_CHUNK / 4), l, unit + k * (FC_STATS_CHUNK * 4));
      if (lane == 0) parts[turn][k] = p;
      if (++stage == STREAM_DEPTH) stage = 0;
    }
    __syncthreads();
    if (warp != turn % STREAM_WARPS) continue;
    merge_unit(parts[turn]);
    if (lane == 0) deliver_unit(l, at, parts[turn][0], units, blocks, frame_bytes);
  }
}

// Whether all units are whole and begin at multiples of 16 bytes.
static inline bool can_stream(const fc_view *in, const layout &l) {
  const int along = l.audio ? FC_AXIS_X : FC_AXIS_Y;
  const int64_t block = l.align < l.length ? l.align : l.length;
  uint64_t all = reinterpret_cast<uintptr_t>(in->data) | static_cast<uint64_t>(in->stride[along] * block);
  for (int a : {FC_AXIS_N, FC_AXIS_C})
    if (in->shape[a] > 1) all |= static_cast<uint64_t>(in->stride[a]);
  return in->dtype == FC_F32 && l.adjacent && all % 16 == 0 && l.length % block == 0 &&
         block * (l.audio ? 1 : l.columns) % (UNIT * FC_STATS_CHUNK) == 0;
}

// FC_UNSUPPORTED where units are not as they should be, or few.
static inline fc_status launch_stream(const fc_view *in, const layout &l, fc_stats_part *units, char *blocks,
                                      int64_t frame_bytes, cudaStream_t stream) {
  const int64_t total = l.frames * l.blocks * l.units * l.channels;
  int device = 0, processors = 0;
  if (total < STREAM_LEAST || !can_stream(in, l) || !fc_allow_shared(stream_units, STREAM_BYTES) ||
      cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return FC_UNSUPPORTED;
  const unsigned grid = fc_blocks(total, 1, static_cast<int64_t>(processors) * STREAM_BLOCKS * STREAM_TURNS);
  stream_units<<<grid, 32 * STREAM_WARPS, STREAM_BYTES, stream>>>(l, units, blocks, frame_bytes,
                                                                  static_cast<uint32_t>(total));
  return fc_launch_status();
}

} // namespace stats

#endif
