// SPDX-License-Identifier: MIT
//
// stats.cu - statistics of a whole signal on a CUDA device.
//
// One kernel reads the signal once. A warp measures a chunk of 1024 samples of a channel, 32 samples in the
// registers of each lane, so that all loads are in flight together and the deviations from the chunk's mean
// need no second read. A block of threads has up to 16 consecutive chunks, a *unit*, and merges them as a
// tree. A unit is a whole block of the signal, except for rows of more than 16384 samples, whose units a
// second kernel merges. Long signals of floats and short ones of integers have their own kernels, as have
// floats in any layout and interleaved channels. All follow the order of the
// CPU to the bit: lane t of a warp has the lanes 4 t .. 4 t + 3 of the chunk, which one load brings where
// samples are adjacent.
#include "filters/gpu/copy_async.cuh"
#include "filters/base/lines.h"
#include "filters/stats/units.cuh"

namespace stats {

// ---- short signals ----------------------------------------------------------------

// Short signals of integers on sm_90: two blocks of threads that can access each other's shared
// memory, a cluster, share a unit of 16 chunks, so that twice as many multiprocessors have work and each
// waits half as long.

constexpr int CLUSTER = 2, CLUSTER_WARPS = UNIT / CLUSTER;

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ void cluster_arrive(void) {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait(void) {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The address in the cluster's first block that corresponds to `to`.
__device__ __forceinline__ void store_first(fc_stats_part *to, const fc_stats_part &p) {
  static_assert(sizeof p % 16 == 0, "sixteen bytes at a time");
  uint4 words[sizeof p / 16];
  uint32_t there;
  memcpy(words, &p, sizeof p);
  asm("mapa.shared::cluster.u32 %0, %1, 0;"
      : "=r"(there)
      : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))));
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof p / 16); i++)
    asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(there + 16 * i), "r"(words[i].x),
                 "r"(words[i].y), "r"(words[i].z), "r"(words[i].w)
                 : "memory");
}
#endif

#if __CUDA_ARCH__ >= 900
// By a warp, whose second half repeats the first. The sums of a unit fit 64 bits, those of squares do not.
__device__ __forceinline__ fc_stats_part merge_cluster(const fc_stats_part *parts, int64_t samples) {
  fc_stats_part p = parts[threadIdx.x % UNIT];
  p.finite = static_cast<uint64_t>(samples);
  p.least = least_of_lanes(__double2int_rn(p.least)), p.most = most_of_lanes(__double2int_rn(p.most));
#pragma unroll
  for (int by = 1; by < UNIT; by *= 2) {
    p.sum_low += across(p.sum_low, by);
    fc_stats_add_wide(&p.squares_low, &p.squares_high, across(p.squares_low, by), across(p.squares_high, by));
  }
  p.sum_high = static_cast<int64_t>(p.sum_low) < 0 ? ~UINT64_C(0) : 0;
  return p;
}
#endif

// One unit per cluster, one chunk per warp.
template <typename T>
__global__ void __launch_bounds__(32 * CLUSTER_WARPS)
    measure_clusters(const __grid_constant__ layout l, fc_stats_part *units, char *blocks,
                     int64_t frame_bytes) {
#if __CUDA_ARCH__ >= 900
  __shared__ alignas(16) fc_stats_part parts[UNIT];
  cluster_arrive(); // the other block's memory is accessible once that block runs
  const int k = static_cast<int>(blockIdx.x % CLUSTER * CLUSTER_WARPS + threadIdx.x / 32);
  const place at = place_of(l, blockIdx.x / CLUSTER);
  const int64_t first = (static_cast<int64_t>(at.unit) * UNIT + k) * FC_STATS_CHUNK;
  const int64_t left = samples_in(l, at.block) - first;
  fc_stats_part p = fc_stats_part_none();
  // Until here the kernel before may still run; the next one may begin while this one merges.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (left > 0)
    p = measure_codes<T>(l, block_at(l, at), first, left < FC_STATS_CHUNK ? left : FC_STATS_CHUNK);
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  cluster_wait();
  if (threadIdx.x % 32 == 0) store_first(&parts[k], p);
  __syncwarp(); // a warp arrives as one
  cluster_arrive();
  if (blockIdx.x % CLUSTER) return;
  cluster_wait();
  if (threadIdx.x >= 32) return;
  const int64_t rest = samples_in(l, at.block) - static_cast<int64_t>(at.unit) * (UNIT * FC_STATS_CHUNK);
  p = merge_cluster(parts, rest < UNIT * FC_STATS_CHUNK ? rest : UNIT * FC_STATS_CHUNK);
  if (threadIdx.x == 0 && rest > 0) deliver_unit(l, at, p, units, blocks, frame_bytes);
#endif
}

