/* SPDX-License-Identifier: MIT */
/*
 * gemm_kernels.c - register tiles and sums of sums, for one instruction set.
 *
 * The height of a tile fills the vector registers: 12 x 2 sums of AVX-512's 32, 6 x 2 of AVX2's 16, 4 x 2 of
 * SSE2's 16 (which also needs one for each product).
 */
#include "filters/gemm/gemm_kernels.h"
#include "filters/base/simd.h"

#if defined(__AVX512F__)
#define MR 12
#elif defined(__AVX__)
#define MR 6
#elif defined(__aarch64__)
#define MR 8
#else
#define MR 4
#endif

#define FC_KERNELS "filters/gemm/gemm_kernels.inc"
#include "filters/base/both_types.inc"

const fc_gemm_kernel_pair FC_ISA_NAME(fc_gemm_kernels) = {
    {2 * FC_LANES_F32, FC_LANES_F32, tile_f32, add_f32},
    {2 * FC_LANES_F64, FC_LANES_F64, tile_f64, add_f64},
};
