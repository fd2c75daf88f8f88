// SPDX-License-Identifier: MIT
//
// moments.cuh - variances of floats in windows along a line, sixteen windows at a time.
//
// All values are relative to a sample of the window itself, so that a large common offset costs no accuracy.
// The windows that begin in a block of R positions, R = 16 or, of shorter windows, their length, all hold the
// last of these: distances are from that sample, and only samples of the window are summed:
//
//     |suffix of the block| what all windows hold behind it | prefix |
//
// The order depends only on the window and the position in the signal, of which blocks of 16 begin at
// multiples. In windows of up to FC_MOMENTS_MOST samples what all hold is added one by one, in longer ones
// put together from blocks (slide.cuh, row_slide of filters/winstat). Infinite samples are to be given as
// NaN. In filters/winstat/box samples are columns with variances of their own.
#ifndef FC_FILTERS_GPU_MOMENTS_CUH
#define FC_FILTERS_GPU_MOMENTS_CUH

#include "filters/gpu/map.cuh"

// FC_WINSTAT_SPREAD_MOST of winstat.h.
constexpr int FC_MOMENTS_MOST = 33, FC_MOMENTS_RUN = 16;

// The mean of some distances, and the sum of their squared deviations from it.
struct fc_moments {
  float mean, squares;
  // Adds one distance, the n-th (Welford 1962); and one with squared deviations of its own.
  FC_DEVICE void add(float distance, float n) { step(distance, 1 / n, (n - 1) / n); }
  FC_DEVICE void step(float distance, float over, float share) {
    const float d = distance - mean;
    mean = fmaf(d, over, mean), squares = fmaf(d * share, d, squares);
  }
  FC_DEVICE void add(float distance, float more, float n) { add(distance, n), squares = squares + more; }
  // Joins two sets, of which the second has `share` of all, and share * (1 - share) of n is `weight` (Chan,
  // Golub, LeVeque 1983).
  static FC_DEVICE fc_moments join(const fc_moments &a, const fc_moments &b, float share, float weight) {
    const float d = b.mean - a.mean;
    return {fmaf(d, share, a.mean), fmaf(d * weight, d, a.squares + b.squares)};
  }
};

// Adds a sample, whose distance is that from another of its window.
FC_DEVICE void fc_moments_add(fc_moments *m, float own, float v, float n) {
  m->add(v - own, n);
}

// Sixteen windows of W samples, from at(0) on, in blocks of W: all windows that begin in one contain its last
// sample. put(k, that sample, moments).
template <int W, class At, class Put> FC_DEVICE void fc_moments_short(At at, Put put) {
#pragma unroll
  for (int block = 0; block < FC_MOMENTS_RUN; block += W) {
    const auto own = at(block + W - 1);
    fc_moments suffix[W], prefix = {0, 0};
#pragma unroll
    for (int k = W - 1; k >= 0; k--) {
      suffix[k] = k + 1 < W ? suffix[k + 1 < W ? k + 1 : k] : fc_moments{0, 0};
      fc_moments_add(&suffix[k], own, at(block + k), static_cast<float>(W - k));
    }
#pragma unroll
    for (int k = 0; k < W; k++) {
      if (block + k >= FC_MOMENTS_RUN) continue;
      const float n = static_cast<float>(k), share = n / static_cast<float>(W);
      if (k > 0) fc_moments_add(&prefix, own, at(block + W + k - 1), n);
      put(block + k, own, k > 0 ? fc_moments::join(suffix[k], prefix, share, n * (1 - share)) : suffix[k]);
    }
  }
}

// Of longer windows: the part that what follows the suffix has of all, and that times the suffix's length.
struct fc_moments_shares {
  float share[FC_MOMENTS_RUN], weight[FC_MOMENTS_RUN];
};
constexpr fc_moments_shares fc_moments_shares_of(int window) {
  fc_moments_shares s = {};
  for (int k = 0; k < FC_MOMENTS_RUN; k++) {
    const double before = FC_MOMENTS_RUN - k, after = window - before;
    s.share[k] = static_cast<float>(after / window),
    s.weight[k] = static_cast<float>(before * after / window);
  }
  return s;
}

// Suffixes of a block, relative to its last sample: the first is the whole block.
template <class At> FC_DEVICE void fc_moments_suffixes(fc_moments (&suffix)[FC_MOMENTS_RUN], At at) {
  const auto own = at(FC_MOMENTS_RUN - 1);
#pragma unroll
  for (int k = FC_MOMENTS_RUN - 1; k >= 0; k--) {
    suffix[k] = k + 1 < FC_MOMENTS_RUN ? suffix[k + 1 < FC_MOMENTS_RUN ? k + 1 : k] : fc_moments{0, 0};
    fc_moments_add(&suffix[k], own, at(k), static_cast<float>(FC_MOMENTS_RUN - k));
  }
}

// Longer windows, from these: between the block, whose last sample is `own`, and tail(0) is `core`, of
// `count` samples, and the first window ends with tail(part - 1).
template <class Own, class Tail, class Put>
FC_DEVICE void fc_moments_windows(const fc_moments_shares &s, const fc_moments (&suffix)[FC_MOMENTS_RUN],
                                  const Own &own, fc_moments core, int count, int part, Tail tail, Put put) {
#pragma unroll
  for (int k = 0; k < part; k++) fc_moments_add(&core, own, tail(k), static_cast<float>(count + k + 1));
#pragma unroll
  for (int k = 0; k < FC_MOMENTS_RUN; k++) {
    put(k, own, fc_moments::join(suffix[k], core, s.share[k], s.weight[k]));
    if (k + 1 < FC_MOMENTS_RUN)
      fc_moments_add(&core, own, tail(part + k), static_cast<float>(count + part + k + 1));
  }
}

template <int CORE, int PART, class At, class Tail, class Put>
FC_DEVICE void fc_moments_long(const fc_moments_shares &s, const fc_moments &core, At at, Tail tail,
                               Put put) {
  typedef decltype(at(0)) sample;
  fc_moments suffix[FC_MOMENTS_RUN];
  fc_moments_suffixes(suffix, at);
  fc_moments_windows<sample>(s, suffix, at(FC_MOMENTS_RUN - 1), core, CORE, PART, tail, put);
}

// Windows of 33 samples, the most: a whole block, after(k), follows the first.
template <class At, class After, class Tail, class Put>
FC_DEVICE void fc_moments_most(const fc_moments_shares &s, At at, After after, Tail tail, Put put) {
  const auto own = at(FC_MOMENTS_RUN - 1);
  fc_moments core = {0, 0};
#pragma unroll
  for (int k = 0; k < FC_MOMENTS_RUN; k++) fc_moments_add(&core, own, after(k), static_cast<float>(k + 1));
  fc_moments_long<FC_MOMENTS_RUN, 1>(s, core, at, tail, put);
}

// The root of a variance; approximate (2^-23 of it) from sm_80 on, as in every kernel with this order.
FC_DEVICE float fc_moments_root(float v) {
#ifdef __CUDA_ARCH__
#if __CUDA_ARCH__ >= 800
  asm("sqrt.approx.f32 %0, %0;" : "+f"(v));
  return v;
#else
  return __fsqrt_rn(v);
#endif
#else
  return sqrtf(v);
#endif
}

#endif
