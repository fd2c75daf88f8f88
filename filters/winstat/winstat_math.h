/* SPDX-License-Identifier: MIT */
/*
 * winstat_math.h - arithmetic of winstat that host and device share, so that integer input gives the same
 * bits on both.
 */
#ifndef FC_FILTERS_WINSTAT_MATH_H
#define FC_FILTERS_WINSTAT_MATH_H

#include "core/contract/view.h"

#ifdef __CUDACC__
#define FC_WINSTAT_FN static __host__ __device__ inline
#else
#define FC_WINSTAT_FN static inline
#endif

/* A sum of squares of 32-bit codes needs more than 64 bits. */
__extension__ typedef unsigned __int128 fc_uint128;

/* Rounded twice if it has more than 53 bits, but in the same way everywhere. */
FC_WINSTAT_FN double fc_winstat_double_of(fc_uint128 v) {
  uint64_t high = (uint64_t)(v >> 64), low = (uint64_t)v;
  return high ? (double)high * 18446744073709551616.0 + (double)low : (double)low;
}

/*
 * Squared deviations from the mean: squares - sum^2 / n, without cancellation because the difference is
 * computed in integers. n * squares stays below 2^128: n < 2^32, squares < 2^94.
 */
FC_WINSTAT_FN double fc_winstat_spread(uint64_t n, int64_t sum, fc_uint128 squares) {
  uint64_t size = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum;
  return fc_winstat_double_of(n * squares - (fc_uint128)size * size) / (double)n;
}

/* Positions lo .. hi - 1, relative to a view. */
typedef struct fc_winstat_span {
  int64_t lo, hi;
} fc_winstat_span;

/* The part of lo .. hi - 1 inside the signal; an unknown extent is unlimited. */
FC_WINSTAT_FN fc_winstat_span fc_winstat_inside(const fc_view *v, int axis, int64_t lo, int64_t hi) {
  fc_winstat_span s = {lo, hi};
  int64_t end = v->extent[axis] - v->origin[axis];
  if (s.lo < -v->origin[axis]) s.lo = -v->origin[axis];
  if (v->extent[axis] != FC_UNKNOWN && s.hi > end) s.hi = end;
  return s;
}

#endif
