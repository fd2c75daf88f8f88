/* SPDX-License-Identifier: MIT */
/*
 * polyphase_kernels.c - dot products of rows of taps with the input, for one instruction set.
 *
 * A few outputs of two channels are summed together: the sums of a single one would be a chain of dependent
 * operations, and channels share the loads of their taps.
 */
#include "filters/polyphase/polyphase_kernels.h"

#include "filters/base/simd.h"

#define F        float
#define V        fc_vf
#define LANES    FC_LANES_F32
#define LOAD     fc_vf_load
#define SPLAT    fc_vf_splat
#define MADD     FC_VF_FMA
#define NAME(n)  n##_f32
#define TOGETHER (FC_LANES_F32 >= 16 ? 4 : FC_LANES_F32 >= 8 ? 2 : 1)
#include "filters/polyphase/polyphase_kernels.inc"

#define F        double
#define V        fc_vd
#define LANES    FC_LANES_F64
#define LOAD     fc_vd_load
#define SPLAT    fc_vd_splat
#define MADD     FC_VD_FMA
#define NAME(n)  n##_f64
#define TOGETHER (FC_LANES_F64 >= 8 ? 2 : 1)
#include "filters/polyphase/polyphase_kernels.inc"

const fc_polyphase_kernels FC_ISA_NAME(fc_polyphase_kernels) = {lines_f32, lines_f64};
