/* SPDX-License-Identifier: MIT */
/*
 * test_gemm.c - the reference and every instruction set's product against the
 * definition in long double: any shape (0 and 1 too), order and leading dimension,
 * alpha and beta; that nothing else is read or written; and that a product computed in
 * pieces is the product computed whole, to the bit.
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
  p.g = (fc_gemm){type,     fc_isa_best(), m,       n,       k,       alpha,   beta,    p.a.data,
                  p.b.data, p.c.data,      p.a.row, p.a.col, p.b.row, p.b.col, p.c.row, p.c.col};
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

static void compare(const problem *p, const matrix *before, const char *who) {
  for (int64_t i = 0; i < p->g.m; i++)
    for (int64_t j = 0; j < p->g.n; j++) {
      long double slack, want = expected(p, before, i, j, &slack);
      double got = matrix_get(&p->c, i, j);
      CHECK(fabsl(got - want) <= slack,
            "%s %" PRId64 "x%" PRId64 "x%" PRId64 " at %" PRId64 ",%" PRId64 ": %.17g, not %.17Lg", who,
            p->g.m, p->g.n, p->g.k, i, j, got, want);
    }
  CHECK(matrix_intact(&p->c), "%s %" PRId64 "x%" PRId64 ": wrote beyond C", who, p->g.m, p->g.n);
}

static fc_status run_cpu(const fc_gemm *g) {
  guarded scratch = guarded_new(fc_gemm_scratch(g));
  fc_status status = fc_gemm_cpu(g, scratch.data);
  CHECK(guarded_intact(&scratch), "wrote beyond its scratch");
  guarded_free(&scratch);
  return status;
}

static void check_shape(int type, int64_t m, int64_t n, int64_t k) {
  double alpha = factors[random_int(0, 3)], beta = factors[random_int(0, 3)];
  problem p = problem_new(type, m, n, k, alpha, beta);
  /* With beta 0, what C held must not matter. */
  if (beta == 0) matrix_fill(&p.c, NAN);
  matrix before = matrix_copy(&p.c);
  CHECK(fc_gemm_ref(&p.g) == FC_OK, "reference");
  compare(&p, &before, "reference");
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++) {
    p.g.isa = isa;
    matrix_assign(&p.c, &before);
    CHECK(run_cpu(&p.g) == FC_OK, "%s", fc_isa_name((fc_isa)isa));
    compare(&p, &before, fc_isa_name((fc_isa)isa));
  }
  matrix_free(&before);
  problem_free(&p);
}

/* A piece of C, computed alone. */
static void run_piece(const fc_gemm *g, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
  int64_t size = (int64_t)fc_dtype_size(g->type);
  fc_gemm piece = *g;
  piece.m = i1 - i0;
  piece.n = j1 - j0;
  piece.a = (const char *)g->a + i0 * g->a_row * size;
  piece.b = (const char *)g->b + j0 * g->b_col * size;
  piece.c = (char *)g->c + (i0 * g->c_row + j0 * g->c_col) * size;
  run_cpu(&piece);
}

static void check_pieces(int type, int isa) {
  problem p = problem_new(type, random_int(1, 150), random_int(1, 150), random_int(1, 600), 0.7, -0.3);
  p.g.isa = isa;
  matrix before = matrix_copy(&p.c);
  run_cpu(&p.g);
  matrix whole = matrix_copy(&p.c);
  matrix_assign(&p.c, &before);
  int64_t i = random_int(0, p.g.m), j = random_int(0, p.g.n);
  run_piece(&p.g, 0, i, 0, j);
  run_piece(&p.g, i, p.g.m, 0, j);
  run_piece(&p.g, 0, p.g.m, j, p.g.n);
  CHECK(matrix_equal(&p.c, &whole), "%s: cut at %" PRId64 ",%" PRId64 " of %" PRId64 "x%" PRId64,
        fc_isa_name((fc_isa)isa), i, j, p.g.m, p.g.n);
  matrix_free(&whole);
  matrix_free(&before);
  problem_free(&p);
}

/* A value for each row, added: as if C had held it. */
static void check_added(int type, int isa) {
  problem p = problem_new(type, random_int(1, 60), random_int(1, 60), random_int(0, 300), 0.7, 1);
  matrix d = matrix_new(type, p.g.m, 1);
  p.g.isa = isa;
  for (int64_t i = 0; i < p.g.m; i++)
    for (int64_t j = 0; j < p.g.n; j++) matrix_set(&p.c, i, j, matrix_get(&d, i, 0));
  matrix want = matrix_copy(&p.c);
  run_cpu(&p.g);
  matrix_assign(&want, &p.c), matrix_fill(&p.c, NAN);
  p.g.d = d.data, p.g.d_row = d.row, p.g.d_col = 0;
  run_cpu(&p.g);
  CHECK(matrix_equal(&p.c, &want), "%s: rows of D", fc_isa_name((fc_isa)isa));
  CHECK(fc_gemm_ref(&p.g) == FC_OK, "reference");
  for (int64_t i = 0; i < p.g.m; i++)
    for (int64_t j = 0; j < p.g.n; j++) {
      const double off = fabs(matrix_get(&p.c, i, j) - matrix_get(&want, i, j));
      CHECK(off <= 1e-4, "reference, rows of D: off by %g", off);
    }
  matrix_free(&d), matrix_free(&want), problem_free(&p);
}

/* Sums longer than a block of k, rows and columns beyond one block. */
static void check_large(int type) {
  check_shape(type, 3, 2100, 5);
  check_shape(type, 150, 40, 700);
  check_shape(type, 301, 1, 257);
  check_shape(type, 1, 301, 513);
  check_shape(type, 2, 2, 5000);
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

static void check_strides(void) {
  int64_t row, col;
  fc_gemm_strides(FC_ROW_MAJOR, 0, 7, &row, &col);
  CHECK(row == 7 && col == 1, "row-major");
  fc_gemm_strides(FC_COL_MAJOR, 0, 7, &row, &col);
  CHECK(row == 1 && col == 7, "column-major");
  fc_gemm_strides(FC_ROW_MAJOR, 1, 7, &row, &col);
  CHECK(row == 1 && col == 7, "row-major, transposed");
}

int main(void) {
  random_start(3);
  check_refusals();
  check_strides();
  for (int type = FC_F32; type <= FC_F64; type++) {
    for (int64_t i = 0; i < N_SIZES; i++)
      for (int64_t j = 0; j < N_SIZES; j++)
        check_shape(type, sizes[i], sizes[j], sizes[random_int(0, N_SIZES - 1)]);
    check_large(type);
    for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++)
      for (int round = 0; round < 6; round++) check_pieces(type, isa), check_added(type, isa);
  }
  return check_result();
}
