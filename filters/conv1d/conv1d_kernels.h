/* SPDX-License-Identifier: MIT */
/*
 * conv1d_kernels.h - the inner loops of conv1d, one table per instruction set. Internal.
 *
 * All sum the taps in ascending order from 0, and set `to` to the sums or, with `add`, add them to it. Widths
 * are multiples of FC_CONV1D_LANES; memory need not be aligned. The caller passes at most FC_CONV1D_BLOCK
 * taps at a time.
 */
#ifndef FC_FILTERS_CONV1D_KERNELS_H
#define FC_FILTERS_CONV1D_KERNELS_H

#include "filters/base/isa.h"

FC_BEGIN_DECLS

#define FC_CONV1D_LANES 32

typedef struct fc_conv1d_kernels {
  /* A line: to[i] = sum of mask[j] * in[i + j * step]. `step` is the number of
   * interleaved channels. */
  void (*line_f32)(float *to, const float *in, const float *mask, int64_t width, int64_t taps, int64_t step,
                   int add);
  void (*line_f64)(double *to, const double *in, const double *mask, int64_t width, int64_t taps,
                   int64_t step, int add);
  /* Columns: row r of `to` = sum of mask[j] * row (r + j) of `in`, rows lying
   * `pitch` elements apart. */
  void (*columns_f32)(float *to, int64_t to_pitch, const float *in, int64_t in_pitch, const float *mask,
                      int64_t rows, int64_t width, int64_t taps, int add);
  void (*columns_f64)(double *to, int64_t to_pitch, const double *in, int64_t in_pitch, const double *mask,
                      int64_t rows, int64_t width, int64_t taps, int add);
} fc_conv1d_kernels;

FC_ISA_DECLARE(fc_conv1d_kernels, fc_conv1d_kernels);

FC_END_DECLS

#endif
