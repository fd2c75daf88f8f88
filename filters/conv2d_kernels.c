/* SPDX-License-Identifier: MIT */
/*
 * conv2d_kernels.c - the dense 2-D sum, for one instruction set and both compute types.
 *
 * A tile of sums is 4 rows by as many vectors as the registers hold: with 2, AVX2's 16
 * hold 8 sums, 2 vectors of input and a tap.
 */
#include "filters/conv2d_kernels.h"
#include "filters/conv2d_strips.h"
#include "filters/simd.h"

#if defined(__AVX512F__) || defined(__aarch64__)
#define VECTORS 4
#else
#define VECTORS 2
#endif

#define T      float
#define V      fc_vf
#define LANES  FC_LANES_F32
#define F(f)   f##_f32
#define LOAD   fc_vf_load
#define STORE  fc_vf_store
#define STREAM FC_VF_STREAM
#define SPLAT  fc_vf_splat
#define FMA    FC_VF_FMA
#define FMA1   FC_FMAF
#include "filters/conv2d_kernels.inc"
#undef T
#undef V
#undef LANES
#undef F
#undef LOAD
#undef STORE
#undef STREAM
#undef SPLAT
#undef FMA
#undef FMA1

#define T      double
#define V      fc_vd
#define LANES  FC_LANES_F64
#define F(f)   f##_f64
#define LOAD   fc_vd_load
#define STORE  fc_vd_store
#define STREAM FC_VD_STREAM
#define SPLAT  fc_vd_splat
#define FMA    FC_VD_FMA
#define FMA1   FC_FMA
#include "filters/conv2d_kernels.inc"

const fc_conv2d_kernel_pair FC_ISA_NAME(fc_conv2d_kernels) = {{rows_f32}, {rows_f64}};
