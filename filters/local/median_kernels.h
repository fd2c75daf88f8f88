/* SPDX-License-Identifier: MIT */
/*
 * median_kernels.h - the loops of median.c, for one instruction set. Keys are those of median_key.h, of 1, 2,
 * 4 or 8 bytes; a table is indexed by the logarithm of the size.
 */
#ifndef FC_FILTERS_MEDIAN_KERNELS_H
#define FC_FILTERS_MEDIAN_KERNELS_H

#include "filters/base/isa.h"

typedef struct fc_median_kernels {
  /* Converts `count` elements, `step` bytes apart, to keys by their type; and back. */
  void (*load[FC_DTYPE_COUNT])(void *to, const void *from, int64_t step, int64_t count);
  void (*store[FC_DTYPE_COUNT])(void *to, int64_t step, const void *from, int64_t count);
  /* Medians of 3 x 3 and 5 x 5: of the elements at `apart` * 0, 1, ... after element i in each row. */
  void (*network3[4])(void *to, const void *const *rows, int64_t apart, int64_t count);
  void (*network5[4])(void *to, const void *const *rows, int64_t apart, int64_t count);
} fc_median_kernels;
FC_ISA_DECLARE(fc_median_kernels, fc_median_kernels);

#endif
