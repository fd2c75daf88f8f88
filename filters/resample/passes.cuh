// SPDX-License-Identifier: MIT
//
// passes.cuh - for the kernels of resample.cu: tables of windows and weights, and the two passes element by
// element, in integers (of_bytes) or in floats whose products and sums are rounded one by one (of_reals).
#ifndef FC_FILTERS_RESAMPLE_PASSES_CUH
#define FC_FILTERS_RESAMPLE_PASSES_CUH

#include "filters/gpu/cuda.cuh"
#include "filters/resample/resample_math.h"
#include "filters/resample/weights.cuh"

namespace {

constexpr int LANES = 32, WARPS = 8; // per block: elements of a row, rows

// ---- arithmetic ---------------------------------------------------------------

struct of_bytes {
  using value = int16_t; // between the passes
  using weight = int16_t;
  using sum = int32_t;
  using real = float;
  static __device__ __forceinline__ sum first(weight w, sum v) { return w * v; }
  static __device__ __forceinline__ sum add(sum s, weight w, sum v) { return s + w * v; }
};

template <typename F> struct of_reals {
  using value = F;
  using weight = F;
  using sum = F;
  using real = F;
  static __device__ __forceinline__ F first(F w, F v) { return w * v; }
  static __device__ __forceinline__ F add(F s, F w, F v) { return s + w * v; }
};

__device__ __forceinline__ int16_t between(of_bytes, int32_t sum, int limits) {
  return static_cast<int16_t>(fc_resample_finished(sum, 0, limits));
}
template <typename F> __device__ __forceinline__ F between(of_reals<F>, F sum, int) {
  return sum;
}

// ---- tables -------------------------------------------------------------------

// Windows and weights of one axis, for the outputs of the view.
template <typename W> struct table {
  int32_t *first, *taps;
  W *weights;
  int32_t room, count;
  int64_t from; // position of the first output
};

__device__ __forceinline__ void put_weights(const fc_resample_axis &a, int64_t o, int64_t first, int taps,
                                            double norm, int16_t *to) {
  fc_put_codes(a, o, first, taps, norm, to);
}

template <typename F>
__device__ __forceinline__ void put_weights(const fc_resample_axis &a, int64_t o, int64_t first, int taps,
                                            double norm, F *to) {
  for (int i = threadIdx.x; i < taps; i += 32)
    to[i] = static_cast<F>(fc_resample_folded(&a, o, first + i) * norm);
}

// A warp per output, those of X before those of Y.
template <typename W>
__global__ void __launch_bounds__(LANES *WARPS)
    resample_tables(fc_resample_axis x, fc_resample_axis y, table<W> tx, table<W> ty) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(WARPS) + threadIdx.y;
  if (i >= static_cast<int64_t>(tx.count) + ty.count) return;
  const bool across = i < tx.count;
  const fc_resample_axis &a = across ? x : y;
  const table<W> &t = across ? tx : ty;
  const int64_t k = across ? i : i - tx.count, o = t.from + k;
  int64_t first;
  const int taps = static_cast<int>(fc_resample_window(&a, o, &first));
  const double norm = fc_norm_of(a, o, first, taps);
  W *weights = t.weights + k * t.room;
  put_weights(a, o, first, taps, norm, weights);
  if (threadIdx.x == 0) {
    t.first[k] = static_cast<int32_t>(first), t.taps[k] = taps;
    if (taps < t.room) weights[taps] = 0; // padding after an odd number of taps
  }
}

// ---- shared by both variants ----------------------------------------------------

template <typename P> struct job {
  fc_dev_view in, out;
  table<typename P::weight> x, y;
  fc_dev_map<typename P::real> load, store;
  int64_t in_x, in_y;       // origin of the input view
  int32_t channels, groups; // channels per row, groups of them per frame
  int32_t alpha, limits;
  fc_dev_divider by_channels;
};

// One group of channels of one frame.
template <typename P> struct plane {
  const char *in;
  char *out;
};