// FC_UNSUPPORTED if the kernel has no code.
template <typename T>
static fc_status launch_clusters(const layout &l, unsigned count, fc_stats_part *units, char *blocks,
                                 int64_t frame_bytes, cudaStream_t stream) {
  cudaFuncAttributes about;
  if (cudaFuncGetAttributes(&about, measure_clusters<T>) != cudaSuccess || about.ptxVersion < 90) {
    (void)cudaGetLastError();
    return FC_UNSUPPORTED;
  }
  cudaLaunchAttribute how[2] = {};
  how[0].id = cudaLaunchAttributeClusterDimension;
  how[0].val.clusterDim.x = CLUSTER, how[0].val.clusterDim.y = how[0].val.clusterDim.z = 1;
  how[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  how[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(count * CLUSTER), config.blockDim = dim3(32 * CLUSTER_WARPS), config.stream = stream;
  config.attrs = how, config.numAttrs = 2;
  (void)cudaLaunchKernelEx(&config, measure_clusters<T>, l, units, blocks, frame_bytes);
  return fc_launch_status();
}

// ---- long signals -----------------------------------------------------------------

// Long signals of floats whose units are whole, adjacent and aligned. A block of threads
// processes one unit; each lane copies its own samples of later chunks into shared memory (cp.async), so that
// data in flight need no registers and no other lane waits for them. The moments of each lane's part of a
// chunk are folded when all are available, for all chunks together.

// Warps per block, chunks that a warp has in flight, including the current one, and concurrent blocks per
// multiprocessor.
template <int WARPS_, int DEPTH_, int BLOCKS_> struct stream_shape {
  static constexpr int WARPS = WARPS_, DEPTH = DEPTH_, BLOCKS = BLOCKS_;
  static constexpr int OWN_CHUNKS = UNIT / WARPS;       // per warp
  static constexpr int LINE = 32 + 32 / OWN_CHUNKS % 8; // moments of a chunk, see fold_moments
  static constexpr int BYTES = WARPS * DEPTH * FC_STATS_CHUNK * 4 + UNIT * LINE * 16;
};
using stream = stream_shape<4, 2, 5>;

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
#pragma unroll 1
    for (int k = warp; k < UNIT; k += S::WARPS) {
      p = measure_easy<float>(l, block_at(l, at),
                              (static_cast<int64_t>(at.unit) * UNIT + k) * FC_STATS_CHUNK);
      if (lane == 0) parts[k] = p;
    }
    __syncthreads();
    count = UNIT;
  }
  if (warp == 0) merge_and_deliver(l, at, parts, count, units, blocks, frame_bytes);
}

static inline fc_status launch_stream(const layout &l, fc_stats_part *units, char *blocks,
                                      int64_t frame_bytes, cudaStream_t on) {
  static_assert(stream::BYTES + sizeof(fc_stats_part) * UNIT <= 48 << 10, "what a kernel has without asking");
  stream_units<stream><<<static_cast<unsigned>(fc_stats_units(&l)), 32 * stream::WARPS, stream::BYTES, on>>>(
      l, units, blocks, frame_bytes);
  return fc_launch_status();
}

// ---- interleaved channels -----------------------------------------------------------

// Statistics of interleaved channels, read once: a warp measures a chunk of each channel in turn, or, of 8
// and 16 bits, of all channels at once, separating the channels within words.

// From CHANNELS words of interleaved channels: the elements of channel c as one word.
template <typename T, int CHANNELS>
__device__ __forceinline__ uint32_t channel_word(const uint32_t (&w)[CHANNELS], int c) {
  constexpr int PACK = 4 / sizeof(T), BITS = 8 * sizeof(T);
  uint32_t word = 0;
#pragma unroll
  for (int k = 0; k < PACK; k++) {
    const int at = k * CHANNELS + c;
    word |= (w[at / PACK] >> at % PACK * BITS & (~0u >> (32 - BITS))) << k * BITS;
  }
  return word;
}

// Loads a whole chunk of each channel, from any address: aligned words are loaded and shifted, and only words
// that contain the chunk are read.
template <typename T, int CHANNELS>
__device__ __forceinline__ void add_pixels(code_sums<T> (&sums)[CHANNELS], const char *from, uint32_t flip) {
  constexpr int GROUPS = EACH * static_cast<int>(sizeof(T)) / 4;
  const uint32_t askew = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) % 4);
  const uint32_t *at = reinterpret_cast<const uint32_t *>(from - askew) + threadIdx.x % 32 * CHANNELS;
