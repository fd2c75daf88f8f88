/* SPDX-License-Identifier: MIT */
/*
 * conv2d_kernels.c - the dense 2-D sum, for one instruction set and both compute types.
 *
 * A tile of sums is 4 rows by as many vectors as the registers hold: with 2, AVX2's 16
 * hold 8 sums, 2 vectors of input and a tap.
 */
#include "filters/filter2d/conv2d_kernels.h"
#include "filters/filter2d/conv2d_strips.h"
#include "filters/base/simd.h"

#if defined(__AVX512F__) || defined(__aarch64__)
#define VECTORS 4
#else
#define VECTORS 2
#endif

#define FC_KERNELS "filters/filter2d/conv2d_kernels.inc"
#include "filters/base/both_types.inc"

const fc_conv2d_kernel_pair FC_ISA_NAME(fc_conv2d_kernels) = {{rows_f32}, {rows_f64}};
