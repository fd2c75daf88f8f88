/* SPDX-License-Identifier: MIT */
/*
 * dither_kernels.h - the loops of dither.c for one instruction set.
 */
#ifndef FC_FILTERS_DITHER_KERNELS_H
#define FC_FILTERS_DITHER_KERNELS_H

#include "filters/pointwise/dither_math.h"
#include "filters/base/isa.h"

typedef struct fc_dither_kernels {
  /* Adds `unit` times the noise of the states from `state` on to each of `count` values. */
  void (*add_f32)(float *values, int64_t count, uint64_t state, float unit);
  void (*add_f64)(double *values, int64_t count, uint64_t state, double unit);
} fc_dither_kernels;

FC_ISA_DECLARE(fc_dither_kernels, fc_dither_kernels);

#endif