#pragma unroll 4
  for (int i = 0; i < GROUPS; i++, at += 32 * CHANNELS) {
    uint32_t w[CHANNELS + 1];
#pragma unroll
    for (int j = 0; j < CHANNELS; j++) w[j] = at[j];
    w[CHANNELS] = askew ? at[CHANNELS] : 0;
    uint32_t shifted[CHANNELS];
#pragma unroll
    for (int j = 0; j < CHANNELS; j++) shifted[j] = __funnelshift_r(w[j], w[j + 1], askew * 8);
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) sums[c].add(channel_word<T, CHANNELS>(shifted, c) ^ flip);
  }
}

// The number of channels; those of 32 bits are measured in turn, so that one kernel serves all numbers.
template <typename T, int CHANNELS> __device__ __forceinline__ uint32_t channels_of(const layout &l) {
  return sizeof(T) < 4 ? CHANNELS : static_cast<uint32_t>(l.channels);
}

// Measures chunk k of a unit for every channel: parts[c * UNIT].
template <typename T, int CHANNELS>
__device__ __forceinline__ void measure_pixel_chunk(const layout &l, place at, int k, fc_stats_part *parts) {
  const int64_t first = (static_cast<int64_t>(at.unit) * l.unit + k) * FC_STATS_CHUNK,
                count = samples_in(l, at.block) - first;
  const bool leads = threadIdx.x % 32 == 0;
  if constexpr (static_cast<T>(0.5) == 0 && sizeof(T) < 4)
    if (count >= FC_STATS_CHUNK) {
      code_sums<T> sums[CHANNELS];
      add_pixels<T, CHANNELS>(sums, block_at(l, at) + first * l.in.stride[FC_AXIS_X],
                              sizeof(T) == 2 ? l.flip : 0);
#pragma unroll
      for (int c = 0; c < CHANNELS; c++) {
        const fc_stats_part p = part_of_codes<T>(sums[c], FC_STATS_CHUNK, 0, l.bias);
        if (leads) parts[c * UNIT] = p;
      }
      return;
    }
#pragma unroll 1
  for (at.c = 0; at.c < channels_of<T, CHANNELS>(l); at.c++) {
    if (count <= 0) {
      if (k == 0 && leads) parts[at.c * UNIT] = fc_stats_part_none();
      continue;
    }
    const fc_stats_part p =
        measure<T>::chunk(l, block_at(l, at), first, count < FC_STATS_CHUNK ? count : FC_STATS_CHUNK);
    if (leads) parts[at.c * UNIT] = p;
  }
}

// UNIT / l.unit units per block, each of all channels; warp c merges those of channel c.
template <typename T, int CHANNELS>
__global__ void __launch_bounds__(32 * FEW, resident<T>)
    measure_pixels(const __grid_constant__ layout l, fc_stats_part *units, char *blocks,
                   int64_t frame_bytes) {
  static_assert(CHANNELS <= FEW, "a warp merges a channel");
  __shared__ fc_stats_part parts[CHANNELS * UNIT];
  __shared__ int left;
  if (threadIdx.x == 0) left = UNIT;
  __syncthreads();
  const int64_t total = l.frames * l.blocks * l.units;
  const uint32_t base = blockIdx.x << (UNIT_BITS - l.unit_bits), channels = channels_of<T, CHANNELS>(l);
#pragma unroll 1
  for (int i = take(&left); i >= 0; i = take(&left)) {
    const uint32_t set = base + (i >> l.unit_bits);
    if (set < total)
      measure_pixel_chunk<T, CHANNELS>(l, place_of(l, set * channels), i & (l.unit - 1), &parts[i]);
  }
  __syncthreads();
  const uint32_t c = threadIdx.x / 32;
  if (c < channels)
    finish_units<T>(l, &parts[c * UNIT], base, total, units, blocks, frame_bytes, channels, c);
}

// FC_UNSUPPORTED for more channels than there are kernels for.
template <typename T>
static fc_status launch_pixels(const layout &l, fc_stats_part *units, char *blocks, int64_t frame_bytes,
                               cudaStream_t stream) {
  const int64_t total = l.frames * l.blocks * l.units, each = UNIT / l.unit;
  const unsigned grid = static_cast<unsigned>((total + each - 1) / each);
  if (l.channels > FEW) return FC_UNSUPPORTED;
  if (sizeof(T) == 4 || l.channels == 4)
    measure_pixels<T, 4><<<grid, 32 * FEW, 0, stream>>>(l, units, blocks, frame_bytes);
  else if constexpr (sizeof(T) < 4)
    (l.channels == 2 ? measure_pixels<T, 2>
                     : measure_pixels<T, 3>)<<<grid, 32 * FEW, 0, stream>>>(l, units, blocks, frame_bytes);
  return fc_launch_status();
}

} // namespace stats

