/* SPDX-License-Identifier: MIT */
/*
 * sepconv_kernels.c - the column and the row pass of sepconv, for one instruction set
 * and both compute types.
 */
#include "filters/sepconv_kernels.h"
#include "filters/conv2d_strips.h"
#include "filters/simd.h"

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
#include "filters/sepconv_kernels.inc"
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
#include "filters/sepconv_kernels.inc"

const fc_sepconv_kernel_pair FC_ISA_NAME(fc_sepconv_kernels) = {
    {sizeof(float), columns_f32, row_f32},
    {sizeof(double), columns_f64, row_f64},
};
