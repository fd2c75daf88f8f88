/* SPDX-License-Identifier: MIT */
/*
 * test_gemm_split_cuda.c - the product of split elements on a CUDA device: its error beside that of the plain
 * f32 product, shown and held to twice that; that a product in pieces is the product computed whole, to the
 * bit; that nothing beyond C is written. Skipped without a device that has the units.
 */
#include "tests/filters/device_matrices.h"

#define SKIPPED 77

static const int64_t shapes[][3] = {
    {1, 1, 1},        {40, 70, 4},      {17, 5, 33},     {300, 200, 8},    {256, 300, 12},
    {200, 260, 20},   {128, 128, 32},   {200, 333, 50},  {1000, 1048, 52}, {64, 64, 2048},
    {516, 260, 4096}, {1540, 1540, 44}, {3000, 70, 129},
};

/* Root of the mean square of what `got` is off. */
static double error_of(const matrix *got, const matrix *want) {
  double sum = 0;
  for (int64_t i = 0; i < got->rows; i++)
    for (int64_t j = 0; j < got->cols; j++) {
      double off = matrix_get(got, i, j) - matrix_get(want, i, j);
      sum += off * off;
    }
  return sqrt(sum / (double)(got->rows * got->cols));
}

/* The reference of f32 matrices, unrounded. */
static matrix exact_product(const matrix *a, const matrix *b, const matrix *c, double alpha, double beta) {
  matrix da = matrix_dense(FC_F64, a->rows, a->cols, 1), db = matrix_dense(FC_F64, b->rows, b->cols, 1);
  matrix dc = matrix_dense(FC_F64, c->rows, c->cols, 1);
  const matrix *from[] = {a, b, c};
  matrix *to[] = {&da, &db, &dc};
  for (int n = 0; n < 3; n++)
    for (int64_t i = 0; i < from[n]->rows; i++)
      for (int64_t j = 0; j < from[n]->cols; j++) matrix_set(to[n], i, j, matrix_get(from[n], i, j));
  fc_gemm g = product_of(&da, &db, &dc, (float)alpha, (float)beta);
  CHECK(fc_gemm_ref(&g) == FC_OK, "reference");
  matrix_free(&da);
  matrix_free(&db);
  return dc;
}

static float *floats_of(const matrix *m, int by_rows) {
  float *v = malloc((size_t)(m->rows * m->cols) * sizeof *v);
  for (int64_t i = 0; i < m->rows; i++)
    for (int64_t j = 0; j < m->cols; j++)
      v[by_rows ? i * m->cols + j : j * m->rows + i] = (float)matrix_get(m, i, j);
  return v;
}

/* With sums of floats, of 256 products at a time: those of fc_gemm_cuda may be better. */
static matrix plain_product(const matrix *a, const matrix *b, const matrix *c, double alpha, double beta) {
  matrix plain = matrix_copy(c);
  float *rows = floats_of(a, 1), *columns = floats_of(b, 0);
  for (int64_t i = 0; i < plain.rows; i++)
    for (int64_t j = 0; j < plain.cols; j++) {
      float total = (float)(beta * matrix_get(c, i, j));
      for (int64_t k = 0, end = 0; k < a->cols; k = end) {
        float sum = 0;
        for (end = k + 256 < a->cols ? k + 256 : a->cols; k < end; k++)
          sum = fmaf(rows[i * a->cols + k], columns[j * a->cols + k], sum);
        total += (float)alpha * sum;
      }
      matrix_set(&plain, i, j, total);
    }
  free(rows), free(columns);
  return plain;
}

static fc_status run_split(const fc_gemm *g) {
  void *scratch = NULL;
  if (cudaMalloc(&scratch, fc_gemm_split_scratch(g) + 1) != cudaSuccess) abort();
  fc_status status = fc_gemm_split_cuda(g, scratch, NULL);
  CHECK(cudaDeviceSynchronize() == cudaSuccess, "device failed");
  cudaFree(scratch);
  return status;
}

static void check_halves(const fc_gemm *g, const matrix *device_c, const matrix *before,
                         const matrix *whole) {
  matrix halves = matrix_copy(before);
  cudaMemcpy(device_c->memory.base, before->memory.base, before->memory.bytes + 2 * GUARD_BYTES,
             cudaMemcpyHostToDevice);
  int64_t i = random_int(1, g->m), j = random_int(1, g->n);
  fc_gemm pieces[] = {piece_of(g, 0, i, 0, j), piece_of(g, i, g->m, 0, j), piece_of(g, 0, g->m, j, g->n)};
  for (int n = 0; n < 3; n++)
    if (pieces[n].m > 0 && pieces[n].n > 0) CHECK(run_split(&pieces[n]) == FC_OK, "piece");
  from_device(&halves, device_c);
  CHECK(matrix_equal(&halves, whole), "cut at %" PRId64 ",%" PRId64 " of %" PRId64 "x%" PRId64, i, j, g->m,
        g->n);
  matrix_free(&halves);
}

