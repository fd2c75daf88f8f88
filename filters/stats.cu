// SPDX-License-Identifier: MIT
//
// stats.cu - statistics of a whole signal on a CUDA device.
//
// Two kernels. The first reads the signal once: a warp a chunk of 1024 samples of a
// channel, 32 of them in the registers of each lane, so that all are in flight together
// and the deviations from their mean need no second read. The second merges the chunks of each
// block as a tree. Both follow the order of the CPU to the bit: lane t of a warp has the
// lanes t, t + 32, t + 64 and t + 96 of the chunk.
#include <math_constants.h>

#include "filters/cuda.cuh"
#include "filters/stats_math.h"

namespace stats {

constexpr int WARPS = 8;
constexpr int MERGERS = 128;
constexpr unsigned ALL = 0xffffffffu;
constexpr int OWN = FC_STATS_LANES / 32; // lanes of the chunk that a lane of the warp has
static_assert(OWN == 4, "sums below are written for four");

// Where samples lie. A *block* is `span` samples of each channel, the last of a frame fewer; its
// sample e is row e / columns, column e % columns, from the block's first row on - or, where
// rows follow each other without a gap (time does), simply e steps along x.
struct layout {
  fc_dev_view in;
  int32_t kind, bias;
  int64_t frames, blocks, channels, chunks; // blocks of a frame, chunks of a whole block
  int64_t columns, align, length;           // positions of a block and of a frame along the axis that is cut
  int64_t block_bytes;
  bool audio, even; // even: samples are equal steps apart
};

__device__ __forceinline__ int64_t samples_in(const layout &l, int64_t block) {
  int64_t left = l.length - block * l.align, positions = left < l.align ? left : l.align;
  return l.audio ? positions : positions * l.columns;
}

// Address of sample e of a block.
__device__ __forceinline__ const char *address(const layout &l, const char *block, int64_t e) {
  if (l.even) return block + e * l.in.stride[FC_AXIS_X];
  int64_t y = e / l.columns;
  return block + y * l.in.stride[FC_AXIS_Y] + (e - y * l.columns) * l.in.stride[FC_AXIS_X];
}

// ---- a warp adds up --------------------------------------------------------

__device__ __forceinline__ double plus(double a, double b) {
  return fc_stats_plus(a, b);
}

// The chunk's four lanes of this thread, folded as the CPU folds them; lane 0 has the sum.
__device__ __forceinline__ double fold(const double (&v)[OWN]) {
  double sum = plus(plus(v[0], v[2]), plus(v[1], v[3]));
  for (int by = 16; by > 0; by /= 2) sum = plus(sum, __shfl_down_sync(ALL, sum, by));
  return sum;
}

template <typename T> __device__ __forceinline__ T add_lanes(T v) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_down_sync(ALL, v, by);
  return v;
}

template <typename T> __device__ __forceinline__ T least_of_lanes(T v) {
  for (int by = 16; by > 0; by /= 2) {
    T other = __shfl_down_sync(ALL, v, by);
    v = other < v ? other : v;
  }
  return v;
}

template <typename T> __device__ __forceinline__ T most_of_lanes(T v) {
  for (int by = 16; by > 0; by /= 2) {
    T other = __shfl_down_sync(ALL, v, by);
    v = other > v ? other : v;
  }
  return v;
}

// ---- a chunk ---------------------------------------------------------------

// The sample of row r and own lane k of a thread.
__device__ __forceinline__ int64_t sample_of(int r, int k) {
  return r * FC_STATS_LANES + k * 32 + threadIdx.x % 32;
}

// T is float or double; absent samples are told from NaN by `count`.
template <typename T>
__device__ __forceinline__ fc_stats_part measure_values(const layout &l, const char *block, int64_t first,
                                                        int64_t count) {
  T v[FC_STATS_ROWS][OWN];
#pragma unroll
  for (int r = 0; r < FC_STATS_ROWS; r++)
#pragma unroll
    for (int k = 0; k < OWN; k++) {
      int64_t i = sample_of(r, k);
      v[r][k] =
          i < count ? *reinterpret_cast<const T *>(address(l, block, first + i)) : static_cast<T>(CUDART_NAN);
    }
  double sum[OWN], squares[OWN];
  T least = static_cast<T>(CUDART_INF), most = static_cast<T>(-CUDART_INF);
  int finite = 0, nan = 0;
#pragma unroll
  for (int k = 0; k < OWN; k++) {
    sum[k] = squares[k] = 0;
#pragma unroll
    for (int r = 0; r < FC_STATS_ROWS; r++) {
      bool here = v[r][k] - v[r][k] == 0;
      double w = here ? static_cast<double>(v[r][k]) : 0;
      sum[k] = plus(sum[k], w), squares[k] = plus(squares[k], fc_stats_times(w, w));
      finite += here, nan += v[r][k] != v[r][k];
      least = here && v[r][k] < least ? v[r][k] : least, most = here && v[r][k] > most ? v[r][k] : most;
    }
  }
  fc_stats_part p = fc_stats_part_none();
  p.sum = __shfl_sync(ALL, fold(sum), 0), p.squares = fold(squares);
  p.least = plus(least_of_lanes(least), 0), p.most = plus(most_of_lanes(most), 0);
  finite = __shfl_sync(ALL, add_lanes(finite), 0), nan = add_lanes(nan);
  p.finite = finite, p.nan = nan - (FC_STATS_CHUNK - count), p.inf = FC_STATS_CHUNK - finite - nan;
  const double mean = finite ? p.sum / finite : 0;
#pragma unroll
  for (int k = 0; k < OWN; k++) {
    sum[k] = 0;
#pragma unroll
    for (int r = 0; r < FC_STATS_ROWS; r++) {
      double apart = v[r][k] - v[r][k] == 0 ? plus(static_cast<double>(v[r][k]), -mean) : 0;
      sum[k] = plus(sum[k], fc_stats_times(apart, apart));
    }
  }
  p.spread = fold(sum);
  return p;
}

