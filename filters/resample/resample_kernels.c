/* SPDX-License-Identifier: MIT */
/*
 * resample_kernels.c - the loops of resample.c over floats and doubles.
 */
#include "filters/resample/resample_kernels.h"

#define FC_KERNELS "filters/resample/resample_kernels.inc"
#include "filters/base/both_types.inc"
