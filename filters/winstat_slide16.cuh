// SPDX-License-Identifier: MIT
//
// winstat_slide16.cuh - sixteen windows in a row from a thread's registers.
//
// Signals are cut into segments of 16 positions. The windows that begin in one segment share all from its end
// to where the first of them ends; each adds the suffix of the segment that it begins in and, one sample more
// for each, what follows that first end: three additions an output, and nothing is subtracted again. Windows
// of up to 16 are put together from sums of 1, 2, 4, 8 and 16 neighbours. The order depends on the window and
// the position in the signal alone.
#ifndef FC_FILTERS_WINSTAT_SLIDE16_CUH
#define FC_FILTERS_WINSTAT_SLIDE16_CUH

#include "filters/winstat_pieces.cuh"

namespace winstat {

constexpr int RUN = 16; // positions of a segment

__device__ __forceinline__ int32_t plus(int32_t a, int32_t b) {
  return a + b;
}
__device__ __forceinline__ uint32_t plus(uint32_t a, uint32_t b) {
  return a + b;
}

// A window of `reach` + 1 positions: it ends `segments` segments and `rest` samples after its beginning.
struct extent16 {
  int32_t reach, segments, rest;
  int32_t warm; // segments after the first that windows of one segment see
};

static inline extent16 extent16_of(int64_t window) {
  const int32_t reach = static_cast<int32_t>(window - 1);
  return {reach, reach / RUN, reach % RUN, (reach + RUN - 1) / RUN};
}

template <typename V> __device__ __forceinline__ V sum16(const V (&v)[RUN]) {
  V sum = v[RUN - 1];
#pragma unroll
  for (int k = RUN - 2; k >= 0; k--) sum = plus(v[k], sum);
  return sum;
}

// v[k] becomes v[k + BY]; what comes from beyond the end is of no use. Templates, not loops over powers of
// two: those leave the compiler with indices that it takes for variable, and arrays in local memory.
template <int BY, typename V, int N> __device__ __forceinline__ void shift_by(V (&v)[N]) {
#pragma unroll
  for (int k = 0; k + BY < N; k++) v[k] = v[k + BY];
}
template <typename V, int N> __device__ __forceinline__ void shift(V (&v)[N], int by) {
  if (by & 1) shift_by<1>(v);
  if (by & 2) shift_by<2>(v);
  if (by & 4) shift_by<4>(v);
  if (by & 8) shift_by<8>(v);
  if (by & 16) shift_by<16>(v);
}

// Sums of BIT positions, from those on that are not in a window's sum yet, become sums of 2 BIT; a window
// that has BIT takes one.
template <int BIT, typename V, int N>
__device__ __forceinline__ void slide_step(V (&v)[RUN], V (&sum)[N], int window) {
  if (window & BIT) {
    const bool begun = (window & (BIT - 1)) != 0;
#pragma unroll
    for (int j = 0; j < RUN; j++) v[j] = begun ? plus(v[j], sum[j]) : sum[j];
    shift_by<BIT>(sum);
  }
#pragma unroll
  for (int k = 0; k + BIT < N; k++) sum[k] = plus(sum[k], sum[k + BIT]);
}

// Windows of up to RUN positions: `v` is their segment, lead[0 .. 15] the next; v becomes the sums.
template <typename V>
__device__ __forceinline__ void slide_short(V (&v)[RUN], const V (&lead)[2 * RUN], int window) {
  V sum[2 * RUN - 1];
#pragma unroll
  for (int k = 0; k < 2 * RUN - 1; k++) sum[k] = k < RUN ? v[k] : lead[k - RUN];
  slide_step<1>(v, sum, window);
  if (window >= 2) slide_step<2>(v, sum, window);
  if (window >= 4) slide_step<4>(v, sum, window);
  if (window >= 8) slide_step<8>(v, sum, window);
  if (window >= 16) slide_step<16>(v, sum, window);
}

// Longer ones: lead[] are the segment that the first window ends in and the next, `between` the sum of
// the segments ahead of these when there are any. v becomes the sums.
template <typename V>
__device__ __forceinline__ void slide_long(V (&v)[RUN], V (&lead)[2 * RUN], V between, const extent16 &w) {
#pragma unroll
  for (int k = RUN - 2; k >= 0; k--) v[k] = plus(v[k], v[k + 1]);
  V core = lead[0];
#pragma unroll
  for (int k = 1; k < RUN; k++)
    if (k <= w.rest) core = plus(core, lead[k]);
  if (w.segments > 1) core = plus(between, core);
  shift(lead, w.rest + 1);
#pragma unroll
  for (int j = 0; j < RUN; j++) {
    v[j] = plus(v[j], core);
    if (j + 1 < RUN) core = plus(core, lead[j]);
  }
}

// What the segments begin with: `row` is that of the windows, `apart` words from sample to sample.
template <typename V>
__device__ __forceinline__ void slide(V (&v)[RUN], V (&lead)[2 * RUN], V between, const extent16 &w) {
  if (w.segments == 0)
    slide_short(v, lead, w.reach + 1);
  else
    slide_long(v, lead, between, w);
}

// ---- quantities ----------------------------------------------------------------

// What is added up of samples V: themselves or their squares.
template <typename V> struct plain {
  typedef V word;
  static __device__ __forceinline__ V of(V v) { return v; }
};
template <typename V> struct squared;
template <> struct squared<float> {
  typedef float word;
  static __device__ __forceinline__ float of(float v) { return times(v, v); }
};
template <> struct squared<int32_t> {
  typedef uint32_t word;
  static __device__ __forceinline__ uint32_t of(int32_t v) { return static_cast<uint32_t>(v * v); }
};

} // namespace winstat

#endif
