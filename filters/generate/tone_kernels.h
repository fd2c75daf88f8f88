/* SPDX-License-Identifier: MIT */
/*
 * tone_kernels.h - the loops of tone.h, for one instruction set (isa.h).
 */
#ifndef FC_FILTERS_TONE_KERNELS_H
#define FC_FILTERS_TONE_KERNELS_H

#include "filters/base/isa.h"
#include "filters/generate/tone.h"

typedef struct fc_tone_kernels {
  /* `count` samples from t on, times the level. */
  void (*sine)(double *to, int64_t count, const fc_tone *tone, uint64_t t);
  void (*square)(double *to, int64_t count, const fc_tone *tone, uint64_t t);
  /* From the state of the first on. */
  void (*noise)(double *to, int64_t count, const fc_tone *tone, uint64_t state);
} fc_tone_kernels;
FC_ISA_DECLARE(fc_tone_kernels, fc_tone_kernels);

#endif
