/* SPDX-License-Identifier: MIT */
/*
 * loudness_kernels.h - the loops of loudness.h other than the weighting, for one instruction set (isa.h).
 */
#ifndef FC_FILTERS_LOUDNESS_KERNELS_H
#define FC_FILTERS_LOUDNESS_KERNELS_H

#include "filters/base/isa.h"
#include "filters/recursive/loudness.h"

typedef struct fc_loudness_kernels {
  /* Adds the squares of `count` frames of FC_BIQUAD_LANES values to `sums`, to 4 sums in turn. */
  void (*squares)(const double *values, int64_t count, double (*sums)[FC_BIQUAD_LANES]);
  /* The largest magnitude of `count` results of a filter of FC_LOUDNESS_TAPS taps; x has TAPS - 1 samples
   * before the first. */
  float (*largest)(const float *x, int64_t count, const float *taps);
} fc_loudness_kernels;
FC_ISA_DECLARE(fc_loudness_kernels, fc_loudness_kernels);

#endif
