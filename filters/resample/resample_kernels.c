/* SPDX-License-Identifier: MIT */
/*
 * resample_kernels.c - the loops of resample.c over floats and doubles.
 */
#include "filters/resample/resample_kernels.h"
#include "filters/resample/resample_math.h"

static void filter_values(const fc_resample_axis *axis, int64_t o, int64_t first, int64_t taps,
                          double *values) {
  fc_resample_values(axis, o, first, taps, values);
}

#define FC_KERNELS "filters/resample/resample_kernels.inc"
#include "filters/base/both_types.inc"
