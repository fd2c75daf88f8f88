// SPDX-License-Identifier: MIT
//
// sums.cu - sums of floats, and of their squares, in windows of up to FC_WINSTAT_SUMS_MOST columns and rows:
// with the bits of the composed kernels (filters/gpu/box.cuh, where their order is described), for what these
// do not make, and where they cannot be compiled.
//
// A thread goes down a column. Of some rows at a time the samples that the windows of a block see are loaded
// into shared memory; a thread sums those of its own windows, keeps that in a ring of as many rows as windows
// have, and sums the ring from the top. Of an image of one column a thread has a row.
#include "filters/winstat/launch.cuh"
#include "filters/winstat/slide16.cuh"

namespace winstat {

constexpr int SUMS_THREADS = 128, SUMS_ROWS = 128; // of a block
constexpr int SUMS_AT_A_TIME = 8;                  // rows
constexpr int SUMS_SEEN = SUMS_THREADS + FC_WINSTAT_SUMS_MOST - 1;
constexpr int SUMS_PART = 16;
static_assert(FC_WINSTAT_SUMS_MOST <= 2 * SUMS_PART, "two parts");

// The sum of numbers from .. to - 1, at most SUMS_PART, that get(i) makes.
template <class Get> __device__ __forceinline__ float sum_part(int from, int to, Get get) {
  float sum = 0;
  int i = from;
  const auto add = [&](float more) { sum = i > from ? plus(sum, more) : more; };
  for (; i + 4 <= to; i += 4) add(plus(plus(get(i), get(i + 1)), plus(get(i + 2), get(i + 3))));
  if (i + 2 <= to) add(plus(get(i), get(i + 1))), i += 2;
  if (i < to) add(get(i));
  return sum;
}
template <class Get> __device__ __forceinline__ float sum_of(int count, Get get) {
  if (count <= SUMS_PART) return sum_part(0, count, get);
  return plus(sum_part(0, SUMS_PART, get), sum_part(SUMS_PART, count, get));
}

// The row or column of a sample, or of its source; -1: there is none.
__device__ __forceinline__ int64_t source_of(const pass<float> &p, int axis, int64_t extent, int64_t at) {
  if (p.edges.on) return border_source(p.edges.border, at, extent);
  return at >= p.lo[axis] && at < p.hi[axis] ? at - p.lo[axis] : -1;
}
// Where source 0 is.
__device__ __forceinline__ int64_t first_of(const pass<float> &p, int axis) {
  return p.edges.on ? 0 : p.lo[axis];
}
__device__ __forceinline__ float outside_of(const pass<float> &p) {
  return p.edges.on ? __uint_as_float(static_cast<uint32_t>(p.edges.code)) : 0;
}

// What a statistic is of a sum over `n` samples.
__device__ __forceinline__ float value_of(int stat, float sum, float n) {
  return stat == FC_WINSTAT_MEAN ? mean_of(sum, n, 1 / n) : stat == FC_WINSTAT_RMS ? root(sum / n) : sum;
}

// All statistics of a window; get(j): what was made of row j of it.
template <class Get>
__device__ __forceinline__ void give(const pass<float> &p, int64_t n, int64_t y, int64_t x, int64_t c,
                                     Get get) {
  const float size = p.shrink ? static_cast<float>(inside(p, 0, x) * inside(p, 1, y)) : p.area,
              sum = sum_of(static_cast<int>(p.window[1]), get);
  char *const to = p.out.at(n, y, x, c);
  for (int s = 0; s < p.n_stats; s++) {
    const float v = value_of(p.stat[s], sum, size);
    char *const at = to + p.slot[s] * p.channels * p.out.stride[FC_AXIS_C];
    if (p.out.dtype == FC_F32)
      fc_dev_store<float, float>(at, v, p.store, p.notes);
    else
      fc_dev_store_any<float>(at, p.out.dtype, v, p.store, p.notes);
  }
}

// A block's place: its first column and row, and the plane.
struct sums_place {
  int64_t x, y, c, n;
};
__device__ __forceinline__ sums_place sums_place_of(const pass<float> &p, int64_t strips, int64_t pieces,
                                                    int64_t i) {
  const int64_t plane = i / strips / pieces;
  return {i % strips * SUMS_THREADS, i / strips % pieces * SUMS_ROWS, plane % p.channels, plane / p.channels};
}

// The ring has what was made of rows, of each a block's columns, twice, so that a window's are one after the
// other.
template <bool SQUARES>
__global__ void __launch_bounds__(SUMS_THREADS, 8)
    box_sums(const __grid_constant__ pass<float> p, int64_t strips, int64_t pieces) {
  __shared__ float rows[SUMS_AT_A_TIME][SUMS_SEEN];
  extern __shared__ float memory[];
  constexpr int EACH = (SUMS_SEEN + SUMS_THREADS - 1) / SUMS_THREADS;
  const int t = static_cast<int>(threadIdx.x), across = static_cast<int>(p.window[0]),
            tall = static_cast<int>(p.window[1]);
  const float outside = outside_of(p);
  float *const ring = memory + t;
  for (int64_t i = blockIdx.x; i < strips * pieces * p.channels * p.frames; i += gridDim.x) {
    const sums_place at = sums_place_of(p, strips, pieces, i);
    const int64_t count = p.rows - at.y < SUMS_ROWS ? p.rows - at.y : SUMS_ROWS, x = at.x + t;
    int64_t from[EACH]; // bytes, of the thread's samples of a row; -1: none
    for (int k = 0; k < EACH; k++) {
      const int s = t + k * SUMS_THREADS;
      const int64_t column = at.x - p.before[0] + s;
      from[k] = s < SUMS_THREADS + across - 1 && column < p.columns + across - 1 - p.before[0]
                    ? source_of(p, 0, p.columns, column)
                    : -1;
      if (from[k] >= 0) from[k] *= p.in.stride[FC_AXIS_X];
    }
    const char *plane = p.in.at(at.n, first_of(p, 1), first_of(p, 0), at.c);
    int oldest = 0; // row of the ring
    for (int64_t k = 0; k < count + tall - 1; k += SUMS_AT_A_TIME) {
      const int64_t y = at.y - p.before[1] + k, rest = count + tall - 1 - k;
      const int some = static_cast<int>(rest < SUMS_AT_A_TIME ? rest : SUMS_AT_A_TIME);
      __syncthreads();
#pragma unroll
      for (int u = 0; u < SUMS_AT_A_TIME; u++) {
        const int64_t row = u < some ? source_of(p, 1, p.rows, y + u) : -1;
        const char *begin = plane + row * p.in.stride[FC_AXIS_Y];
#pragma unroll
        for (int e = 0; e < EACH; e++) {
          if (t + e * SUMS_THREADS >= SUMS_SEEN) continue;
          const float v =
              row >= 0 && from[e] >= 0 ? *reinterpret_cast<const float *>(begin + from[e]) : outside;
          rows[u][t + e * SUMS_THREADS] = SQUARES ? times(v, v) : v;
        }
      }
      __syncthreads();
      for (int u = 0; u < some; u++) {
        const float *row = rows[u] + t;
        ring[oldest * SUMS_THREADS] = ring[(oldest + tall) * SUMS_THREADS] =
            sum_of(across, [&](int j) { return row[j]; });
        oldest = oldest + 1 < tall ? oldest + 1 : 0;
        if (k + u < tall - 1 || x >= p.columns) continue;
        const float *window = ring + oldest * SUMS_THREADS;
        give(p, at.n, at.y + k + u - (tall - 1), x, at.c, [&](int j) { return window[j * SUMS_THREADS]; });
      }
    }
  }
}

// The same of an image of one column: a block has SUMS_THREADS rows.
template <bool SQUARES>
__global__ void __launch_bounds__(SUMS_THREADS)
    box_sums_of_column(const __grid_constant__ pass<float> p, int64_t pieces) {
  __shared__ float made[SUMS_SEEN]; // of each row
  const int t = static_cast<int>(threadIdx.x), across = static_cast<int>(p.window[0]),
            seen = SUMS_THREADS + static_cast<int>(p.window[1]) - 1;
  const float outside = outside_of(p);
  for (int64_t i = blockIdx.x; i < pieces * p.channels * p.frames; i += gridDim.x) {
    const sums_place at = sums_place_of(p, 1, pieces, i);
    __syncthreads();
    for (int s = t; s < seen; s += SUMS_THREADS) {
      const int64_t y = at.y - p.before[1] + s;
      const int64_t row = y < p.rows + p.window[1] - 1 - p.before[1] ? source_of(p, 1, p.rows, y) : -1;
      const char *begin = p.in.at(at.n, first_of(p, 1) + row, first_of(p, 0), at.c);
      made[s] = sum_of(across, [&](int j) {
        const int64_t column = source_of(p, 0, 1, j - p.before[0]);
        const float v = row >= 0 && column >= 0
                            ? *reinterpret_cast<const float *>(begin + column * p.in.stride[FC_AXIS_X])
                            : outside;
        return SQUARES ? times(v, v) : v;
      });
    }
    __syncthreads();
    if (at.y + t < p.rows) give(p, at.n, at.y + t, 0, at.c, [&](int j) { return made[t + j]; });
  }
}

template <bool SQUARES> static fc_status launch_sums(const pass<float> &all, cudaStream_t stream) {
  static_assert(SUMS_ROWS == SUMS_THREADS, "pieces are the same of a column");
  pass<float> p = all;
  p.n_stats = 0;
  for (int i = 0; i < all.n_stats; i++)
    if ((all.stat[i] != FC_WINSTAT_SUM && all.stat[i] != FC_WINSTAT_MEAN) == SQUARES)
      p.stat[p.n_stats] = all.stat[i], p.slot[p.n_stats++] = all.slot[i];
  if (p.n_stats == 0) return FC_OK;
  const int64_t strips = (p.columns + SUMS_THREADS - 1) / SUMS_THREADS,
                pieces = (p.rows + SUMS_ROWS - 1) / SUMS_ROWS;
  const size_t ring = static_cast<size_t>(2 * p.window[1]) * SUMS_THREADS * sizeof(float);
  const unsigned blocks = fc_blocks(strips * pieces * p.channels * p.frames, 1, INT32_MAX);
  if (p.columns == 1)
    box_sums_of_column<SQUARES><<<blocks, SUMS_THREADS, 0, stream>>>(p, pieces);
  else
    box_sums<SQUARES><<<blocks, SUMS_THREADS, ring, stream>>>(p, strips, pieces);
  return fc_launch_status();
}

fc_status run_sums(const pass<float> &p, cudaStream_t stream) {
  const fc_status status = launch_sums<false>(p, stream);
  return status == FC_OK ? launch_sums<true>(p, stream) : status;
}

} // namespace winstat
