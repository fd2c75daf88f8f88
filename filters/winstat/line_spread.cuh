// SPDX-License-Identifier: MIT
//
// line_spread.cuh - variances of floats in windows along rows alone: in segments of 16 samples, which
// moments.cuh makes, as composed kernels do (filters/gpu/slide.cuh). Of winstat.cu.
#ifndef FC_FILTERS_WINSTAT_LINE_SPREAD_CUH
#define FC_FILTERS_WINSTAT_LINE_SPREAD_CUH

#include "filters/gpu/moments.cuh"
#include "filters/winstat/pieces.cuh"

namespace winstat {

// A piece (pieces.cuh).
struct line_spread : spread<float> {
  static constexpr int SEGMENT = FC_MOMENTS_RUN;

  static __device__ __forceinline__ line_spread none() { return {spread<float>::none()}; }
  static __device__ __forceinline__ line_spread of(float v) { // infinities have no variance
    return {spread<float>::of(v + (v - v))};
  }
  static __device__ __forceinline__ line_spread join(const line_spread &a, const line_spread &b) {
    return {spread<float>::join(a, b)};
  }
  __device__ __forceinline__ float stat(int which, float count, double) const {
    const float variance = times(m, 1 / count);
    return which == FC_WINSTAT_STD ? fc_moments_root(variance) : variance;
  }
};

// The piece of a segment, and its suffixes, relative to its last sample.
__device__ __forceinline__ line_spread begin_segment(fc_moments (&suffix)[FC_MOMENTS_RUN],
                                                     const line_spread (&e)[FC_MOMENTS_RUN]) {
  fc_moments_suffixes(suffix, [&](int k) { return e[k].p; });
  return {{e[FC_MOMENTS_RUN - 1].p, suffix[0].mean, suffix[0].squares, FC_MOMENTS_RUN}};
}

} // namespace winstat

#endif