// Signals of floats in any layout: rows of any length and alignment, with or without gaps, and up to four
// interleaved channels. Each warp copies the chunks that it measures into shared memory, word by word
// (cp.async), while it measures the previous one. In shared memory the samples of a channel are adjacent and
// aligned, so that one measuring routine serves all layouts.

namespace stats {

// Floats between channels in shared memory, such that neighbouring words of global memory go to different
// banks.
template <int C> constexpr int GATHER_PITCH = FC_STATS_CHUNK + (C == 1 ? 0 : (32 / C + 3) / 4 * 4);

// Warps per block and resident blocks: enough to hide that each warp waits for its own copies.
template <int C_, int WARPS_, int BLOCKS_> struct gather_shape {
  static constexpr int C = C_, WARPS = WARPS_, BLOCKS = BLOCKS_; // C: number of channels
  static constexpr int ROOM = C * GATHER_PITCH<C>;               // floats per warp
  static constexpr int BYTES = WARPS * ROOM * 4;
};

struct gather_layout {
  layout l;
  fc_dev_divider by_columns;
  int64_t sets;                    // units; of all channels together if interleaved
  int step32_rows, step32_columns; // row and column increments of 32 samples
  bool ragged;                     // there are incomplete chunks
};

// A chunk: the address of its block; the index of its first sample in the block; the number of its samples, 0
// if it is beyond the signal.
struct gather_chunk {
  const char *block;
  int64_t first;
  int count;
};

template <int C>
__device__ __forceinline__ gather_chunk gather_chunk_of(const gather_layout &g, uint32_t base, int i) {
  const layout &l = g.l;
  const uint32_t set = base + (i >> l.unit_bits);
  if (set >= g.sets) return {nullptr, 0, 0};
  const place at = place_of(l, set * C); // of the first channel (with C = 1 the only one)
  const int64_t first = (static_cast<int64_t>(at.unit) * l.unit + (i & (l.unit - 1))) * FC_STATS_CHUNK,
                count = samples_in(l, at.block) - first;
  return {block_at(l, at), first,
          static_cast<int>(count < FC_STATS_CHUNK ? count > 0 ? count : 0 : FC_STATS_CHUNK)};
}

// Copies a chunk's words that are contiguous, except for one gap of `gap` bytes before word `split`.
template <int C, bool WHOLE>
__device__ __forceinline__ void copy_run(float *room, const char *from, int words, int split, int64_t gap) {
  const int lane = threadIdx.x % 32;
  from += lane * 4;
#pragma unroll
  for (int i = 0; i < 32 * C; i++) {
    // 32 C words are 32 pixels, so the part in brackets depends on i % C only.
    const int within = i % C * 32 + lane, at = i * 32 + lane;
    float *to = room + (within % C * GATHER_PITCH<C> + within / C) + i / C * 32;
    if (WHOLE)
      fc_copy_word<4>(to, from + i * 128);
    else if (at < words)
      fc_copy_word<4>(to, from + i * 128 + (at < split ? 0 : gap));
  }
}

// Copies the samples of one channel, or of all channels of each pixel, in any layout: a lane steps from each
// pixel to the one 32 columns further.
template <int C>
__device__ __forceinline__ void copy_apart(const gather_layout &g, float *room, const gather_chunk &k) {
  const int lane = threadIdx.x % 32;
  const int64_t x_step = g.l.in.stride[FC_AXIS_X], y_step = g.l.in.stride[FC_AXIS_Y];
  const int columns = g.l.even ? INT32_MAX : static_cast<int>(g.l.columns);
  const int64_t on = g.l.even ? 32 * x_step : g.step32_rows * y_step + g.step32_columns * x_step,
                wrap = y_step - columns * x_step;
#pragma unroll
  for (int b = 0; b < C; b++) {
    const int c = (32 * b + lane) % C, p = (32 * b + lane) / C;
    const int e = static_cast<int>(k.first) + p, y = g.l.even ? 0 : g.by_columns.quotient(e);
    int x = g.l.even ? 0 : e - y * columns;
    const char *from = k.block + (g.l.even ? (k.first + p) * x_step : y * y_step + x * x_step) + c * 4;
    float *to = room + c * GATHER_PITCH<C> + p;
#pragma unroll 8
    for (int i = 0; i < 32; i++) {
      if (p + 32 * i < k.count) fc_copy_word<4>(to + 32 * i, from);
      x += g.step32_columns, from += on;
      if (x >= columns) x -= columns, from += wrap;
    }
  }
}

template <int C>
__device__ __forceinline__ void copy_chunk(const gather_layout &g, float *room, const gather_chunk &k) {
  const layout &l = g.l;
  if (l.in.stride[FC_AXIS_X] != 4 * C) return copy_apart<C>(g, room, k);
  const char *from = k.block + k.first * (4 * C);
  int left = FC_STATS_CHUNK;
  if (!l.even) {
    const int first = static_cast<int>(k.first), columns = static_cast<int>(l.columns),
              y = g.by_columns.quotient(first), x = first - y * columns;
    left = columns - x;
    if (left + columns < k.count) return copy_apart<C>(g, room, k);
    from = k.block + y * l.in.stride[FC_AXIS_Y] + x * (4 * C);
  }
  if (k.count < FC_STATS_CHUNK || left < k.count)
    return copy_run<C, false>(room, from, k.count * C, left * C,
                              l.in.stride[FC_AXIS_Y] - l.columns * (4 * C));
  if (C > 1 || reinterpret_cast<uintptr_t>(from) % 16) return copy_run<C, true>(room, from, 0, 0, 0);
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < FC_STATS_ROWS; i++)
    fc_copy_words(room + (i * 32 + lane) * 4, from + (i * 32 + lane) * 16);
}

