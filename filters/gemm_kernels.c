/* SPDX-License-Identifier: MIT */
/*
 * gemm_kernels.c - register tiles, packing and the update of C, for one instruction set.
 *
 * The height of a tile fills the vector registers: 12 x 2 sums of AVX-512's 32, 6 x 2
 * of AVX2's 16, 4 x 2 of SSE2's 16 (which wants one for each product too).
 */
#include "filters/gemm_kernels.h"
#include "filters/simd.h"

#if defined(__AVX512F__)
#define MR 12
#elif defined(__AVX__)
#define MR 6
#elif defined(__aarch64__)
#define MR 8
#else
#define MR 4
#endif

#define T     float
#define V     fc_vf
#define LANES FC_LANES_F32
#define F(f)  f##_f32
#define LOAD  fc_vf_load
#define STORE fc_vf_store
#define SPLAT fc_vf_splat
#define FMA   FC_VF_FMA
#define FMA1  FC_FMAF
#include "filters/gemm_kernels.inc"
#undef T
#undef V
#undef LANES
#undef F
#undef LOAD
#undef STORE
#undef SPLAT
#undef FMA
#undef FMA1

#define T     double
#define V     fc_vd
#define LANES FC_LANES_F64
#define F(f)  f##_f64
#define LOAD  fc_vd_load
#define STORE fc_vd_store
#define SPLAT fc_vd_splat
#define FMA   FC_VD_FMA
#define FMA1  FC_FMA
#include "filters/gemm_kernels.inc"

const fc_gemm_kernel_pair FC_ISA_NAME(fc_gemm_kernels) = {
    {MR, 2 * FC_LANES_F32, FC_LANES_F32, sizeof(float), tile_f32, pack_f32, update_f32},
    {MR, 2 * FC_LANES_F64, FC_LANES_F64, sizeof(double), tile_f64, pack_f64, update_f64},
};
