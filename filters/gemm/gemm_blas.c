/* SPDX-License-Identifier: MIT */
/*
 * gemm_blas.c - see gemm_blas.h: converts strides to orders and leading dimensions.
 */
#include "filters/gemm/gemm_blas.h"

#include <cblas.h>
#include <limits.h>

#include "filters/base/integers.h"

/* A matrix in the form of BLAS, in row-major order. */
typedef struct matrix {
  const void *data;
  CBLAS_TRANSPOSE transposed;
  int ld;
} matrix;

/* Whether BLAS can express it. A leading dimension is at least 1 and the length of adjacent elements. */
static int describe(matrix *to, const void *data, int64_t rows, int64_t cols, int64_t row, int64_t col) {
  const int64_t wide = fc_larger(cols, 1), high = fc_larger(rows, 1);
  int by_rows = (col == 1 || cols <= 1) && (row >= wide || rows <= 1);
  int by_cols = (row == 1 || rows <= 1) && (col >= high || cols <= 1);
  int64_t ld = by_rows ? (rows > 1 ? row : wide) : cols > 1 ? col : high;
  *to = (matrix){data, by_rows ? CblasNoTrans : CblasTrans, (int)ld};
  return (by_rows || by_cols) && ld <= INT_MAX;
}

static void multiply(const fc_gemm *g, int m, int n, const matrix *a, const matrix *b, const matrix *c) {
  const int k = (int)g->k;
  if (g->type == FC_F64)
    cblas_dgemm(CblasRowMajor, a->transposed, b->transposed, m, n, k, g->alpha, a->data, a->ld, b->data,
                b->ld, g->beta, g->c, c->ld);
  else
    cblas_sgemm(CblasRowMajor, a->transposed, b->transposed, m, n, k, (float)g->alpha, a->data, a->ld,
                b->data, b->ld, (float)g->beta, g->c, c->ld);
}

fc_status fc_gemm_blas(const fc_gemm *g) {
  fc_status status = fc_gemm_check(g);
  matrix a, b, c;
  if (status != FC_OK || g->m == 0 || g->n == 0) return status;
  if (g->d && g->beta != 0) return FC_UNSUPPORTED;
  if (g->m > INT_MAX || g->n > INT_MAX || g->k > INT_MAX) return FC_UNSUPPORTED;
  if (!describe(&c, g->c, g->m, g->n, g->c_row, g->c_col)) return FC_UNSUPPORTED;
  if (c.transposed == CblasNoTrans) {
    if (!describe(&a, g->a, g->m, g->k, g->a_row, g->a_col)) return FC_UNSUPPORTED;
    if (!describe(&b, g->b, g->k, g->n, g->b_row, g->b_col)) return FC_UNSUPPORTED;
    multiply(g, (int)g->m, (int)g->n, &a, &b, &c);
    return FC_OK;
  }
  /* If C is stored by columns, its transpose is stored by rows: that is B's transpose times A's. */
  if (!describe(&a, g->a, g->k, g->m, g->a_col, g->a_row)) return FC_UNSUPPORTED;
  if (!describe(&b, g->b, g->n, g->k, g->b_col, g->b_row)) return FC_UNSUPPORTED;
  multiply(g, (int)g->n, (int)g->m, &b, &a, &c);
  return FC_OK;
}