// ---- measuring -----------------------------------------------------------------

__device__ __noinline__ fc_stats_part measure_some_of(const float *room, int count) {
  float v[EACH];
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const int at = i * 32 + threadIdx.x % 32;
    v[i] = at < count ? room[at] : CUDART_NAN_F;
  }
  return some_of(v, count);
}

__device__ __forceinline__ moments chosen(bool second, const moments &a, const moments &b) {
  return {second ? b.sum : a.sum, second ? b.twice : a.twice};
}
// Lanes with bit `by` set keep b, the others a; each joins it with the same moments of its partner lane.
__device__ __forceinline__ moments join_halves(const moments &a, const moments &b, int by, double each) {
  const bool high = threadIdx.x & by;
  const moments mine = chosen(high, a, b), other = chosen(high, b, a);
  const moments there = {across(other.sum, by), across(other.twice, by)};
  return fc_stats_join(mine, there, each);
}

// The moments of all channels are reduced together: GATHER_GROUP adjacent lanes end up with those of one
// channel.
template <int CHANNELS> constexpr int GATHER_GROUP = CHANNELS == 1 ? 32 : CHANNELS == 2 ? 16 : 8;
template <int C> __device__ __forceinline__ moments fold_channels(const moments (&m)[C]) {
  moments all = m[0];
  double each = 1.0 / 32;
  int by = 16;
  if constexpr (C == 2) all = join_halves(m[0], m[1], 16, each), by = 8;
  if constexpr (C > 2) {
    const moments low = join_halves(m[0], m[2], 16, each), high = join_halves(m[1], m[C - 1], 16, each);
    all = join_halves(low, high, 8, each * 0.5), by = 4;
  }
  each = by / 512.0;
#pragma unroll
  for (; by > 0; by /= 2, each *= 0.5) all = join_across(all, by, each);
  return all;
}

