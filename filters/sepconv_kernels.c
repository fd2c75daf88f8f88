/* SPDX-License-Identifier: MIT */
/*
 * sepconv_kernels.c - the column and the row pass of sepconv, for one instruction set
 * and both compute types.
 */
#include "filters/sepconv_kernels.h"
#include "filters/conv2d_strips.h"
#include "filters/simd.h"

#define FC_KERNELS "filters/sepconv_kernels.inc"
#include "filters/both_types.inc"

const fc_sepconv_kernel_pair FC_ISA_NAME(fc_sepconv_kernels) = {
    {sizeof(float), columns_f32, row_f32},
    {sizeof(double), columns_f64, row_f64},
};
