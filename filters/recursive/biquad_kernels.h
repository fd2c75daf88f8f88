/* SPDX-License-Identifier: MIT */
/*
 * biquad_kernels.h - the loop of biquad.h, for one instruction set (isa.h).
 */
#ifndef FC_FILTERS_BIQUAD_KERNELS_H
#define FC_FILTERS_BIQUAD_KERNELS_H

#include "filters/base/isa.h"
#include "filters/recursive/biquad.h"

typedef struct fc_biquad_kernels {
  /* One section, or two in series, over `count` samples of FC_BIQUAD_LANES channels; `state` is s1 of each
   * channel, then s2 of each, section by section. */
  void (*one)(double *values, int64_t count, const fc_biquad_section *s, double *state);
  void (*two)(double *values, int64_t count, const fc_biquad_section *s, double *state);
  /* Up to `most` sections over `count` frames of 1 or 2 channels; `values` is an array of such frames;
   * `state` is s1 and s2 of each section in turn, FC_BIQUAD_LANES apart, of each channel. */
  void (*row)(double *values, int64_t count, int channels, const fc_biquad_section *s, int sections,
              double *state);
  int row_lanes; /* sections times channels that `row` processes at a time */
} fc_biquad_kernels;
FC_ISA_DECLARE(fc_biquad_kernels, fc_biquad_kernels);

#endif