// Sums of codes: of 8 and 16 bits, those of a thread fit 32 bits, and their squares 64 in one go; squares
// of 32 bits are added up in halves.
template <typename T, bool wide = (sizeof(T) > 2)> struct code_sums {
  int32_t sum = 0;
  uint64_t low = 0, high = 0;
  __device__ __forceinline__ void add(int32_t code) {
    sum += code, low += static_cast<uint64_t>(static_cast<int64_t>(code) * code);
  }
};
template <typename T> struct code_sums<T, true> {
  int64_t sum = 0;
  uint64_t low = 0, high = 0;
  __device__ __forceinline__ void add(int32_t code) {
    uint64_t square = static_cast<uint64_t>(static_cast<int64_t>(code) * code);
    sum += code, low += square & 0xffffffffu, high += square >> 32;
  }
};

// Integers are exact in any order. In place of samples that are not there the chunk's first is
// taken, which changes no extreme, and taken off again in the end.
template <typename T>
__device__ __forceinline__ fc_stats_part measure_codes(const layout &l, const char *block, int64_t first,
                                                       int64_t count) {
  T v[FC_STATS_ROWS][OWN];
#pragma unroll
  for (int r = 0; r < FC_STATS_ROWS; r++)
#pragma unroll
    for (int k = 0; k < OWN; k++) {
      int64_t i = sample_of(r, k);
      v[r][k] = *reinterpret_cast<const T *>(address(l, block, i < count ? first + i : first));
    }
  code_sums<T> sums;
  int32_t least = INT32_MAX, most = INT32_MIN;
#pragma unroll
  for (int r = 0; r < FC_STATS_ROWS; r++)
#pragma unroll
    for (int k = 0; k < OWN; k++) {
      int32_t code = static_cast<int32_t>(v[r][k]) - l.bias;
      sums.add(code);
      least = min(least, code), most = max(most, code);
    }
  int64_t extra = static_cast<int32_t>(v[0][0]) - l.bias, missing = FC_STATS_CHUNK - count;
  int64_t sum = add_lanes(static_cast<int64_t>(sums.sum)) - missing * extra;
  uint64_t low = add_lanes(sums.low), high = add_lanes(sums.high);
  fc_stats_part p = fc_stats_part_none();
  p.finite = count, p.least = least_of_lanes(least), p.most = most_of_lanes(most);
  p.sum_low = static_cast<uint64_t>(sum), p.sum_high = sum < 0 ? ~uint64_t(0) : 0;
  p.squares_low = low;
  fc_stats_add_wide(&p.squares_low, &p.squares_high, high << 32, high >> 32);
  // missing < 2^10 and the square <= 2^62: the product has two halves.
  const uint64_t square = static_cast<uint64_t>(extra * extra), n = static_cast<uint64_t>(missing);
  const uint64_t off_low = square * n,
                 off_high = ((square >> 32) * n + (((square & 0xffffffffu) * n) >> 32)) >> 32;
  fc_stats_add_wide(&p.squares_low, &p.squares_high, ~off_low + 1, ~off_high + (off_low == 0));
  return p;
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

// Parts are [frame][block][channel][chunk]; neighbouring warps take the channels of one chunk, which share
// cache lines where they are interleaved.
template <typename T>
__global__ void __launch_bounds__(32 * WARPS) measure_chunks(layout l, fc_stats_part *parts) {
  const int64_t total = l.frames * l.blocks * l.chunks * l.channels,
                step = static_cast<int64_t>(gridDim.x) * WARPS;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / 32; i < total; i += step) {
    int64_t c = i % l.channels, chunk = i / l.channels % l.chunks, block = i / l.channels / l.chunks;
    int64_t n = block / l.blocks, position = (block - n * l.blocks) * l.align;
    int64_t first = chunk * FC_STATS_CHUNK, count = samples_in(l, block - n * l.blocks) - first;
    if (count <= 0) continue;
    const char *from = l.audio ? l.in.at(n, 0, position, c) : l.in.at(n, position, 0, c);
    fc_stats_part p = measure<T>::chunk(l, from, first, count < FC_STATS_CHUNK ? count : FC_STATS_CHUNK);
    if (threadIdx.x % 32 == 0) parts[(block * l.channels + c) * l.chunks + chunk] = p;
  }
}

