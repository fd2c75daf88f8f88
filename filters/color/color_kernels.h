/* SPDX-License-Identifier: MIT */
/*
 * color_kernels.h - the loops of color.c, for one instruction set. Channels are in planes, `apart` values
 * from each other.
 */
#ifndef FC_FILTERS_COLOR_KERNELS_H
#define FC_FILTERS_COLOR_KERNELS_H

#include "filters/base/isa.h"
#include "filters/color/color.h"

typedef struct fc_color_kernels {
  void (*convert_f32)(const fc_color_conversion *c, float *to, const float *from, int64_t apart,
                      int64_t count);
  void (*convert_f64)(const fc_color_conversion *c, double *to, const double *from, int64_t apart,
                      int64_t count);
} fc_color_kernels;
FC_ISA_DECLARE(fc_color_kernels, fc_color_kernels);

#endif
