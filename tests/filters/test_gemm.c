/* SPDX-License-Identifier: MIT */
/*
 * test_gemm.c - the reference product against the definition in long double: any shape (0 and 1 too), order
 * and leading dimension, alpha and beta; that nothing else is written.
 */
#include "tests/filters/check.h"
#include "tests/filters/matrices.h"

static const int64_t sizes[] = {0, 1, 2, 3, 5, 8, 13, 16, 17, 31, 33, 64, 97};
#define N_SIZES ((int64_t)(sizeof sizes / sizeof sizes[0]))
static const double factors[] = {1, 0, -1, 0.7};

typedef struct problem {
  fc_gemm g;
  matrix a, b, c;
} problem;

static problem problem_new(int type, int64_t m, int64_t n, int64_t k, double alpha, double beta) {
  problem p = {.a = matrix_new(type, m, k), .b = matrix_new(type, k, n), .c = matrix_new(type, m, n)};
  p.g = (fc_gemm){type,     m,       n,       k,       alpha,   beta,    p.a.data, p.b.data,
                  p.c.data, p.a.row, p.a.col, p.b.row, p.b.col, p.c.row, p.c.col};
  return p;
}

static void problem_free(problem *p) {
  matrix_free(&p->a);
  matrix_free(&p->b);
  matrix_free(&p->c);
}

/* C as it should be, in long double, and how far from it rounding may lead. */
static long double expected(const problem *p, const matrix *before, int64_t i, int64_t j,
                            long double *slack) {
  const fc_gemm *g = &p->g;
  long double sum = 0, size = 0;
  for (int64_t q = 0; q < g->k && g->alpha != 0; q++) {
    long double x = (long double)matrix_get(&p->a, i, q) * matrix_get(&p->b, q, j);
    sum += x;
    size += fabsl(x);
  }
  long double value = g->alpha * sum, eps = g->type == FC_F64 ? 0x1p-53L : 0x1p-24L;
  size *= fabsl((long double)g->alpha);
  if (g->beta != 0) {
    long double old = g->beta * (long double)matrix_get(before, i, j);
    value += old;
    size += fabsl(old);
  }
  *slack = eps * (g->k + 3) * size;
  return value;
}

static void compare(const problem *p, const matrix *before) {
  for (int64_t i = 0; i < p->g.m; i++)
    for (int64_t j = 0; j < p->g.n; j++) {
      long double slack, want = expected(p, before, i, j, &slack);
      double got = matrix_get(&p->c, i, j);
      CHECK(fabsl(got - want) <= slack,
            "%" PRId64 "x%" PRId64 "x%" PRId64 " at %" PRId64 ",%" PRId64 ": %.17g, not %.17Lg", p->g.m,
            p->g.n, p->g.k, i, j, got, want);
    }
  CHECK(matrix_intact(&p->c), "%" PRId64 "x%" PRId64 ": wrote beyond C", p->g.m, p->g.n);
}

static void check_shape(int type, int64_t m, int64_t n, int64_t k) {
  double alpha = factors[random_int(0, 3)], beta = factors[random_int(0, 3)];
  problem p = problem_new(type, m, n, k, alpha, beta);
  /* With beta 0, what C held must not matter. */
  if (beta == 0) matrix_fill(&p.c, NAN);
  matrix before = matrix_copy(&p.c);
  CHECK(fc_gemm_ref(&p.g) == FC_OK, "refused");
  compare(&p, &before);
  matrix_free(&before);
  problem_free(&p);
}

/* A value for each row, added: as if C had held it. */
static void check_added(int type) {
  problem p = problem_new(type, random_int(1, 60), random_int(1, 60), random_int(0, 300), 0.7, 1);
  matrix d = matrix_new(type, p.g.m, 1);
  for (int64_t i = 0; i < p.g.m; i++)
    for (int64_t j = 0; j < p.g.n; j++) matrix_set(&p.c, i, j, matrix_get(&d, i, 0));
  matrix want = matrix_copy(&p.c);
  CHECK(fc_gemm_ref(&p.g) == FC_OK, "refused");
  matrix_assign(&want, &p.c), matrix_fill(&p.c, NAN);
  p.g.d = d.data, p.g.d_row = d.row, p.g.d_col = 0;
  CHECK(fc_gemm_ref(&p.g) == FC_OK && matrix_equal(&p.c, &want), "rows of D");
  matrix_free(&d), matrix_free(&want), problem_free(&p);
}

static void check_refusals(void) {
  double x = 1;
  fc_gemm g = {.type = FC_F64, .m = 1, .n = 1, .k = 1, .alpha = 1, .a = &x, .b = &x, .c = &x};
  fc_gemm bad = g;
  bad.type = FC_I32;
  CHECK(fc_gemm_ref(&bad) == FC_INVALID, "a product of integers");
  bad = g, bad.m = -1;
  CHECK(fc_gemm_check(&bad) == FC_INVALID, "negative size");
  bad = g, bad.a = NULL;
  CHECK(fc_gemm_check(&bad) == FC_INVALID, "no A");
  bad.alpha = 0;
  CHECK(fc_gemm_check(&bad) == FC_OK, "A is not needed with alpha 0");
}

int main(void) {
  random_start(3);
  check_refusals();
  for (int type = FC_F32; type <= FC_F64; type++) {
    for (int64_t i = 0; i < N_SIZES; i++)
      for (int64_t j = 0; j < N_SIZES; j++)
        check_shape(type, sizes[i], sizes[j], sizes[random_int(0, N_SIZES - 1)]);
    for (int round = 0; round < 6; round++) check_added(type);
  }
  return check_result();
}
