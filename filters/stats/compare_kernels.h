/* SPDX-License-Identifier: MIT */
/*
 * compare_kernels.h - the loops of compare.h, for one instruction set (isa.h).
 */
#ifndef FC_FILTERS_COMPARE_KERNELS_H
#define FC_FILTERS_COMPARE_KERNELS_H

#include "filters/base/isa.h"
#include "filters/stats/compare.h"

typedef struct fc_compare_kernels {
  /* Adds `count` pairs to count, bad, squares, signal and largest. */
  void (*differences)(const double *a, const double *b, int64_t count, fc_compare_part *part);
  /* Weighted sums down FC_COMPARE_TAPS rows `pitch` apart: five rows of `count` at sums + k * count. */
  void (*columns)(const double *a, const double *b, int64_t pitch, int64_t count, double *sums);
  /* Adds `count` windows from those, which are count + FC_COMPARE_TAPS - 1 long, to similarity and windows.
   */
  void (*windows)(const double *sums, int64_t count, double c1, double c2, fc_compare_part *part);
} fc_compare_kernels;
FC_ISA_DECLARE(fc_compare_kernels, fc_compare_kernels);

#endif