// Measures a whole chunk: parts[c * UNIT].
template <int C> __device__ __forceinline__ void measure_room(const float *room, fc_stats_part *parts) {
  constexpr int GROUP = GATHER_GROUP<C>;
  const int lane = threadIdx.x % 32, mine = lane / GROUP;
  moments m[C];
  float least = 0, most = 0;
#pragma unroll
  for (int c = 0; c < C; c++) {
    float v[EACH];
#pragma unroll
    for (int i = 0; i < FC_STATS_ROWS; i++) {
      const float4 q =
          *reinterpret_cast<const float4 *>(room + c * GATHER_PITCH<C> + i * FC_STATS_LANES + lane * 4);
      v[4 * i] = q.x, v[4 * i + 1] = q.y, v[4 * i + 2] = q.z, v[4 * i + 3] = q.w;
    }
    float low = v[0], high = v[0];
#pragma unroll
    for (int i = 1; i < EACH; i++) low = fminf(low, v[i]), high = fmaxf(high, v[i]);
    low = least_of_lanes(low), high = most_of_lanes(high);
    least = mine == c ? low : least, most = mine == c ? high : most;
    m[c] = moments_of_quads(v);
    asm volatile("" ::: "memory"); // keeps channels separate: all at once need too many registers
  }
  const moments all = fold_channels<C>(m);
  const bool good = all.sum - all.sum == 0; // a finite sum implies finite samples
  if (lane % GROUP == 0 && mine < C) {
    fc_stats_part p = fc_stats_part_none();
    fc_stats_part_set(&p, all);
    p.least = plus(least, 0), p.most = plus(most, 0);
    parts[mine * UNIT] = p;
  }
  const uint32_t bad = __ballot_sync(ALL, !good);
  if (bad == 0) return;
  __syncwarp(); // the parts below overwrite those above
#pragma unroll 1
  for (int c = 0; c < C; c++) {
    if ((bad >> c * GROUP & 1) == 0) continue;
    const fc_stats_part p = measure_some_of(room + c * GATHER_PITCH<C>, FC_STATS_CHUNK);
    if (lane == 0) parts[c * UNIT] = p;
  }
}

// One chunk of a block. An incomplete chunk takes as long as several whole ones, so each of its channels is
// measured by a separate warp. c: the channel for this warp.
template <int C> struct gather_piece {
  gather_chunk k;
  int c;

  __device__ __forceinline__ bool is_whole(void) const { return k.count == FC_STATS_CHUNK; }
  __device__ __forceinline__ void copy(const gather_layout &g, float *room) const {
    gather_chunk own = k;
    own.block += c * 4;
    if (is_whole() ? c == 0 : C == 1 && k.count > 0)
      copy_chunk<C>(g, room, own);
    else if (!is_whole() && k.count > 0)
      copy_apart<1>(g, room, own);
    fc_commit_copies();
  }
  __device__ __forceinline__ void measure(const float *room, fc_stats_part *parts) const {
    if (is_whole()) {
      if (c == 0) measure_room<C>(room, parts);
      return;
    }
    fc_stats_part p = fc_stats_part_none();
    if (k.count > 0) p = measure_some_of(room, k.count);
    if (threadIdx.x % 32 == 0) parts[c * UNIT] = p;
  }
};

// UNIT / l.unit units per block, as in measure_units and measure_pixels. If there are incomplete chunks
// (g.ragged), the last chunks come first, and warps take chunks as they become free; otherwise all take the
// same time.
template <class S>
__global__ void __launch_bounds__(32 * S::WARPS, S::BLOCKS)
    gather_units(const __grid_constant__ gather_layout g, fc_stats_part *units, char *blocks,
                 int64_t frame_bytes) {
  constexpr int C = S::C;
  extern __shared__ float4 gather_rooms[];
  __shared__ fc_stats_part parts[C * UNIT];
  __shared__ int left;
  const layout &l = g.l;
  const int warp = threadIdx.x / 32, pieces = g.ragged ? C * UNIT : UNIT;
  float *room = reinterpret_cast<float *>(gather_rooms) + warp * S::ROOM;
  const uint32_t base = blockIdx.x << (UNIT_BITS - l.unit_bits);
  if (g.ragged) {
    if (threadIdx.x == 0) left = pieces - S::WARPS;
    __syncthreads();
  }
#pragma unroll 1
  for (int i = g.ragged ? pieces - 1 - warp : warp, next; i >= 0 && i < pieces; i = next) {
    const int chunk = g.ragged ? i / C : i;
    const gather_piece<C> piece = {gather_chunk_of<C>(g, base, chunk), g.ragged ? i - chunk * C : 0};
    piece.copy(g, room);
    next = g.ragged ? take(&left) : i + S::WARPS;
    fc_await_copies();
    __syncwarp();
    piece.measure(room, &parts[chunk]);
    __syncwarp();
  }
  __syncthreads();
  for (uint32_t c = warp; c < C; c += S::WARPS)
    finish_units<float>(l, &parts[c * UNIT], base, g.sets, units, blocks, frame_bytes, C, c);
}

// ---- host ----------------------------------------------------------------------

static inline gather_layout gather_layout_of(const layout &l, bool together) {
  const int64_t columns = l.columns < 1 ? 1 : l.columns;
  gather_layout g = {l, fc_dev_divider_of(columns), 0, 0, 0, false};
  g.sets = l.frames * l.blocks * l.units * (together ? 1 : l.channels);
  if (!l.even)
    g.step32_rows = static_cast<int>(32 / columns), g.step32_columns = static_cast<int>(32 % columns);
  return g;
}

