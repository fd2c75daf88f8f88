// SPDX-License-Identifier: MIT
//
// slide16.cuh - sixteen consecutive windows from a thread's registers.
//
// Signals are cut into segments of 16 positions. The windows that begin in one segment share everything from
// its end to the end of the first of them; each adds the suffix of the segment in which it begins and, one
// sample more for each, what follows that first end: three additions per output, and nothing is subtracted
// again. Windows of up to 16 do the same within blocks of their own length that begin with the segment. The
// order depends only on the window and the position in the signal.
#ifndef FC_FILTERS_WINSTAT_SLIDE16_CUH
#define FC_FILTERS_WINSTAT_SLIDE16_CUH

#include "filters/gpu/copy_async.cuh"
#include "filters/winstat/pieces.cuh"

namespace winstat {

constexpr int RUN = 16; // positions of a segment

__device__ __forceinline__ int32_t plus(int32_t a, int32_t b) {
  return a + b;
}

// A window of `reach` + 1 positions: it ends `segments` segments and `rest` samples after its beginning.
struct extent16 {
  int32_t reach, segments, rest;
  int32_t warm; // segments after the first that windows of one segment cover
};

static inline extent16 extent16_of(int64_t window) {
  const int32_t reach = static_cast<int32_t>(window - 1);
  return {reach, reach / RUN, reach % RUN, (reach + RUN - 1) / RUN};
}

// F::run for a window of up to RUN: loops over it can be unrolled, and arrays stay in registers.
template <class F, typename... Args> __device__ __forceinline__ void with_window(int window, Args &...args) {
  switch (window) {
  case 1: F::template run<1>(args...); break;
  case 2: F::template run<2>(args...); break;
  case 3: F::template run<3>(args...); break;
  case 4: F::template run<4>(args...); break;
  case 5: F::template run<5>(args...); break;
  case 6: F::template run<6>(args...); break;
  case 7: F::template run<7>(args...); break;
  case 8: F::template run<8>(args...); break;
  case 9: F::template run<9>(args...); break;
  case 10: F::template run<10>(args...); break;
  case 11: F::template run<11>(args...); break;
  case 12: F::template run<12>(args...); break;
  case 13: F::template run<13>(args...); break;
  case 14: F::template run<14>(args...); break;
  case 15: F::template run<15>(args...); break;
  default: F::template run<16>(args...); break;
  }
}

template <typename V> __device__ __forceinline__ V sum16(const V (&v)[RUN]) {
  V sum = v[RUN - 1];
#pragma unroll
  for (int k = RUN - 2; k >= 0; k--) sum = plus(v[k], sum);
  return sum;
}

// v[k]: the windows of W <= RUN positions that begin with x[k].
template <int W, typename V, int N>
__device__ __forceinline__ void slide_short(V (&v)[RUN], const V (&x)[N]) {
  static_assert(W <= RUN && N >= RUN + W - 1, "windows see no further");
#pragma unroll
  for (int block = 0; block < RUN; block += W) {
    V suffix[W], prefix = V(0);
#pragma unroll
    for (int k = W - 1; k >= 0; k--)
      suffix[k] = k + 1 < W ? plus(x[block + k], suffix[k + 1 < W ? k + 1 : k]) : x[block + k];
#pragma unroll
    for (int k = 0; k < W; k++) {
      if (block + k >= RUN) continue;
      if (k > 0) prefix = k > 1 ? plus(prefix, x[block + W + k - 1]) : x[block + W];
      v[block + k] = k > 0 ? plus(suffix[k], prefix) : suffix[k];
    }
  }
}

// Replaces the segment in which windows begin by its suffixes.
template <typename V> __device__ __forceinline__ void suffixes(V (&v)[RUN]) {
#pragma unroll
  for (int k = RUN - 2; k >= 0; k--) v[k] = plus(v[k], v[k + 1]);
}

// v: suffixes, to which the ends of the windows are added. `core` is everything before x[PART], where the
// first of them ends.
template <int PART, typename V, int N>
__device__ __forceinline__ void add_ends(V (&v)[RUN], V core, const V (&x)[N]) {
#pragma unroll
  for (int k = 0; k < PART; k++) core = plus(core, x[k]);
#pragma unroll
  for (int k = 0; k < RUN; k++) {
    v[k] = plus(v[k], core);
    if (k + 1 < RUN) core = plus(core, x[PART + k]);
  }
}

// sum / n, correctly rounded except for the smallest numbers (Markstein 1990): from 1 / n, corrected by the
// remainder, which is not used for infinities.
__device__ __forceinline__ float mean_of(float sum, float n, float over) {
  const float q = times(sum, over), exact = __fmaf_rn(__fmaf_rn(-q, n, sum), over, q);
  return fabsf(q) < CUDART_INF_F ? exact : q;
}
// ---- quantities ----------------------------------------------------------------

// The summands of samples V: themselves or their squares.
template <typename V> struct plain {
  typedef V word;
  static __device__ __forceinline__ V of(V v) { return v; }
};
template <typename V> struct squared;
template <> struct squared<float> {
  typedef float word;
  static __device__ __forceinline__ float of(float v) { return times(v, v); }
};

} // namespace winstat

#endif
