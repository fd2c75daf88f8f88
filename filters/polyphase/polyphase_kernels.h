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

/*
 * `count` outputs of 1 or 2 channels, `pitch` elements apart in `in` and `to_pitch` in `to`. `in` is the
 * first tap of the first output, `fraction` that output's position after a sample, in 1/up.
 */
typedef struct fc_polyphase_kernels {
  void (*f32)(const fc_polyphase *r, const float *in, int64_t pitch, float *to, int64_t to_pitch,
              int channels, int64_t fraction, int64_t count);
  void (*f64)(const fc_polyphase *r, const double *in, int64_t pitch, double *to, int64_t to_pitch,
              int channels, int64_t fraction, int64_t count);
} fc_polyphase_kernels;

FC_ISA_DECLARE(fc_polyphase_kernels, fc_polyphase_kernels);

FC_END_DECLS

#endif
