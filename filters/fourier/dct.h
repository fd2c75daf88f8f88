/* SPDX-License-Identifier: MIT */
/*
 * dct.h - the matrices of the discrete cosine transforms II and III, which matrix.h
 * and matrix_xy.h apply.
 *
 * As scipy.fft.dct defines them. Type II of n values:
 *   X[k] = 2 sum_i x[i] cos(pi k (2i + 1) / 2n)
 * type III:
 *   X[k] = x[0] + 2 sum_{i>0} x[i] cos(pi i (2k + 1) / 2n)
 * Orthonormal: II is scaled by sqrt(1/2n), its k = 0 by sqrt(1/4n), so that its
 * transpose, the orthonormal III, is its inverse and energy is kept. Without that
 * the inverse of one is the other divided by 2n.
 */
#ifndef FC_FILTERS_DCT_H
#define FC_FILTERS_DCT_H

#include <stdint.h>

#include "filters/base/api.h"

FC_BEGIN_DECLS

typedef struct fc_dct {
  int64_t size;
  int type;        /* 2 or 3 */
  int orthonormal; /* or scaled as in the sums above */
  int inverse;
} fc_dct;

/* Writes the first `keep` <= size rows of the transform's matrix, row-major. */
FC_FILTERS_API void fc_dct_matrix(const fc_dct *dct, int64_t keep, double *rows);

FC_END_DECLS

#endif
