/* SPDX-License-Identifier: MIT */
/*
 * twist_kernels.h - the loops of twist.c for one instruction set. Colours are in planes, `apart` values from
 * each other, and are changed in place.
 */
#ifndef FC_FILTERS_TWIST_KERNELS_H
#define FC_FILTERS_TWIST_KERNELS_H

#include "filters/base/isa.h"
#include "filters/color/twist.h"

typedef struct fc_twist_kernels {
  void (*twist_f32)(const fc_twist *t, float *values, int64_t apart, int64_t count);
  void (*twist_f64)(const fc_twist *t, double *values, int64_t apart, int64_t count);
} fc_twist_kernels;
FC_ISA_DECLARE(fc_twist_kernels, fc_twist_kernels);

#endif
