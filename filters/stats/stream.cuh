// SPDX-License-Identifier: MIT
//
// stream.cuh - long signals of floats whose units are whole, adjacent and aligned. A block of threads
// processes one unit; each lane copies its own samples of later chunks into shared memory (cp.async), so that
// data in flight need no registers and no other lane waits for them. The moments of each lane's part of a
// chunk are folded when all are available, for all chunks together. Internal to stats.cu.
#ifndef FC_FILTERS_STATS_STREAM_CUH
#define FC_FILTERS_STATS_STREAM_CUH

#include "filters/gpu/copy_async.cuh"
#include "filters/stats/units.cuh"

namespace stats {

// Warps per block, chunks that a warp has in flight, including the current one, and concurrent blocks per
// multiprocessor.
template <int WARPS_, int DEPTH_, int BLOCKS_> struct stream_shape {
  static constexpr int WARPS = WARPS_, DEPTH = DEPTH_, BLOCKS = BLOCKS_;
  static constexpr int OWN_CHUNKS = UNIT / WARPS;       // per warp
  static constexpr int LINE = 32 + 32 / OWN_CHUNKS % 8; // moments of a chunk, see fold_moments
  static constexpr int BYTES = WARPS * DEPTH * FC_STATS_CHUNK * 4 + UNIT * LINE * 16;
};
using stream = stream_shape<4, 2, 5>;
constexpr int64_t STREAM_LEAST = 1024; // minimum of units for which this pays

// Starts to copy a lane's four samples of every row of a chunk, 16 bytes each.
__device__ __forceinline__ void copy_own(float4 *to, const char *from) {
#pragma unroll
  for (int i = 0; i < FC_STATS_ROWS; i++) fc_copy_words_once(to + i * 32, from + i * 512);
}

// The merged parts of a warp's consecutive chunks, from the moments of each lane; false if a sample is not
// finite. 32 / CHUNKS adjacent lanes have a chunk: lines of moments are padded so that different chunks use
// different banks.
template <class S>
__device__ __forceinline__ bool fold_moments(const double2 (*lines)[S::LINE], fc_stats_part *p) {
  constexpr int CHUNKS = S::OWN_CHUNKS, GROUP = 32 / CHUNKS;
  const int lane = threadIdx.x % 32;
  moments m[CHUNKS];
#pragma unroll
  for (int j = 0; j < CHUNKS; j++) {
    const double2 v = lines[lane / GROUP][lane % GROUP + GROUP * j];
    m[j].sum = v.x, m[j].twice = v.y;
  }
  double each = 1.0 / 32;
#pragma unroll
  for (int half = CHUNKS / 2; half > 0; half /= 2, each *= 0.5)
#pragma unroll
    for (int j = 0; j < half; j++) m[j] = fc_stats_join(m[j], m[j + half], each);
  moments all = m[0];
#pragma unroll
  for (int by = GROUP / 2; by > 0; by /= 2, each *= 0.5) all = join_across(all, by, each);
  fc_stats_part_set(p, all);
  double squares = p->squares;
#pragma unroll
  for (int by = GROUP; by < 32; by *= 2, each *= 0.5)
    all = join_across(all, by, each), squares = plus(squares, across(squares, by));
  p->finite = CHUNKS * FC_STATS_CHUNK;
  p->sum = all.sum, p->spread = fc_stats_times(all.twice, 0.5), p->squares = squares;
  return all.sum - all.sum == 0;
}

// Merges the `count` parts of a unit, by a warp, and stores the result.
__device__ __forceinline__ void merge_and_deliver(const layout &l, const place &at, fc_stats_part *parts,
                                                  int count, fc_stats_part *units, char *blocks,
                                                  int64_t frame_bytes) {
  const int k = threadIdx.x % 32;
  for (int apart = 1; apart < count; apart *= 2) {
    if (k < count && (k & (2 * apart - 1)) == 0) parts[k] = merge(parts[k], parts[k + apart]);
    __syncwarp();
  }
  if (k == 0) deliver_unit(l, at, parts[0], units, blocks, frame_bytes);
}

template <class S>
__global__ void __launch_bounds__(32 * S::WARPS, S::BLOCKS)
    stream_units(const __grid_constant__ layout l, fc_stats_part *units, char *blocks, int64_t frame_bytes) {
  extern __shared__ float4 stream_rooms[];
  __shared__ fc_stats_part parts[UNIT];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  double2(*lines)[S::LINE] = reinterpret_cast<double2(*)[S::LINE]>(stream_rooms);
  float4 *room = stream_rooms + UNIT * S::LINE + warp * (S::DEPTH * FC_STATS_CHUNK / 4) + lane;
  lines += warp * S::OWN_CHUNKS;
  const place at = place_of(l, blockIdx.x);
  const char *from = block_at(l, at) +
                     (static_cast<int64_t>(at.unit) * UNIT + warp * S::OWN_CHUNKS) * (FC_STATS_CHUNK * 4) +
                     lane * 16;
#pragma unroll
  for (int k = 0; k < S::DEPTH - 1; k++) copy_own(room + k * 256, from + k * 4096), fc_commit_copies();
  float least = CUDART_INF_F, most = -CUDART_INF_F;
#pragma unroll(S::OWN_CHUNKS % S::DEPTH == 0 ? S::DEPTH : S::OWN_CHUNKS)
  for (int k = 0; k < S::OWN_CHUNKS; k++) {
    const int later = k + S::DEPTH - 1;
    if (later < S::OWN_CHUNKS) copy_own(room + later % S::DEPTH * 256, from + later * 4096);
    fc_commit_copies();
    fc_await_copies<S::DEPTH - 1>();
    float v[EACH];
#pragma unroll
    for (int i = 0; i < FC_STATS_ROWS; i++) {
      const float4 q = room[k % S::DEPTH * 256 + i * 32];
      v[4 * i] = q.x, v[4 * i + 1] = q.y, v[4 * i + 2] = q.z, v[4 * i + 3] = q.w;
    }
#pragma unroll
    for (int i = 0; i < EACH; i++) least = fminf(least, v[i]), most = fmaxf(most, v[i]);
    const moments m = moments_of_quads(v);
    lines[k][lane] = make_double2(m.sum, m.twice);
  }
  __syncwarp();
  fc_stats_part p = fc_stats_part_none();
  const bool finite = fold_moments<S>(lines, &p);
  p.least = plus(least_of_lanes(least), 0), p.most = plus(most_of_lanes(most), 0);
  if (lane == 0) parts[warp] = p;
  int count = S::WARPS;
  if (__syncthreads_or(!finite)) {
    for (int k = warp; k < UNIT; k += S::WARPS) measure_one<float, S::WARPS>(l, at, k, &parts[k]);
    __syncthreads();
    count = UNIT;
  }
  if (warp == 0) merge_and_deliver(l, at, parts, count, units, blocks, frame_bytes);
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

// FC_UNSUPPORTED if units are unsuitable, or few.
static inline fc_status launch_stream(const fc_view *in, const layout &l, fc_stats_part *units, char *blocks,
                                      int64_t frame_bytes, cudaStream_t on) {
  const int64_t total = l.frames * l.blocks * l.units * l.channels;
  static_assert(stream::BYTES + sizeof(fc_stats_part) * UNIT <= 48 << 10, "what a kernel has without asking");
  if (total < STREAM_LEAST || total > INT32_MAX || !can_stream(in, l)) return FC_UNSUPPORTED;
  stream_units<stream><<<static_cast<unsigned>(total), 32 * stream::WARPS, stream::BYTES, on>>>(
      l, units, blocks, frame_bytes);
  return fc_launch_status();
}

} // namespace stats

#endif
