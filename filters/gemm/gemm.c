/* SPDX-License-Identifier: MIT */
/*
 * gemm.c - the reference product.
 */
#include "filters/gemm/gemm.h"

fc_status fc_gemm_check(const fc_gemm *g) {
  if (g->type != FC_F32 && g->type != FC_F64) return FC_INVALID;
  if (g->m < 0 || g->n < 0 || g->k < 0) return FC_INVALID;
  if (g->m == 0 || g->n == 0) return FC_OK;
  if (!g->c) return FC_INVALID;
  if (g->k > 0 && g->alpha != 0 && (!g->a || !g->b)) return FC_INVALID;
  return FC_OK;
}

static double element(const void *matrix, int type, int64_t at) {
  return type == FC_F64 ? ((const double *)matrix)[at] : (double)((const float *)matrix)[at];
}

static double reference_sum(const fc_gemm *g, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t p = 0; p < g->k; p++)
    sum += element(g->a, g->type, i * g->a_row + p * g->a_col) *
           element(g->b, g->type, p * g->b_row + j * g->b_col);
  return sum;
}

/* What beta multiplies in C[i][j]. */
static double added(const fc_gemm *g, int64_t i, int64_t j) {
  return g->d ? element(g->d, g->type, i * g->d_row + j * g->d_col)
              : element(g->c, g->type, i * g->c_row + j * g->c_col);
}

fc_status fc_gemm_ref(const fc_gemm *g) {
  fc_status status = fc_gemm_check(g);
  if (status != FC_OK) return status;
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++) {
      int64_t at = i * g->c_row + j * g->c_col;
      double value = g->alpha != 0 ? g->alpha * reference_sum(g, i, j) : 0;
      if (g->beta != 0) value += g->beta * added(g, i, j);
      if (g->type == FC_F64)
        ((double *)g->c)[at] = value;
      else
        ((float *)g->c)[at] = (float)value;
    }
  return FC_OK;
}
