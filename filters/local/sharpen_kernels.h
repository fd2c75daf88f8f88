/* SPDX-License-Identifier: MIT */
/*
 * sharpen_kernels.h - the loops of sharpen.c, for one instruction set.
 */
#ifndef FC_FILTERS_SHARPEN_KERNELS_H
#define FC_FILTERS_SHARPEN_KERNELS_H

#include "filters/base/isa.h"

typedef struct fc_sharpen_kernels {
  /* Sharpens `values` in place, given the blurred ones. */
  void (*sharpen_f32)(float *values, const float *blurred, int64_t count, float amount, float threshold);
  void (*sharpen_f64)(double *values, const double *blurred, int64_t count, double amount, double threshold);
} fc_sharpen_kernels;
FC_ISA_DECLARE(fc_sharpen_kernels, fc_sharpen_kernels);

#endif
