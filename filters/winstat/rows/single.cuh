// SPDX-License-Identifier: MIT
//
// single.cuh - like line_march.cuh, to the bit, for images of a single column: a window covers one sample and
// the values beyond it, which are the same sample again or a constant.
#ifndef FC_FILTERS_WINSTAT_SINGLE_CUH
#define FC_FILTERS_WINSTAT_SINGLE_CUH

#include "filters/winstat/rows/line_march.cuh"

namespace winstat {

constexpr int SINGLE_THREADS = 128;

// Elements are rows and channels; those of a thread are SINGLE_THREADS apart.
struct single_args {
  line_args line; // in and out: addresses of the first
  int32_t count;  // of elements
  int32_t channels;
  int32_t place;    // position, in its segment, of the sample with which windows begin
  int32_t repeated; // the value beyond the ends is not the sample itself
  float outside;    // ... but this
};

// x[] becomes the sums of windows in which sample `own` is x, all others `outside` or the same again.
template <bool SQUARE> struct single_window {
  const float (&x)[RUN];
  bool repeated;
  float outside;
  int own;

  __device__ __forceinline__ float at(int k, int i) const {
    const float v = i == own || repeated ? x[k] : outside;
    return SQUARE ? times(v, v) : v;
  }
  // to[k]: samples last .. 0, from the end.
  __device__ __forceinline__ void suffix(float (&to)[RUN], int last) const {
#pragma unroll
    for (int k = 0; k < RUN; k++) to[k] = at(k, last);
#pragma unroll 1
    for (int i = last - 1; i >= 0; i--)
#pragma unroll
      for (int k = 0; k < RUN; k++) to[k] = plus(at(k, i), to[k]);
  }
  // to[k]: samples first .. last, added to what it is.
  __device__ __forceinline__ void prefix(float (&to)[RUN], int first, int last) const {
#pragma unroll 1
    for (int i = first; i <= last; i++)
#pragma unroll
      for (int k = 0; k < RUN; k++) to[k] = plus(to[k], at(k, i));
  }

  // Like slide_short and add_ends, for windows of up to two segments that begin `place` samples after one.
  __device__ __forceinline__ void sum(float (&to)[RUN], const extent16 &w, int place) const {
    float core[RUN];
    const int block = w.segments == 0 ? w.reach + 1 : RUN, ahead = place % block;
    suffix(to, block - 1 - ahead);
    if (w.segments == 0 && ahead == 0) return;
    int from = block - ahead;
#pragma unroll
    for (int k = 0; k < RUN; k++) core[k] = w.segments == 0 ? at(k, from) : 0;
    prefix(core, w.segments == 0 ? from + 1 : from, w.reach);
#pragma unroll
    for (int k = 0; k < RUN; k++) to[k] = plus(to[k], core[k]);
  }
};

template <bool SQUARE>
__device__ __forceinline__ void single_sums(const single_args &a, const float (&x)[RUN], float (&v)[RUN]) {
  const line_args &l = a.line;
  const int which = l.stat[SQUARE];
  const single_window<SQUARE> window = {x, a.repeated != 0, a.outside, l.before};
  window.sum(v, l.s.x, a.place);
  if (!l.shrink || which == FC_WINSTAT_SUM || which == FC_WINSTAT_SUMSQ) {
    line_finish(l, v, which, 0);
    return;
  }
#pragma unroll
  for (int k = 0; k < RUN; k++) v[k] = line_shrunk(l, v[k], which, 0);
}

// Calls f(k, offset) for each existing element, the thread's k-th; offsets in bytes from the distances of
// rows and channels.
template <class F>
__device__ __forceinline__ void single_each(const single_args &a, int64_t row, int64_t channel, F f) {
  const unsigned first = blockIdx.x * (SINGLE_THREADS * RUN) + threadIdx.x, c = a.channels;
#pragma unroll
  for (int k = 0; k < RUN; k++) {
    const unsigned e = first + k * SINGLE_THREADS, y = c == 1 ? e : e / c;
    if (e < static_cast<unsigned>(a.count)) f(k, y * row + (e - y * c) * channel);
  }
}

template <bool SUMS, bool SQUARES>
__global__ void __launch_bounds__(SINGLE_THREADS) single_columns(const __grid_constant__ single_args a) {
  const line_args &l = a.line;
  float x[RUN] = {}, v[RUN];
  single_each(a, l.row_in, l.plane_in,
              [&](int k, int64_t at) { x[k] = *reinterpret_cast<const float *>(l.in + at); });
#pragma unroll
  for (int q = 0; q < 2; q++) {
    if (q == 0 ? !SUMS : !SQUARES) continue;
    if (q == 0)
      single_sums<false>(a, x, v);
    else
      single_sums<true>(a, x, v);
    single_each(a, l.row_out, l.plane_out,
                [&](int k, int64_t at) { *reinterpret_cast<float *>(l.out[q] + at) = v[k]; });
  }
}

} // namespace winstat

#endif
