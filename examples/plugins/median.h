/* SPDX-License-Identifier: MIT */
/*
 * median.h - the median of some values, for the CPU (median.c) and for CUDA (median_cuda.cu) alike.
 */
#ifndef MEDIAN_H
#define MEDIAN_H

#include <fc_helpers.h>

#define MEDIAN_MOST 9 /* a side of the window */

#if defined(__CUDACC__)
#define MEDIAN_FN static __host__ __device__ __forceinline__
#else
#define MEDIAN_FN static inline
#endif

/* Sorts, by insertion: n^2 / 4 steps, and what to do with NaN is the same everywhere. */
#define MEDIAN_OF(name, F)                                                                                   \
  MEDIAN_FN F name(F *v, int n) {                                                                            \
    for (int i = 1; i < n; i++) {                                                                            \
      const F x = v[i];                                                                                      \
      int j = i;                                                                                             \
      for (; j > 0 && v[j - 1] > x; j--) v[j] = v[j - 1];                                                    \
      v[j] = x;                                                                                              \
    }                                                                                                        \
    return v[n / 2];                                                                                         \
  }
MEDIAN_OF(median_f32, float)
MEDIAN_OF(median_f64, double)

#ifdef __cplusplus
extern "C"
#endif
    fc_status
    median_cuda(const fc_host *host, const void *state, const fc_job *job);

#endif
