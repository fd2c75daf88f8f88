/* SPDX-License-Identifier: MIT */
/*
 * fft_kernels.c - see fft_kernels.h; for one instruction set.
 */
#include "filters/fft.h"
#include "filters/fft_kernels.h"
#include "filters/simd.h"

#define T            float
#define F(f)         f##_f32
#define FMA1         FC_FMAF
#define VECTOR       fc_vf
#define VECTOR_WIDTH FC_LANES_F32
#define VECTOR_LOAD  fc_vf_load
#define VECTOR_STORE fc_vf_store
#define VECTOR_SPLAT fc_vf_splat
#define VECTOR_FMA   FC_VF_FMA
#include "filters/fft_kernels.inc"
#undef T
#undef F
#undef FMA1
#undef VECTOR
#undef VECTOR_WIDTH
#undef VECTOR_LOAD
#undef VECTOR_STORE
#undef VECTOR_SPLAT
#undef VECTOR_FMA

#define T            double
#define F(f)         f##_f64
#define FMA1         FC_FMA
#define VECTOR       fc_vd
#define VECTOR_WIDTH FC_LANES_F64
#define VECTOR_LOAD  fc_vd_load
#define VECTOR_STORE fc_vd_store
#define VECTOR_SPLAT fc_vd_splat
#define VECTOR_FMA   FC_VD_FMA
#include "filters/fft_kernels.inc"

const fc_fft_kernel_pair FC_ISA_NAME(fc_fft_kernels) = {
    {FC_LANES_F32, pass_f32, multiply_f32, split_f32, unsplit_f32, fold_f32, to_cosines_f32, from_cosines_f32,
     scale_f32, add_f32, pack_f32, unpack_f32},
    {FC_LANES_F64, pass_f64, multiply_f64, split_f64, unsplit_f64, fold_f64, to_cosines_f64, from_cosines_f64,
     scale_f64, add_f64, pack_f64, unpack_f64},
};
