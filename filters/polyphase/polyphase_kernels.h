/* SPDX-License-Identifier: MIT */
/*
 * polyphase_kernels.h - the inner loops of resample, one table per instruction set. Internal.
 */
#ifndef FC_FILTERS_POLYPHASE_KERNELS_H
#define FC_FILTERS_POLYPHASE_KERNELS_H

#include "filters/base/isa.h"
#include "filters/polyphase/polyphase.h"

FC_BEGIN_DECLS

/* Channels that are filtered together, each as a separate line. */
#define FC_POLYPHASE_TOGETHER 2

/* Outputs that are summed together by periods. */
#define FC_POLYPHASE_OUTPUTS 4

/*
 * Samples as a matrix: column m * channels + c is channel c of the m-th period of the input, which has `rows`
 * samples, and row i its i-th sample. What follows a column's last row is in the column of the next period,
 * `channels` further. `width` columns are summed, a multiple of 64; there are `pitch`, so that these have
 * their following ones.
 */
typedef struct fc_polyphase_sheet {
  int64_t rows, channels, width, pitch;
} fc_polyphase_sheet;

/* Outputs that follow each other: the row of the first tap's sample, and the taps. */
typedef struct fc_polyphase_group {
  int outputs;
  int64_t row[FC_POLYPHASE_OUTPUTS];
  const void *taps[FC_POLYPHASE_OUTPUTS];
} fc_polyphase_group;

/*
 * f32, f64: `count` outputs of 1 or 2 channels, `pitch` elements apart in `in` and `to_pitch` in `to`. `in`
 * is the first tap of the first output, `fraction` that output's position after a sample, in 1/up.
 *
 * group_f32, group_f64: the outputs of a group in the first `columns` columns of x, and possibly of more, up
 * to the width; a row of `width` in y for each.
 */
typedef struct fc_polyphase_kernels {
  void (*f32)(const fc_polyphase *r, const float *in, int64_t pitch, float *to, int64_t to_pitch,
              int channels, int64_t fraction, int64_t count);
  void (*f64)(const fc_polyphase *r, const double *in, int64_t pitch, double *to, int64_t to_pitch,
              int channels, int64_t fraction, int64_t count);
  void (*group_f32)(const fc_polyphase_sheet *s, const fc_polyphase_group *g, int64_t taps, const float *x,
                    float *y, int64_t columns);
  void (*group_f64)(const fc_polyphase_sheet *s, const fc_polyphase_group *g, int64_t taps, const double *x,
                    double *y, int64_t columns);
} fc_polyphase_kernels;

FC_ISA_DECLARE(fc_polyphase_kernels, fc_polyphase_kernels);

FC_END_DECLS

#endif
