/* SPDX-License-Identifier: MIT */
/*
 * gemm_kernels.h - the inner loops of matrix products, for one instruction set. Internal to filters/: used by
 * matrix.c.
 *
 * Pointers are to elements of the type that the table is for, so that the loops around these are written
 * once; strides and counts are in elements.
 */
#ifndef FC_FILTERS_GEMM_KERNELS_H
#define FC_FILTERS_GEMM_KERNELS_H

#include "filters/base/isa.h"

/* Most columns of a tile for any instruction set and type. */
#define FC_TILE_MAX_COLS 32

typedef struct fc_gemm_kernels {
  int cols, lanes; /* of a full tile; elements of a vector (`cols` is two vectors) */

  /*
   * One tile of sums in registers: for i < rows and j < cols,
   *
   *   c[i*c_row + j] = (keep ? c[i*c_row + j] : 0) + sum_k a[i*a_row + k*a_col] * b[k*b_row + j]
   *
   * with k ascending and one FC_FMA a step. Any number of rows; `cols` is one vector
   * or two, all of which is read of b and written of c.
   */
  void (*tile)(int rows, int cols, int64_t k, const void *a, int64_t a_row, int64_t a_col, const void *b,
               int64_t b_row, void *c, int64_t c_row, int keep);

  /* c += sums, of `count` adjacent elements. */
  void (*add)(void *c, const void *sums, int64_t count);
} fc_gemm_kernels;

/* [0] for f32, [1] for f64. */
typedef fc_gemm_kernels fc_gemm_kernel_pair[2];
FC_ISA_DECLARE(fc_gemm_kernel_pair, fc_gemm_kernels);

static inline const fc_gemm_kernels *fc_gemm_kernels_of(int isa, int type) {
  return &(*FC_ISA_PICK(fc_gemm_kernels, isa))[type == FC_F64];
}

#endif
