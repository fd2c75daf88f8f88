/* SPDX-License-Identifier: MIT */
/*
 * matrix_kernels.h - mixing of a few interleaved channels, for one instruction set. Internal.
 */
#ifndef FC_FILTERS_MATRIX_KERNELS_H
#define FC_FILTERS_MATRIX_KERNELS_H

#include "filters/base/isa.h"

/* Limit of channels, in and out, for which there are mixing kernels. */
#define FC_MIX_MAX 4

/* to[i*rows + r] = offset[r] + sum_c matrix[c*pitch + r] * from[i*cols + c], i < count. */
typedef void fc_mix_f32(float *to, const float *from, const float *matrix, int64_t pitch, const float *offset,
                        int64_t count);
typedef void fc_mix_f64(double *to, const double *from, const double *matrix, int64_t pitch,
                        const double *offset, int64_t count);

typedef struct fc_matrix_kernels {
  fc_mix_f32 *mix_f32[FC_MIX_MAX][FC_MIX_MAX]; /* [cols - 1][rows - 1] */
  fc_mix_f64 *mix_f64[FC_MIX_MAX][FC_MIX_MAX];
} fc_matrix_kernels;

FC_ISA_DECLARE(fc_matrix_kernels, fc_matrix_kernels);

#endif
