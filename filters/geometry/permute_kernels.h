/* SPDX-License-Identifier: MIT */
/*
 * permute_kernels.h - pixels of three channels taken apart and put together, for one instruction set.
 */
#ifndef FC_FILTERS_PERMUTE_KERNELS_H
#define FC_FILTERS_PERMUTE_KERNELS_H

#include "filters/base/isa.h"

typedef struct fc_permute_kernels {
  /* `count` adjacent pixels into three rows `step` bytes apart, by bytes of an element: 1, 2 or 4. */
  void (*split[3])(char *rows, int64_t step, const char *pixels, int64_t count);
  void (*join[3])(char *pixels, const char *rows, int64_t step, int64_t count);
  /* Pixels of three bytes: rows of `to`, `to_row` bytes apart, from columns, pixel k of which lies k *
   * from_pixel (3 or -3) bytes on. */
  void (*turn_threes)(char *to, int64_t to_row, const char *from, int64_t from_pixel, int64_t from_row,
                      int64_t rows, int64_t columns);
} fc_permute_kernels;
FC_ISA_DECLARE(fc_permute_kernels, fc_permute_kernels);

#endif
