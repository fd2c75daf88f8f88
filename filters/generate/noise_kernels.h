/* SPDX-License-Identifier: MIT */
/*
 * noise_kernels.h - the loops of noise.c for one instruction set.
 */
#ifndef FC_FILTERS_NOISE_KERNELS_H
#define FC_FILTERS_NOISE_KERNELS_H

#include "filters/base/isa.h"
#include "filters/generate/noise.h"

#define FC_NOISE_RUN 512 /* samples, a multiple of 4 */

typedef struct fc_noise_kernels {
  /* The noise of FC_NOISE_RUN samples of a row, from x = 4 * first on, of deviation 1. */
  void (*make)(uint64_t key, uint64_t row, uint64_t first, int even, double *to);
} fc_noise_kernels;
FC_ISA_DECLARE(fc_noise_kernels, fc_noise_kernels);

#endif
