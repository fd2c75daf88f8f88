/* SPDX-License-Identifier: MIT */
/*
 * conv2d_kernels.h - the dense 2-D sum, for one instruction set. Internal to filters/.
 * Pointers are to elements of the table's type; counts and steps are in elements.
 */
#ifndef FC_FILTERS_CONV2D_KERNELS_H
#define FC_FILTERS_CONV2D_KERNELS_H

#include "filters/filter2d/conv2d.h"
#include "filters/base/isa.h"

typedef struct fc_conv2d_kernels {
  /* For r < count (1 to FC_STRIP_ROWS) and i < n: to[r][i] = sum over j < ny, k < nx of mask[j * nx + k] *
   * rows[r + j][i + k * step], in runs of at most FC_CONV2D_RUN taps: whole rows of the mask, or parts of
   * one. With `stream`, results are stored past the cache where possible; the caller executes
   * FC_STREAM_END. */
  void (*rows)(int64_t count, const void *const *rows, const void *mask, int64_t ny, int64_t nx, int64_t step,
               void *const *to, int64_t n, int stream);
} fc_conv2d_kernels;

/* [0] for f32, [1] for f64. */
typedef fc_conv2d_kernels fc_conv2d_kernel_pair[2];
FC_ISA_DECLARE(fc_conv2d_kernel_pair, fc_conv2d_kernels);

static inline const fc_conv2d_kernels *fc_conv2d_kernels_of(int isa, int compute) {
  return &(*FC_ISA_PICK(fc_conv2d_kernels, isa))[compute == FC_F64];
}

#endif
