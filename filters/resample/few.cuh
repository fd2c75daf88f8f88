// SPDX-License-Identifier: MIT
//
// few.cuh - resampling by windows of at most TAPS inputs: images enlarged, or shrunk without antialiasing. A
// thread goes down adjacent elements of output. Along rows first, it keeps what the rows of its window are
// after that pass; down columns first, it reads the window of each output. Where an element's window begins,
// and its weights along the row, are looked up once for all rows.
//
// Bytes are summed as integers, other types in f32, to the bits of passes.cuh.
#ifndef FC_FILTERS_RESAMPLE_FEW_CUH
#define FC_FILTERS_RESAMPLE_FEW_CUH

#include "filters/resample/matrix_bytes.cuh"
#include "filters/resample/passes.cuh"

namespace {

constexpr int FEW_THREADS = 128, FEW_ROWS = 64; // of a block: rows of output

template <typename P> struct few_job {
  job<P> of;
  int64_t planes;
  int32_t elements, groups, end; // of a row of output; of PER elements; pixels of a row that are readable
  int32_t aligned;               // rows of output begin at multiples of PER elements
};

template <typename P, int TAPS> struct few_window {
  int first, taps;
  typename P::weight of[TAPS]; // 0 from taps on

  __device__ __forceinline__ void load(const table<typename P::weight> &t, int k) {
    first = t.first[k], taps = t.taps[k];
#pragma unroll
    for (int i = 0; i < TAPS; i++)
      of[i] = i < taps ? t.weights[static_cast<int64_t>(k) * t.room + i] : typename P::weight(0);
  }
};

// Adds a tap, or none from `taps` on: a float that is not in the window may be infinite.
template <typename P, typename S, typename V>
__device__ __forceinline__ S few_add(S sum, typename P::weight w, V v, bool counts) {
  const S more = P::add(sum, w, v);
  return std::is_integral<S>::value || counts ? more : sum;
}

template <typename T> __device__ __forceinline__ int32_t few_value(const job<of_bytes> &, T code) {
  return code;
}
template <typename T> __device__ __forceinline__ float few_value(const job<of_reals<float>> &j, T code) {
  return fc_dev_value<float, T>(code, j.load);
}

// Stores elements that are adjacent, of which the row has `left`. Bytes that do not begin at a multiple of 4
// are stored by words with those of the lane before, of lanes `mask`.
__device__ __forceinline__ void few_store_bytes(char *to, uint32_t low, uint32_t high, int left,
                                                unsigned mask) {
  const unsigned skew = static_cast<unsigned>(reinterpret_cast<uintptr_t>(to)) % 4, lane = threadIdx.x % 32;
  const uint32_t before = __shfl_up_sync(mask, high, 1);
  const bool next = left >= 16 && lane < 31; // stores the last bytes
#pragma unroll
  for (unsigned i = 0; i < 8; i++)
    if (left < 8 ? static_cast<int>(i) < left : (i < 4 - skew && lane == 0) || (i >= 8 - skew && !next))
      to[i] = static_cast<char>((i < 4 ? low : high) >> i % 4 * 8);
  if (left < 8) return;
  uint32_t *word = reinterpret_cast<uint32_t *>(to - skew);
  if (lane) word[0] = __funnelshift_l(before, low, 8 * skew);
  word[1] = __funnelshift_l(low, high, 8 * skew);
}
__device__ __forceinline__ void few_store(char *to, const int32_t (&sums)[8], int left, bool aligned,
                                          unsigned mask) {
  uint32_t word[2];
#pragma unroll
  for (int i = 0; i < 8; i += 4) {
    int32_t v[4];
#pragma unroll
    for (int k = 0; k < 4; k++)
      v[k] = (sums[i + k] + (1 << (FC_RESAMPLE_SHIFT(1) - 1))) >> FC_RESAMPLE_SHIFT(1);
    word[i / 4] = fc_two_bytes(v[0], v[1], fc_two_bytes(v[2], v[3], 0));
  }
  if (!aligned) return few_store_bytes(to, word[0], word[1], left, mask);
  if (left >= 8)
    *reinterpret_cast<uint2 *>(to) = make_uint2(word[0], word[1]);
  else
#pragma unroll
    for (int i = 0; i < 8; i++)
      if (i < left) to[i] = static_cast<char>(word[i / 4] >> i % 4 * 8);
}
template <typename T, int PER>
__device__ __forceinline__ void few_store_codes(const job<of_reals<float>> &j, T *to,
                                                const float (&sums)[PER], int left, bool aligned) {
  T code[PER];
#pragma unroll
  for (int i = 0; i < PER; i++) code[i] = fc_dev_code<float, T>(sums[i], j.store, nullptr);
  if (left >= PER && aligned) {
    uint32_t word[PER * sizeof(T) / 4];
    memcpy(word, code, sizeof code);
    if constexpr (sizeof word == 16)
      *reinterpret_cast<uint4 *>(to) = make_uint4(word[0], word[1], word[2], word[3]);
    else
      *reinterpret_cast<uint2 *>(to) = make_uint2(word[0], word[1]);
  } else
#pragma unroll
    for (int i = 0; i < PER; i++)
      if (i < left) to[i] = code[i];
}

// A thread's elements along the row.
template <typename P, typename T, int TAPS, int PER> struct few_columns {
  using value = typename P::value;
  using sum = typename P::sum;
  int offset[PER], step; // bytes, of a window's first input; from pixel to pixel
  int8_t taps[PER];
  typename P::weight weight[PER][TAPS];
  bool inside; // TAPS inputs are readable from the beginning of each window on

  __device__ __forceinline__ void begin(const few_job<P> &j, int element) {
    inside = true, step = j.of.channels * static_cast<int>(sizeof(T));
#pragma unroll
    for (int e = 0; e < PER; e++) {
      const int i = min(element + e, j.elements - 1), x = j.of.by_channels.quotient(i);
      few_window<P, TAPS> w;
      w.load(j.of.x, x);
      offset[e] = w.first * step + (i - x * j.of.channels) * static_cast<int>(sizeof(T));
      taps[e] = static_cast<int8_t>(w.taps), inside &= w.first + TAPS <= j.end;
#pragma unroll
      for (int k = 0; k < TAPS; k++) weight[e][k] = w.of[k];
    }
  }
  __device__ __forceinline__ sum input(const few_job<P> &j, const char *row, int e, int k) const {
    const int at = inside ? k * step : min(k, taps[e] - 1) * step;
    return few_value(j.of, __ldg(reinterpret_cast<const T *>(row + (offset[e] + at))));
  }
  // The first pass along a row.
  __device__ __forceinline__ void across(const few_job<P> &j, const char *row, sum (&to)[PER]) const {
    sum v[PER][TAPS];
#pragma unroll
    for (int e = 0; e < PER; e++)
#pragma unroll
      for (int k = 0; k < TAPS; k++) v[e][k] = input(j, row, e, k);
#pragma unroll
    for (int e = 0; e < PER; e++) {
      sum s = P::first(weight[e][0], v[e][0]);
#pragma unroll
      for (int k = 1; k < TAPS; k++) s = few_add<P>(s, weight[e][k], v[e][k], k < taps[e]);
      to[e] = between(P{}, s, j.of.limits);
    }
  }
  // Both passes of a row of output, down first.
  __device__ __forceinline__ void both(const few_job<P> &j, const char *plane, const few_window<P, TAPS> &y,
                                       sum (&to)[PER]) const {
    const int64_t pitch = j.of.in.stride[FC_AXIS_Y];
    const char *row[TAPS];
#pragma unroll
    for (int k = 0; k < TAPS; k++) row[k] = plane + (y.first + min(k, y.taps - 1)) * pitch;
#pragma unroll
    for (int e = 0; e < PER; e++)
#pragma unroll
      for (int k = 0; k < TAPS; k++) {
        sum s = P::first(y.of[0], input(j, row[0], e, k));
#pragma unroll
        for (int i = 1; i < TAPS; i++) s = few_add<P>(s, y.of[i], input(j, row[i], e, k), i < y.taps);
        const sum mid = between(P{}, s, j.of.limits);
        to[e] = k ? few_add<P>(to[e], weight[e][k], mid, k < taps[e]) : P::first(weight[e][0], mid);
      }
  }
};

// Rows of a window after the first pass, those of its inputs.
template <typename P, typename T, int TAPS, int PER> struct few_rows {
  typename P::sum of[TAPS][PER];
  int first, last; // the row in of[0], and the last one that is readable

  using columns = few_columns<P, T, TAPS, PER>;
  __device__ __forceinline__ void load(const few_job<P> &j, const columns &c, const char *plane, int k) {
    c.across(j, plane + min(first + k, last) * j.of.in.stride[FC_AXIS_Y], of[k]);
  }
  __device__ __forceinline__ void fill(const few_job<P> &j, const columns &c, const char *plane, int row) {
    first = row;
#pragma unroll
    for (int k = 0; k < TAPS; k++) load(j, c, plane, k);
  }
  __device__ __forceinline__ void advance(const few_job<P> &j, const columns &c, const char *plane, int row) {
    if (row - first >= TAPS) return fill(j, c, plane, row);
#pragma unroll 1
    for (; first < row;) {
#pragma unroll
      for (int k = 0; k + 1 < TAPS; k++)
#pragma unroll
        for (int e = 0; e < PER; e++) of[k][e] = of[k + 1][e];
      first++;
      load(j, c, plane, TAPS - 1);
    }
  }
  __device__ __forceinline__ void sum(const few_window<P, TAPS> &y, typename P::sum (&to)[PER]) const {
#pragma unroll
    for (int e = 0; e < PER; e++) {
      to[e] = P::first(y.of[0], of[0][e]);
#pragma unroll
      for (int k = 1; k < TAPS; k++) to[e] = few_add<P>(to[e], y.of[k], of[k][e], k < y.taps);
    }
  }
};

template <typename P, typename T, int TAPS, int PER, bool DOWN_FIRST>
__global__ void __launch_bounds__(FEW_THREADS) resample_few(const __grid_constant__ few_job<P> j) {
  const int group = static_cast<int>(blockIdx.x * FEW_THREADS + threadIdx.x), element = group * PER;
  if (group >= j.groups) return;
  const int lanes = j.groups - (group - static_cast<int>(threadIdx.x) % 32); // of the warp that stay
  const unsigned mask = lanes < 32 ? (1u << lanes) - 1 : 0xffffffffu;
  const int y0 = static_cast<int>(blockIdx.y) * FEW_ROWS, y1 = min(y0 + FEW_ROWS, j.of.y.count);
  few_columns<P, T, TAPS, PER> columns;
  columns.begin(j, element);
  for (int64_t i = blockIdx.z; i < j.planes; i += gridDim.z) {
    const plane<P> p = plane_of(j.of, i);
    few_rows<P, T, TAPS, PER> rows;
    if constexpr (!DOWN_FIRST) {
      rows.last = j.of.y.first[y1 - 1] + j.of.y.taps[y1 - 1] - 1;
      rows.fill(j, columns, p.in, j.of.y.first[y0]);
    }
    char *to = p.out + static_cast<int64_t>(y0) * j.of.out.stride[FC_AXIS_Y] +
               static_cast<int64_t>(element) * static_cast<int>(sizeof(T));
#pragma unroll 1
    for (int r = y0; r < y1; r++, to += j.of.out.stride[FC_AXIS_Y]) {
      few_window<P, TAPS> y;
      y.load(j.of.y, r);
      typename P::sum sums[PER];
      if constexpr (DOWN_FIRST)
        columns.both(j, p.in, y, sums);
      else
        rows.advance(j, columns, p.in, y.first), rows.sum(y, sums);
      if constexpr (std::is_same<P, of_bytes>::value)
        few_store(to, sums, j.elements - element, j.aligned != 0, mask);
      else
        few_store_codes<T, PER>(j.of, reinterpret_cast<T *>(to), sums, j.elements - element, j.aligned != 0);
    }
  }
}

} // namespace

#endif
