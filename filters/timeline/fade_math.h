/* SPDX-License-Identifier: MIT */
/* fade_math.h - the factor of a fade at a sample; C11 and CUDA. Internal. */
#ifndef FC_FILTERS_FADE_MATH_H
#define FC_FILTERS_FADE_MATH_H

#include <math.h>
#include <stdint.h>

#include "filters/timeline/fade.h"

#if defined(__CUDACC__)
#define FC_FADE_INLINE static __host__ __device__ inline
#else
#define FC_FADE_INLINE static inline
#endif

FC_FADE_INLINE double fc_fade_curve(int32_t shape, double u) {
  const double pi = 3.14159265358979323846;
  if (u <= 0) return 0;
  if (shape == FC_FADE_COSINE) return 0.5 * (1 - cos(pi * u));
  if (shape == FC_FADE_POWER) return sin(0.5 * pi * u);
  return shape == FC_FADE_LOG ? exp(-11.512925464970229 * (1 - u)) : u; /* 5 ln 10 */
}

/* The factor at sample t of `extent`, which may be -1. */
FC_FADE_INLINE double fc_fade_factor(const fc_fade *f, int64_t t, int64_t extent) {
  double factor = 1;
  if (t < f->in) factor = fc_fade_curve(f->shape, (double)t / (double)f->in);
  if (extent >= 0 && extent - 1 - t < f->out)
    factor *= fc_fade_curve(f->shape, (double)(extent - 1 - t) / (double)f->out);
  return factor;
}

#endif