// ---- a block ---------------------------------------------------------------

// Merges neighbours, and neighbours of those: the tree that fc_stats_push makes.
__global__ void __launch_bounds__(MERGERS)
    merge_chunks(layout l, fc_stats_part *parts, char *blocks, int64_t frame_bytes) {
  for (int64_t i = blockIdx.x; i < l.frames * l.blocks * l.channels; i += gridDim.x) {
    int64_t block = i / l.channels, c = i - block * l.channels, n = block / l.blocks;
    fc_stats_part *own = parts + i * l.chunks;
    int64_t samples = samples_in(l, block - n * l.blocks);
    int64_t count = (samples + FC_STATS_CHUNK - 1) / FC_STATS_CHUNK;
    for (int64_t apart = 1; apart < count; apart *= 2) {
      for (int64_t k = threadIdx.x * 2 * apart; k + apart < count; k += MERGERS * 2 * apart)
        own[k] = fc_stats_part_merge(&own[k], &own[k + apart]);
      __syncthreads();
    }
    if (threadIdx.x > 0) continue;
    char *to = blocks + n * frame_bytes + (block - n * l.blocks) * l.block_bytes;
    if (c == 0) {
      fc_stats_block head = {static_cast<uint32_t>(l.channels), l.kind, l.in.dtype, 0};
      *reinterpret_cast<fc_stats_block *>(to) = head;
    }
    reinterpret_cast<fc_stats_part *>(to + sizeof(fc_stats_block))[c] =
        count > 0 ? own[0] : fc_stats_part_none();
  }
}

// ---- host ------------------------------------------------------------------

static layout layout_of(const fc_view *in, int64_t align) {
  layout l;
  l.in = fc_dev_view_of(in);
  l.kind = in->kind, l.bias = static_cast<int32_t>(fc_scaling_of(in->kind, in->dtype).bias);
  l.audio = in->kind == FC_AUDIO;
  l.frames = in->shape[FC_AXIS_N], l.channels = in->shape[FC_AXIS_C], l.columns = in->shape[FC_AXIS_X];
  l.length = l.audio ? l.columns : in->shape[FC_AXIS_Y], l.align = align;
  l.blocks = (l.length + align - 1) / align;
  const int64_t positions = align < l.length ? align : l.length,
                samples = l.audio ? positions : positions * l.columns;
  l.chunks = (samples + FC_STATS_CHUNK - 1) / FC_STATS_CHUNK;
  if (l.chunks < 1) l.chunks = 1;
  l.block_bytes = static_cast<int64_t>(fc_stats_block_bytes(l.channels));
  l.even = l.audio || in->stride[FC_AXIS_Y] == in->stride[FC_AXIS_X] * l.columns;
  return l;
}

} // namespace stats

extern "C" size_t fc_stats_cuda_scratch(const fc_view *in, int64_t align) {
  stats::layout l = stats::layout_of(in, align);
  return static_cast<size_t>(l.frames * l.blocks * l.channels * l.chunks) * sizeof(fc_stats_part);
}

extern "C" fc_status fc_stats_cuda(const fc_view *in, int64_t align, void *blocks, int64_t frame_bytes,
                                   void *scratch, void *stream) {
  const stats::layout l = stats::layout_of(in, align);
  fc_stats_part *parts = static_cast<fc_stats_part *>(scratch);
  cudaStream_t on = static_cast<cudaStream_t>(stream);
  const int64_t merges = l.frames * l.blocks * l.channels;
  if (merges == 0) return FC_OK;
  const unsigned grid = fc_blocks(merges * l.chunks, stats::WARPS, INT32_MAX);
  fc_status status = fc_dispatch_dtype(in->dtype, [&](auto t) {
    stats::measure_chunks<decltype(t)><<<grid, 32 * stats::WARPS, 0, on>>>(l, parts);
    return fc_launch_status();
  });
  if (status != FC_OK) return status;
  stats::merge_chunks<<<fc_blocks(merges, 1, INT32_MAX), stats::MERGERS, 0, on>>>(
      l, parts, static_cast<char *>(blocks), frame_bytes);
  return fc_launch_status();
}