template <class S>
static fc_status launch_gather_for(const layout &l, fc_stats_part *units, char *blocks, int64_t frame_bytes,
                                   cudaStream_t stream) {
  const int64_t last = l.length % l.align * (l.audio ? 1 : l.columns); // samples in a frame's last block
  gather_layout g = gather_layout_of(l, S::C > 1);
  g.ragged = l.columns < 1 || l.ragged || last % FC_STATS_CHUNK != 0;
  const int64_t each = UNIT / l.unit;
  if (S::BYTES > 40 << 10 && !fc_allow_shared(gather_units<S>, S::BYTES)) return FC_UNSUPPORTED;
  gather_units<S><<<static_cast<unsigned>((g.sets + each - 1) / each), 32 * S::WARPS, S::BYTES, stream>>>(
      g, units, blocks, frame_bytes);
  return fc_launch_status();
}

static inline fc_status launch_gather(const layout &l, fc_stats_part *units, char *blocks,
                                      int64_t frame_bytes, cudaStream_t stream) {
  switch (l.pixels ? l.channels : 1) {
  case 2: return launch_gather_for<gather_shape<2, 4, 5>>(l, units, blocks, frame_bytes, stream);
  case 3: return launch_gather_for<gather_shape<3, 4, 4>>(l, units, blocks, frame_bytes, stream);
  case 4: return launch_gather_for<gather_shape<4, 2, 6>>(l, units, blocks, frame_bytes, stream);
  default: return launch_gather_for<gather_shape<1, 4, 8>>(l, units, blocks, frame_bytes, stream);
  }
}

} // namespace stats

