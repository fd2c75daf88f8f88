/* SPDX-License-Identifier: MIT */
/*
 * gemm.c - the reference product and the blocked one.
 *
 * Blocks: KC rows of B are packed by NC columns (to stay in the last cache), MC rows
 * of A by KC (in the second); a tile multiplies one panel of each (the first). The
 * sum of an element is therefore cut every KC steps of k, and nowhere else.
 */
#include <string.h>

#include "filters/gemm/gemm.h"
#include "filters/gemm/gemm_kernels.h"
#include "filters/base/integers.h"

#define KC 256
#define MC 144 /* a multiple of every tile's height */
#define NC 2048

fc_status fc_gemm_check(const fc_gemm *g) {
  if (g->type != FC_F32 && g->type != FC_F64) return FC_INVALID;
  if (g->m < 0 || g->n < 0 || g->k < 0) return FC_INVALID;
  if (g->m == 0 || g->n == 0) return FC_OK;
  if (!g->c) return FC_INVALID;
  if (g->k > 0 && g->alpha != 0 && (!g->a || !g->b)) return FC_INVALID;
  return FC_OK;
}

/* ---- reference -------------------------------------------------------- */

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

/* ---- blocked ---------------------------------------------------------- */

/* A product in progress; names ending in `at` are distances in bytes. */
typedef struct plan {
  const fc_gemm *g;
  const fc_gemm_kernels *kernels;
  int64_t k;
  char *a_panels, *b_panels;
  int direct; /* B is used in place: A has too few rows to pay for packing */
} plan;

static const void *at(const plan *p, const void *matrix, int64_t index) {
  return (const char *)matrix + index * (int64_t)p->kernels->size;
}

size_t fc_gemm_scratch(const fc_gemm *g) {
  const fc_gemm_kernels *kernels = fc_gemm_kernels_of(g->isa, g->type);
  int64_t k = fc_smaller(g->k, KC);
  int64_t rows = fc_smaller(fc_round_up(g->m, kernels->rows), MC);
  int64_t cols = fc_smaller(fc_round_up(g->n, kernels->cols), NC);
  int64_t a_bytes = fc_round_up(rows * k * (int64_t)kernels->size, 64);
  return (size_t)(a_bytes + cols * k * (int64_t)kernels->size);
}

/* C[i.., j..] of one tile += A[i.., p..p+kc) B[p..p+kc), j..]; `first` applies beta. */
static void multiply_tile(const plan *p, const void *a, const void *b, int64_t b_row, int64_t i, int64_t j,
                          int64_t kc, int first) {
  _Alignas(64) char sums[FC_TILE_MAX_ROWS * FC_TILE_MAX_COLS * sizeof(double)];
  const fc_gemm *g = p->g;
  int rows = (int)fc_smaller(p->kernels->rows, g->m - i);
  int cols = (int)fc_smaller(p->kernels->cols, g->n - j);
  int width = cols > p->kernels->lanes ? p->kernels->cols : p->kernels->lanes;
  p->kernels->tile(rows, width, kc, a, 1, p->kernels->rows, b, b_row, sums, p->kernels->cols, 0);
  char *c = (char *)g->c + (i * g->c_row + j * g->c_col) * (int64_t)p->kernels->size;
  p->kernels->update(c, g->c_row, g->c_col, sums, p->kernels->cols, rows, cols, g->alpha,
                     first ? g->beta : 1.0);
}

/* Rows [i, i+mc) of C in columns [j, j+nc), with A packed and B packed or direct. */
static void multiply_block(const plan *p, int64_t i, int64_t mc, int64_t j, int64_t nc, int64_t k,
                           int64_t kc) {
  const fc_gemm *g = p->g;
  const int mr = p->kernels->rows, nr = p->kernels->cols;
  for (int64_t jr = 0; jr < nc; jr += nr) {
    const void *b = at(p, p->b_panels, jr * kc);
    int64_t b_row = nr;
    if (p->direct && jr + nr <= nc) {
      b = at(p, g->b, k * g->b_row + j + jr);
      b_row = g->b_row;
    }
    for (int64_t ir = 0; ir < mc; ir += mr)
      multiply_tile(p, at(p, p->a_panels, ir * kc), b, b_row, i + ir, j + jr, kc, k == 0);
  }
}

/* Packs the part of B that multiply_block reads packed: all, or only an incomplete last panel. */
static void pack_b(const plan *p, int64_t j, int64_t nc, int64_t k, int64_t kc) {
  const fc_gemm *g = p->g;
  int64_t skip = p->direct ? nc - nc % p->kernels->cols : 0;
  p->kernels->pack((void *)at(p, p->b_panels, skip * kc), p->kernels->cols,
                   at(p, g->b, k * g->b_row + (j + skip) * g->b_col), g->b_col, g->b_row, nc - skip, kc);
}

static void multiply(const plan *p) {
  const fc_gemm *g = p->g;
  for (int64_t j = 0; j < g->n; j += NC) {
    int64_t nc = fc_smaller(NC, g->n - j);
    int64_t k = 0;
    do { /* once at least: with k = 0, C = beta C */
      int64_t kc = fc_smaller(KC, p->k - k);
      pack_b(p, j, nc, k, kc);
      for (int64_t i = 0; i < g->m; i += MC) {
        int64_t mc = fc_smaller(MC, g->m - i);
        p->kernels->pack(p->a_panels, p->kernels->rows, at(p, g->a, i * g->a_row + k * g->a_col), g->a_row,
                         g->a_col, mc, kc);
        multiply_block(p, i, mc, j, nc, k, kc);
      }
      k += kc;
    } while (k < p->k);
  }
}

/* C = D, which the product is then added to. */
static void copy_d(const fc_gemm *g) {
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++) {
      const int64_t to = i * g->c_row + j * g->c_col, from = i * g->d_row + j * g->d_col;
      if (g->type == FC_F64)
        ((double *)g->c)[to] = ((const double *)g->d)[from];
      else
        ((float *)g->c)[to] = ((const float *)g->d)[from];
    }
}

fc_status fc_gemm_cpu(const fc_gemm *g, void *scratch) {
  fc_status status = fc_gemm_check(g);
  if (status != FC_OK || g->m == 0 || g->n == 0) return status;
  if (g->d && g->beta != 0) copy_d(g);
  plan p = {.g = g, .kernels = fc_gemm_kernels_of(g->isa, g->type)};
  int64_t a_bytes =
      fc_smaller(fc_round_up(g->m, p.kernels->rows), MC) * fc_smaller(g->k, KC) * (int64_t)p.kernels->size;
  p.k = g->alpha != 0 ? g->k : 0;
  p.a_panels = scratch;
  p.b_panels = (char *)scratch + fc_round_up(a_bytes, 64);
  p.direct = g->b_col == 1 && g->m <= p.kernels->rows;
  multiply(&p);
  return FC_OK;
}
