// SPDX-License-Identifier: MIT
//
// bytes.cuh - code shared by kernels for sums of bytes: bytes from shared memory, codes of means, and
// results.
#ifndef FC_FILTERS_WINSTAT_BYTES_CUH
#define FC_FILTERS_WINSTAT_BYTES_CUH

#include <type_traits>

#include "filters/winstat/samples.cuh"

namespace winstat {

// Calls f(std::integral_constant<int, n>) for n interleaved channels, up to four.
template <class F> static inline fc_status with_channels(int channels, F f) {
  switch (channels) {
  case 2: return f(std::integral_constant<int, 2>{});
  case 3: return f(std::integral_constant<int, 3>{});
  case 4: return f(std::integral_constant<int, 4>{});
  default: return f(std::integral_constant<int, 1>{});
  }
}

// The source of byte i of a row, ELSEWHERE for the constant.
constexpr int ELSEWHERE = INT32_MIN;
template <int C>
__device__ __forceinline__ int bytes_source(const ends &edges, int i, int lo, int hi, int columns) {
  if (i >= lo && i < hi) return i;
  const int column = (i + C * (1 << 24)) / C - (1 << 24), c = i - column * C;
  const int source = edges.on ? border_source(edges.border, column, columns) : -1;
  return source < 0 ? ELSEWHERE : source * C + c;
}

// WORDS words from byte at % 16 of x[] on, which is overwritten.
template <int WORDS, int HELD>
__device__ __forceinline__ void bytes_shift(uint32_t (&v)[WORDS], uint32_t (&x)[HELD], int at) {
  static_assert(HELD >= WORDS + 4, "words that one from anywhere on may see");
  const bool two = at & 8, one = at & 4;
#pragma unroll
  for (int k = 0; k < WORDS + 2; k++) x[k] = two ? x[k + 2] : x[k];
#pragma unroll
  for (int k = 0; k < WORDS + 1; k++) x[k] = one ? x[k + 1] : x[k];
#pragma unroll
  for (int k = 0; k < WORDS; k++) v[k] = __funnelshift_r(x[k], x[k + 1], 8 * (at & 3));
}

// Words from any position on.
template <int WORDS>
__device__ __forceinline__ void bytes_take(uint32_t (&v)[WORDS], const unsigned char *raw, int at) {
  uint32_t x[WORDS + 4];
  const uint4 *quads = reinterpret_cast<const uint4 *>(raw + (at & ~15));
#pragma unroll
  for (int k = 0; k < WORDS / 4 + 1; k++) {
    const uint4 q = quads[k];
    x[4 * k] = q.x, x[4 * k + 1] = q.y, x[4 * k + 2] = q.z, x[4 * k + 3] = q.w;
  }
  bytes_shift(v, x, at);
}

// 2^23 and a number below that, as a float: the number is its last bits.
constexpr uint32_t NUMBER = 0x4b000000u;

// Converts a sum over n samples to a code, rounded half to even, in the last byte.
__device__ __forceinline__ uint32_t bytes_mean(float sum, float over) {
  return __float_as_uint(__fmaf_rn(sum, over, 12582912.0f));
}
__device__ __forceinline__ uint32_t bytes_mean_exact(int32_t sum, int32_t n, float over) {
  int32_t q = static_cast<int32_t>(rintf(times(static_cast<float>(sum), over)));
  const int32_t left = 2 * (sum - q * n);
  if (left > n || (left == n && (q & 1))) q++;
  if (left < -n || (left == -n && (q & 1))) q--;
  return static_cast<uint32_t>(q);
}

// Stores results of bytes i, i + 1, ... of a row of `count` that are `step` apart: row + i is aligned to 16,
// or to 8 for words that are not whole quads, if that is 1.
template <int WORDS>
__device__ __forceinline__ void bytes_give(const uint32_t (&v)[WORDS], char *row, int i, int count,
                                           int step) {
  if (step == 1 && i >= 0 && i + 4 * WORDS <= count) {
    if (WORDS % 4 == 0) {
#pragma unroll
      for (int k = 0; k + 3 < WORDS; k += 4)
        *reinterpret_cast<uint4 *>(row + i + 4 * k) = make_uint4(v[k], v[k + 1], v[k + 2], v[k + 3]);
    } else {
#pragma unroll
      for (int k = 0; k + 1 < WORDS; k += 2)
        *reinterpret_cast<uint2 *>(row + i + 4 * k) = make_uint2(v[k], v[k + 1]);
    }
    return;
  }
#pragma unroll
  for (int k = 0; k < WORDS; k++) {
    const int at = i + 4 * k;
    if (step == 1 && at >= 0 && at + 4 <= count) {
      *reinterpret_cast<uint32_t *>(row + at) = v[k];
      continue;
    }
#pragma unroll
    for (int b = 0; b < 4; b++)
      if (at + b >= 0 && at + b < count)
        row[static_cast<int64_t>(at + b) * step] = static_cast<char>(v[k] >> 8 * b);
  }
}

} // namespace winstat

#endif
