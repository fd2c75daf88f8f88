/* SPDX-License-Identifier: MIT */
/*
 * test_gemm_blas.c - products by BLAS: the reference to rounding for every order of the three
 * matrices, padded and not; refused, and nothing written, where BLAS has no words for the strides.
 */
#include <float.h>

#include "filters/gemm/gemm_blas.h"
#include "tests/filters/check.h"

#define MOST 70

typedef struct operand {
  double f64[(MOST + 3) * (MOST + 3)];
  float f32[(MOST + 3) * (MOST + 3)];
} operand;

static void fill(operand *o) {
  for (int i = 0; i < (MOST + 3) * (MOST + 3); i++) o->f64[i] = o->f32[i] = (float)random_real() - 0.5f;
}

static void *data_of(operand *o, int type) {
  return type == FC_F64 ? (void *)o->f64 : o->f32;
}

static double element(const operand *o, int type, int64_t i) {
  return type == FC_F64 ? o->f64[i] : (double)o->f32[i];
}

static void strides_of(int64_t rows, int64_t cols, int64_t *row, int64_t *col) {
  fc_order order = random_int(0, 1) ? FC_COL_MAJOR : FC_ROW_MAJOR;
  int64_t ld = (order == FC_ROW_MAJOR ? cols : rows) + random_int(0, 3);
  fc_gemm_strides(order, 0, ld > 0 ? ld : 1, row, col);
}

static void compare(const fc_gemm *g, const operand *got, const operand *want) {
  const double eps = g->type == FC_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
  /* Of elements up to a half. */
  const double slack =
      ((double)g->k * 0.25 * fabs(g->alpha) + 0.5 * fabs(g->beta) + 1) * (double)(g->k + 4) * eps;
  for (int64_t i = 0; i < (MOST + 3) * (MOST + 3); i++)
    CHECK(fabs(element(got, g->type, i) - element(want, g->type, i)) <= slack,
          "%d x %d x %d: element %d is %.17g, not %.17g", (int)g->m, (int)g->n, (int)g->k, (int)i,
          element(got, g->type, i), element(want, g->type, i));
}

static void test_random(void) {
  static operand a, b, c, want;
  static const double factors[] = {1, 0, -2, 0.5};
  for (int i = 0; i < 400; i++) {
    fc_gemm g = {.type = i % 2 ? FC_F64 : FC_F32, .isa = fc_isa_best()};
    g.m = random_int(0, MOST), g.n = random_int(0, MOST), g.k = random_int(0, MOST);
    if (i % 5 == 0) g.m = 1;
    if (i % 7 == 0) g.n = 1;
    if (i % 11 == 0) g.k = 1;
    g.alpha = factors[random_int(0, 3)], g.beta = factors[random_int(0, 3)];
    strides_of(g.m, g.k, &g.a_row, &g.a_col);
    strides_of(g.k, g.n, &g.b_row, &g.b_col);
    strides_of(g.m, g.n, &g.c_row, &g.c_col);
    fill(&a), fill(&b), fill(&c);
    want = c;
    g.a = data_of(&a, g.type), g.b = data_of(&b, g.type), g.c = data_of(&want, g.type);
    CHECK(fc_gemm_ref(&g) == FC_OK, "reference");
    g.c = data_of(&c, g.type);
    CHECK(fc_gemm_blas(&g) == FC_OK, "case %d", i);
    compare(&g, &c, &want);
  }
}

static void test_refused(void) {
  static operand a, b, c, before;
  fill(&a), fill(&b), fill(&c);
  before = c;
  fc_gemm g = {FC_F32, 0, 4, 5, 6, 1, 0, a.f32, b.f32, c.f32, 12, 2, 5, 1, 5, 1};
  CHECK(fc_gemm_blas(&g) == FC_UNSUPPORTED, "every second element of A");
  g.a_row = 6, g.a_col = 1, g.c_row = 10, g.c_col = 2;
  CHECK(fc_gemm_blas(&g) == FC_UNSUPPORTED, "every second element of C");
  g.c_row = 5, g.c_col = 1, g.b_row = 0;
  CHECK(fc_gemm_blas(&g) == FC_UNSUPPORTED, "one row of B again and again");
  g.type = FC_I32;
  CHECK(fc_gemm_blas(&g) == FC_INVALID, "no such type");
  CHECK(memcmp(&c, &before, sizeof c) == 0, "something was written");
}

int main(void) {
  random_start(20261122);
  test_random();
  test_refused();
  return check_result();
}