/* 0 where the device cannot. */
static int check_split(const fc_gemm *g, const matrix *dc, const matrix *before, const matrix *want,
                       double of_plain) {
  cudaMemcpy(dc->memory.base, before->memory.base, before->memory.bytes + 2 * GUARD_BYTES,
             cudaMemcpyHostToDevice);
  const fc_status status = run_split(g);
  if (status != FC_OK) {
    CHECK(status == FC_UNSUPPORTED, "status %d", (int)status);
    return 0;
  }
  matrix got = matrix_copy(before);
  from_device(&got, dc);
  const double error = error_of(&got, want);
  printf("%5" PRId64 " x %5" PRId64 " x %5" PRId64 ": error %.3g, of the plain product %.3g\n", g->m, g->n,
         g->k, error, of_plain);
  CHECK(error <= 2 * of_plain, "%" PRId64 "x%" PRId64 "x%" PRId64 ": %g beside %g", g->m, g->n, g->k, error,
        of_plain);
  CHECK(matrix_intact(&got), "wrote beyond C");
  check_halves(g, dc, before, &got);
  matrix_free(&got);
  return 1;
}

/* 0 where the device cannot. Takes the matrices. */
static int check_product(matrix a, matrix b, matrix c, double alpha, double beta) {
  matrix before = matrix_copy(&c), want = exact_product(&a, &b, &c, alpha, beta);
  matrix da = to_device(&a), db = to_device(&b), dc = to_device(&c),
         plain = plain_product(&a, &b, &c, alpha, beta);
  const fc_gemm g = product_of(&da, &db, &dc, alpha, beta);
  const double of_plain = error_of(&plain, &want);
  const int done = check_split(&g, &dc, &before, &want, of_plain);
  free_matrices((matrix *[]){&a, &b, &c, &before, &want, &plain}, 6, &da, &db, &dc);
  return done;
}

/* Not as a double, which some NaN do not survive. */
static void set_bits(matrix *m, int64_t i, int64_t j, uint32_t bits) {
  memcpy(matrix_at(m, i, j), &bits, sizeof bits);
}

/* As the plain product has it: what is not a number, infinite or next to it, in A or in B. */
static void check_special(int in_b, int orders) {
  enum { SIDE = 200, SUMS = 100 };
  static const uint32_t special[] = {0x7fffffff, 0xffffffff, 0x7f800001, 0xff800001, 0x7fc00000, /* NaN */
                                     0x7f800000, 0xff800000, 0x7f7fffff, 0xff7fffff, 0x7f7ff000, /* huge */
                                     0x00400000};                                                /* tiny */
  enum { COUNT = sizeof special / sizeof special[0] };
  matrix a = matrix_dense(FC_F32, SIDE, SUMS, orders & 1), b = matrix_dense(FC_F32, SUMS, SIDE, orders & 2);
  matrix c = matrix_dense(FC_F32, SIDE, SIDE, orders & 4), want = matrix_copy(&c), got = matrix_copy(&c);
  for (int s = 0; s < COUNT; s++)
    if (in_b)
      set_bits(&b, 5 + s, 7 + 10 * s, special[s]);
    else
      set_bits(&a, 3 + 10 * s, 5 + s, special[s]);
  matrix da = to_device(&a), db = to_device(&b), dc = to_device(&c);
  const double beta = orders == 7 ? 0.5 : 0;
  fc_gemm g = product_of(&da, &db, &dc, 1, beta);
  CHECK(fc_gemm_cuda(&g, NULL) == FC_OK, "plain product");
  from_device(&want, &dc);
  cudaMemcpy(dc.memory.base, c.memory.base, c.memory.bytes + 2 * GUARD_BYTES, cudaMemcpyHostToDevice);
  const fc_status status = run_split(&g);
  from_device(&got, &dc);
  int wrong = 0;
  for (int64_t i = 0; status == FC_OK && i < SIDE; i++)
    for (int64_t j = 0; j < SIDE; j++) {
      const double x = matrix_get(&got, i, j), right = matrix_get(&want, i, j);
      wrong += !(isnan(right)   ? isnan(x)
                 : isinf(right) ? x == right
                                : fabs(x - right) <= 1e-5 * (1 + fabs(right)));
    }
  CHECK(wrong == 0, "%d of numbers that are not finite in %s, orders %d", wrong, in_b ? "B" : "A", orders);
  free_matrices((matrix *[]){&a, &b, &c, &want, &got}, 5, &da, &db, &dc);
}

int main(void) {
  int devices = 0, ran = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    fprintf(stderr, "no CUDA device: skipped\n");
    return SKIPPED;
  }
  random_start(5);
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
    for (int orders = 0; orders < 4; orders++) {
      const int64_t *d = shapes[s];
      matrix a = orders ? matrix_dense(FC_F32, d[0], d[2], orders & 1) : matrix_new(FC_F32, d[0], d[2]);
      matrix b = orders ? matrix_dense(FC_F32, d[2], d[1], orders & 2) : matrix_new(FC_F32, d[2], d[1]);
      ran +=
          check_product(a, b, matrix_new(FC_F32, d[0], d[1]), orders == 3 ? -0.7 : 1, orders == 3 ? 0.5 : 0);
    }
  if (ran)
    for (int orders = 0; orders < 8; orders++)
      for (int in_b = 0; in_b < 2; in_b++) check_special(in_b, orders);
  fc_gemm f64 = {.type = FC_F64, .m = 1, .n = 1, .k = 1, .alpha = 1, .a = &f64, .b = &f64, .c = &f64};
  CHECK(fc_gemm_split_cuda(&f64, NULL, NULL) == FC_UNSUPPORTED, "f64");
  if (!ran) fprintf(stderr, "no device with the units: skipped\n");
  return ran || check_result() ? check_result() : SKIPPED;
}
