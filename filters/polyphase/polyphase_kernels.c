/* SPDX-License-Identifier: MIT */
/*
 * polyphase_kernels.c - sums of samples times taps, for one instruction set, in two ways.
 *
 * Outputs one by one: dot products of adjacent samples with a row of taps. A few outputs of two channels are
 * summed together: the sums of a single one would be a chain of dependent operations, and channels share the
 * loads of their taps.
 *
 * By periods: outputs that are whole periods apart have the same taps, so that a vector holds one sample of
 * each, and a tap multiplies all of it: a product of matrices, of which a block of sums stays in registers.
 */
#include "filters/polyphase/polyphase_kernels.h"

#include "filters/base/simd.h"

/* Registers of the sums of an output, and outputs that are summed together. */
#define REGISTERS (FC_POLYPHASE_LANES / LANES)
#define TOGETHER  (LANES >= 16 ? 4 : LANES >= 8 ? 2 : 1)

/* Vectors of a row that are summed together: with 4 outputs, half of 32 registers or of 16. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define VECTORS 4
#else
#define VECTORS 2
#endif
/* Rows of each of four parts in the middle. */
#define MIDDLE 8

#define FC_KERNELS "filters/polyphase/polyphase_kernels.inc"
#include "filters/base/both_types.inc"

const fc_polyphase_kernels FC_ISA_NAME(fc_polyphase_kernels) = {lines_f32, lines_f64, group_f32, group_f64};