namespace stats {

// UNIT / l.unit adjacent units per block of threads. units[] of those that are not whole blocks is
// [frame][block][channel][unit]. An incomplete chunk takes as long as many whole ones: it is the last
// (`ragged`), is started first, and its warp takes no other.
template <typename T, int WARPS, int RESIDENT>
__global__ void __launch_bounds__(32 * WARPS, RESIDENT)
    measure_units(const __grid_constant__ layout l, fc_stats_part *units, char *blocks, int64_t frame_bytes) {
  __shared__ fc_stats_part parts[UNIT];
  __shared__ int left;
  if (l.ragged) {
    if (threadIdx.x == 0) left = UNIT;
    __syncthreads();
  }
  const int64_t total = l.frames * l.blocks * l.units * l.channels;
  const uint32_t base = blockIdx.x << (UNIT_BITS - l.unit_bits);
#pragma unroll 1
  for (int i = l.ragged ? take(&left) : threadIdx.x / 32; i >= 0 && i < UNIT;
       i = l.ragged ? take(&left) : i + WARPS) {
    const uint32_t set = base + (i >> l.unit_bits);
    if (set < total) measure_one<T, WARPS>(l, place_of(l, set), i & (l.unit - 1), &parts[i]);
  }
  __syncthreads();
  if (threadIdx.x < 32) finish_units<T>(l, parts, base, total, units, blocks, frame_bytes);
}

// ---- a block of several units ------------------------------------------------

// Merges neighbours, then neighbours of these: the tree of fc_stats_push, for parts that are `step` apart up
// to those MERGERS times as far. blockIdx.y is the block and channel; a last pass stores the result.
__global__ void __launch_bounds__(MERGERS) merge_units(const __grid_constant__ layout l, fc_stats_part *units,
                                                       int64_t step, char *blocks, int64_t frame_bytes) {
  const int64_t span = l.unit * FC_STATS_CHUNK, first = static_cast<int64_t>(blockIdx.x) * step * MERGERS;
  const uint32_t whole = static_cast<uint32_t>(l.frames * l.blocks * l.channels);
  for (uint32_t i = blockIdx.y; i < whole; i += gridDim.y) {
    uint32_t rest = i;
    place at = {0, 0, 0, split_off(&rest, l.channels)};
    at.n = rest / static_cast<uint32_t>(l.blocks), at.block = rest - at.n * static_cast<uint32_t>(l.blocks);
    fc_stats_part *own = units + i * l.units + first;
    const int64_t count = (samples_in(l, at.block) + span - 1) / span - first, mine = threadIdx.x * step;
    for (int apart = 1; apart < MERGERS; apart *= 2) {
      if (threadIdx.x % (2 * apart) == 0 && mine + apart * step < count)
        own[mine] = merge(own[mine], own[mine + apart * step]);
      __syncthreads();
    }
    if (threadIdx.x == 0 && step * MERGERS >= l.units) deliver(l, blocks, frame_bytes, at, own[0]);
  }
}

// ---- host ------------------------------------------------------------------

static layout layout_of(const fc_view *in, int64_t align) {
  layout l = {fc_stats_case_of(in, align), fc_dev_view_of(in), 0};
  if (!l.audio && l.columns == 1) l.in.stride[FC_AXIS_X] = l.in.stride[FC_AXIS_Y]; // equal steps
  return l;
}

// Of the type T; kernels that do not exist for it are not chosen.
template <typename T>
static fc_status launch(fc_stats_kernel kernel, const layout &l, fc_stats_part *units, char *blocks,
                        int64_t frame_bytes, cudaStream_t stream) {
  constexpr bool CODES = static_cast<T>(0.5) == 0;
  const unsigned grid = static_cast<unsigned>(fc_stats_groups(&l));
  if constexpr (CODES) {
    if (kernel == FC_STATS_CLUSTERS) return launch_clusters<T>(l, grid, units, blocks, frame_bytes, stream);
    if (kernel == FC_STATS_PIXELS) return launch_pixels<T>(l, units, blocks, frame_bytes, stream);
  } else if constexpr (std::is_same<T, float>::value) {
    if (kernel == FC_STATS_STREAM) return launch_stream(l, units, blocks, frame_bytes, stream);
    if (kernel == FC_STATS_GATHER) return launch_gather(l, units, blocks, frame_bytes, stream);
  }
  if (kernel == FC_STATS_WARPS) {
    measure_units<T, ALL_WARPS, 1><<<grid, 32 * ALL_WARPS, 0, stream>>>(l, units, blocks, frame_bytes);
    return fc_launch_status();
  }
  if constexpr (std::is_same<T, float>::value) {
    return FC_UNSUPPORTED;
  } else {
    measure_units<T, FEW, resident_alone<T>><<<grid, 32 * FEW, 0, stream>>>(l, units, blocks, frame_bytes);
    return fc_launch_status();
  }
}

static fc_status launch_first(const layout &l, fc_stats_part *units, char *blocks, int64_t frame_bytes,
                              cudaStream_t stream) {
  layout as = l;
  if (l.dtype == FC_U16) as.dtype = FC_I16, as.flip = 0x80008000, as.bias -= 0x8000;
  for (int from = FC_STATS_STREAM;; from++) {
    const fc_stats_kernel kernel = fc_stats_choose(&l, static_cast<fc_stats_kernel>(from));
    const fc_status status = fc_dispatch_dtype(as.dtype, [&](auto t) {
      if constexpr (std::is_same<decltype(t), uint16_t>::value)
        return FC_FATAL;
      else
        return launch<decltype(t)>(kernel, as, units, blocks, frame_bytes, stream);
    });
    if (status != FC_UNSUPPORTED || kernel == FC_STATS_UNITS) return status;
    from = kernel;
  }
}

} // namespace stats

extern "C" size_t fc_stats_cuda_scratch(const fc_view *in, int64_t align) {
  const stats::layout l = stats::layout_of(in, align);
  return l.units == 1
             ? 0
             : static_cast<size_t>(l.frames * l.blocks * l.channels * l.units) * sizeof(fc_stats_part);
}

extern "C" fc_status fc_stats_cuda(const fc_view *in, int64_t align, void *blocks, int64_t frame_bytes,
                                   void *scratch, void *stream) {
  const stats::layout l = stats::layout_of(in, align);
  fc_stats_part *units = static_cast<fc_stats_part *>(scratch);
  cudaStream_t on = static_cast<cudaStream_t>(stream);
  const int64_t merges = l.frames * l.blocks * l.channels;
  if (merges == 0) return FC_OK;
  const int64_t total = merges * l.units, each = stats::UNIT / l.unit;
  if (total > UINT32_MAX - each) return FC_UNSUPPORTED;
  char *to = static_cast<char *>(blocks);
  fc_status status = stats::launch_first(l, units, to, frame_bytes, on);
  if (l.units == 1) return status;
  const unsigned rows = fc_blocks(merges, 1, 65535);
  for (int64_t step = 1; step < l.units && status == FC_OK; step *= stats::MERGERS) {
    const dim3 grid(fc_blocks(l.units, step * stats::MERGERS, INT32_MAX), rows);
    stats::merge_units<<<grid, stats::MERGERS, 0, on>>>(l, units, step, to, frame_bytes);
    status = fc_launch_status();
  }
  return status;
}
