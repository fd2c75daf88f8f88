/* SPDX-License-Identifier: MIT */
/*
 * fft_kernels.c - see fft_kernels.h; for one instruction set.
 */
#include "filters/fourier/fft.h"
#include "filters/fourier/fft_kernels.h"
#include "filters/base/simd.h"

#define FC_KERNELS "filters/fourier/fft_kernels.inc"
#include "filters/base/both_types.inc"

const fc_fft_kernel_pair FC_ISA_NAME(fc_fft_kernels) = {
    {FC_LANES_F32, pass_f32, multiply_f32, split_f32, unsplit_f32, fold_f32, to_cosines_f32, from_cosines_f32,
     scale_f32, add_f32, pack_f32, unpack_f32},
    {FC_LANES_F64, pass_f64, multiply_f64, split_f64, unsplit_f64, fold_f64, to_cosines_f64, from_cosines_f64,
     scale_f64, add_f64, pack_f64, unpack_f64},
};