template <typename P> __device__ __forceinline__ plane<P> plane_of(const job<P> &j, int64_t i) {
  const int64_t n = i / j.groups, c = i % j.groups;
  return {j.in.at(n, -j.in_y, -j.in_x, c), j.out.at(n, 0, 0, c)};
}

// Input element (y, x, c) of the signal, multiplied by alpha if that is on.
__device__ __forceinline__ int32_t input(const job<of_bytes> &, const char *pixel, int64_t c_offset) {
  return *reinterpret_cast<const uint8_t *>(pixel + c_offset);
}
template <typename F>
__device__ __forceinline__ F input(const job<of_reals<F>> &j, const char *pixel, int64_t c_offset) {
  const F v = fc_dev_load_any<F>(pixel + c_offset, j.in.dtype, j.load);
  const int64_t last = (j.channels - 1) * j.in.stride[FC_AXIS_C];
  if (!j.alpha || c_offset == last) return v;
  return of_reals<F>::first(v, fc_dev_load_any<F>(pixel + last, j.in.dtype, j.load));
}

// First pass, vertical: output row r at input column x; horizontal: input row y at output column x.
template <typename P>
__device__ __forceinline__ typename P::value first_down(const job<P> &j, const plane<P> &p, int r, int64_t x,
                                                        int c) {
  const typename P::weight *w = j.y.weights + static_cast<int64_t>(r) * j.y.room;
  const int taps = j.y.taps[r];
  const int64_t offset = c * j.in.stride[FC_AXIS_C];
  const char *at = p.in + j.y.first[r] * j.in.stride[FC_AXIS_Y] + x * j.in.stride[FC_AXIS_X];
  typename P::sum sum = P::first(w[0], input(j, at, offset));
  for (int k = 1; k < taps; k++) sum = P::add(sum, w[k], input(j, at += j.in.stride[FC_AXIS_Y], offset));
  return between(P{}, sum, j.limits);
}

template <typename P>
__device__ __forceinline__ typename P::value first_across(const job<P> &j, const plane<P> &p, int64_t y,
                                                          int x, int c) {
  const typename P::weight *w = j.x.weights + static_cast<int64_t>(x) * j.x.room;
  const int taps = j.x.taps[x];
  const int64_t offset = c * j.in.stride[FC_AXIS_C];
  const char *at = p.in + y * j.in.stride[FC_AXIS_Y] + j.x.first[x] * j.in.stride[FC_AXIS_X];
  typename P::sum sum = P::first(w[0], input(j, at, offset));
  for (int k = 1; k < taps; k++) sum = P::add(sum, w[k], input(j, at += j.in.stride[FC_AXIS_X], offset));
  return between(P{}, sum, j.limits);
}

template <typename P>
__device__ __forceinline__ typename P::sum second(const typename P::value *from, int64_t step,
                                                  const typename P::weight *w, int taps) {
  typename P::sum sum = P::first(w[0], from[0]);
  for (int k = 1; k < taps; k++) sum = P::add(sum, w[k], from[k * step]);
  return sum;
}

// Second pass: computes output channel c from intermediate values, which are `step` apart and begin at
// `from` with channel 0.
__device__ __forceinline__ void finish(const job<of_bytes> &j, char *to, const int16_t *from, int c,
                                       int64_t step, const int16_t *w, int taps) {
  const int32_t sum = second<of_bytes>(from + c, step, w, taps);
  *reinterpret_cast<uint8_t *>(to) = static_cast<uint8_t>(fc_resample_finished(sum, 1, 0));
}
template <typename F>
__device__ __forceinline__ void finish(const job<of_reals<F>> &j, char *to, const F *from, int c,
                                       int64_t step, const F *w, int taps) {
  F sum = second<of_reals<F>>(from + c, step, w, taps);
  if (j.alpha && c < j.channels - 1) {
    const F alpha = second<of_reals<F>>(from + j.channels - 1, step, w, taps);
    sum = alpha > 0 ? sum / alpha : F(0);
  }
  fc_dev_store_any<F>(to, j.out.dtype, sum, j.store, nullptr);
}

} // namespace

#endif
