/* SPDX-License-Identifier: MIT */
/*
 * test_gemm_cuda.c - the product on a CUDA device against the reference, in every
 * tile shape, order, and alpha and beta; that a product in pieces is the product
 * computed whole, to the bit; that nothing beyond C is written. Skipped without a
 * device.
 */
#include "tests/filters/device_matrices.h"

#define SKIPPED 77

static const int64_t shapes[][3] = {
    {0, 5, 3},      {5, 0, 3},     {7, 5, 0},       {1, 1, 1},        {3, 1000, 3},      {1000, 3, 3},
    {16, 300, 33},  {300, 16, 33}, {17, 17, 17},    {64, 64, 8},      {65, 129, 9},      {128, 128, 128},
    {200, 333, 50}, {1, 4097, 70}, {2500, 2500, 9}, {2177, 2305, 31}, {129, 40000, 130}, {65, 129, 1000},
    {33, 71, 3101}, {9, 40, 6203}, {1, 300, 2001},  {300, 1, 800},
};
/* Multiples of 16 bytes, for the kernels of whole lines: no tile full, few tiles, many, flat and tall;
 * vectors. */
static const int64_t aligned[][3] = {
    {20, 36, 24},    {516, 1048, 136}, {1540, 1540, 44}, {2052, 2004, 36}, {20000, 64, 64},
    {64, 20000, 60}, {20000, 20, 4},   {50000, 8, 8},    {12, 50000, 16},  {1, 1044, 332},
    {1040, 1, 328},  {3, 520, 260},    {516, 4, 392},    {132, 1028, 132}, {36, 1028, 260},
    {68, 260, 1032}, {100, 68, 4100},  {36, 36, 6148},   {1, 260, 3080},   {516, 1, 1540},
    {100, 68, 16},   {100, 68, 20},    {516, 388, 2052}, {1540, 1156, 68}, {260, 1284, 1028},
};
/* Of more tiles than there are blocks; lines at any address. */
static const int64_t large[][3] = {{2180, 2304, 772}, {1801, 2305, 3075}};
static const double factors[] = {1, 0, -1, 0.7};

/* Rows [i0, i1) and columns [j0, j1). */
static void compare(const matrix *got, const matrix *want, int64_t k, int64_t i0, int64_t i1, int64_t j0,
                    int64_t j1) {
  double eps = got->type == FC_F64 ? 0x1p-52 : 0x1p-23, worst = 0;
  for (int64_t i = i0; i < i1; i++)
    for (int64_t j = j0; j < j1; j++) {
      double off = fabs(matrix_get(got, i, j) - matrix_get(want, i, j));
      if (!isnan(worst) && !(off <= worst)) worst = off; /* keeps a NaN */
    }
  CHECK(worst <= eps * (double)(k + 3), "%" PRId64 "x%" PRId64 "x%" PRId64 ": off by %g", got->rows,
        got->cols, k, worst);
}

/* With tiles that begin elsewhere, or by another kernel because the piece lies differently. */
static void run_piece(const fc_gemm *g, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
  fc_gemm piece = piece_of(g, i0, i1, j0, j1);
  CHECK(fc_gemm_cuda(&piece, NULL) == FC_OK, "piece");
}

static void check_pieces(const fc_gemm *g, const matrix *device_c, const matrix *before,
                         const matrix *whole) {
  matrix pieces = matrix_copy(before);
  cudaMemcpy(device_c->memory.base, before->memory.base, before->memory.bytes + 2 * GUARD_BYTES,
             cudaMemcpyHostToDevice);
  int64_t i = random_int(0, g->m), j = random_int(0, g->n);
  run_piece(g, 0, i, 0, j);
  run_piece(g, i, g->m, 0, j);
  run_piece(g, 0, g->m, j, g->n);
  from_device(&pieces, device_c);
  CHECK(matrix_equal(&pieces, whole), "cut at %" PRId64 ",%" PRId64 " of %" PRId64 "x%" PRId64, i, j, g->m,
        g->n);
  matrix_free(&pieces);
}

/* With its lines copied first. */
static void check_padded(const fc_gemm *g, const matrix *device_c, const matrix *before,
                         const matrix *whole) {
  matrix padded = matrix_copy(before);
  const size_t bytes = fc_gemm_padded_scratch(g);
  void *scratch = NULL;
  if (bytes > 0 && cudaMalloc(&scratch, bytes) != cudaSuccess) abort();
  cudaMemcpy(device_c->memory.base, before->memory.base, before->memory.bytes + 2 * GUARD_BYTES,
             cudaMemcpyHostToDevice);
  CHECK(fc_gemm_padded_cuda(g, scratch, NULL) == FC_OK, "padded");
  from_device(&padded, device_c);
  CHECK(matrix_equal(&padded, whole), "padded %" PRId64 "x%" PRId64 "x%" PRId64, g->m, g->n, g->k);
  cudaFree(scratch);
  matrix_free(&padded);
}

static int same_part(const matrix *a, const matrix *b, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
  int same = 1;
  for (int64_t i = i0; i < i1; i++)
    for (int64_t j = j0; j < j1; j++)
      same &= memcmp(matrix_at(a, i, j), matrix_at(b, i, j), fc_dtype_size(a->type)) == 0;
  return same;
}

/* Too large for the reference: a part of it by the reference, and alone. */
static void check_large(int type, const int64_t *shape, int orders, double alpha, double beta) {
  const int64_t m = shape[0], n = shape[1], k = shape[2], i = random_int(0, m - 40),
                j = random_int(0, n - 50);
  matrix a = matrix_dense(type, m, k, orders & 1), b = matrix_dense(type, k, n, orders & 2),
         c = matrix_dense(type, m, n, 1);
  matrix da = to_device(&a), db = to_device(&b), dc = to_device(&c), got = matrix_copy(&c);
  fc_gemm host = product_of(&a, &b, &c, alpha, beta), device = product_of(&da, &db, &dc, alpha, beta);
  fc_gemm part = piece_of(&host, i, i + 40, j, j + 50);
  CHECK(fc_gemm_cuda(&device, NULL) == FC_OK, "large");
  from_device(&got, &dc);
  cudaMemcpy(dc.memory.base, c.memory.base, c.memory.bytes + 2 * GUARD_BYTES, cudaMemcpyHostToDevice);
  matrix alone = matrix_copy(&c);
  run_piece(&device, i, i + 40, j, j + 50);
  from_device(&alone, &dc);
  CHECK(same_part(&got, &alone, i, i + 40, j, j + 50), "part of %" PRId64 "x%" PRId64 " alone", m, n);
  CHECK(matrix_intact(&got), "wrote beyond C, %" PRId64 "x%" PRId64, m, n);
  CHECK(fc_gemm_ref(&part) == FC_OK, "reference");
  compare(&got, &c, k, i, i + 40, j, j + 50);
  free_matrices((matrix *[]){&got, &alone, &a, &b, &c}, 5, &da, &db, &dc);
}

/* Takes the matrices. */
static void check_product(matrix a, matrix b, matrix c, double alpha, double beta) {
  const int64_t m = c.rows, n = c.cols, k = a.cols;
  if (beta == 0) matrix_fill(&c, NAN);
  matrix before = matrix_copy(&c), da = to_device(&a), db = to_device(&b), dc = to_device(&c);
  fc_gemm host = product_of(&a, &b, &c, alpha, beta), device = product_of(&da, &db, &dc, alpha, beta);

  CHECK(fc_gemm_cuda(&device, NULL) == FC_OK, "launch of %" PRId64 "x%" PRId64, m, n);
  matrix got = matrix_copy(&c);
  from_device(&got, &dc);
  CHECK(cudaGetLastError() == cudaSuccess, "device failed in %" PRId64 "x%" PRId64, m, n);
  CHECK(fc_gemm_ref(&host) == FC_OK, "reference");
  compare(&got, &c, k, 0, m, 0, n);
  CHECK(matrix_intact(&got), "wrote beyond C, %" PRId64 "x%" PRId64, m, n);
  check_pieces(&device, &dc, &before, &got);
  check_padded(&device, &dc, &before, &got);
  free_matrices((matrix *[]){&got, &before, &a, &b, &c}, 5, &da, &db, &dc);
}

static void check_shape(int type, int64_t m, int64_t n, int64_t k, double alpha, double beta) {
  check_product(matrix_new(type, m, k), matrix_new(type, k, n), matrix_new(type, m, n), alpha, beta);
}

static void check_aligned(int type, const int64_t *shape, int orders, double alpha, double beta) {
  matrix a = matrix_dense(type, shape[0], shape[2], orders & 1),
         b = matrix_dense(type, shape[2], shape[1], orders & 2);
  check_product(a, b, matrix_dense(type, shape[0], shape[1], orders & 4), alpha, beta);
}

/* A value for each row, or for each column, added: as if C had held it. */
static void check_added(matrix a, matrix b, matrix c, int by_rows) {
  const int64_t m = c.rows, n = c.cols;
  matrix d = matrix_dense(c.type, m, n, 1), got = matrix_copy(&c), want = matrix_copy(&c);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) matrix_set(&c, i, j, matrix_get(&d, by_rows ? i : 0, by_rows ? 0 : j));
  matrix da = to_device(&a), db = to_device(&b), dc = to_device(&c), dd = to_device(&d);
  fc_gemm g = product_of(&da, &db, &dc, 0.7, 1);
  CHECK(fc_gemm_cuda(&g, NULL) == FC_OK, "in C");
  from_device(&want, &dc);
  cudaMemset(dc.data, 0xff, (size_t)(m * n) * fc_dtype_size(c.type));
  g.d = dd.data, g.d_row = by_rows ? n : 0, g.d_col = by_rows ? 0 : 1;
  CHECK(fc_gemm_cuda(&g, NULL) == FC_OK, "in D");
  from_device(&got, &dc);
  CHECK(matrix_equal(&got, &want), "D of %s, %" PRId64 "x%" PRId64 "x%" PRId64, by_rows ? "rows" : "columns",
        m, n, a.cols);
  cudaFree(dd.memory.base), matrix_free(&d);
  free_matrices((matrix *[]){&got, &want, &a, &b, &c}, 5, &da, &db, &dc);
}

/* What is not a number or infinite: as the reference has it. */
static void check_special(int type, int orders) {
  enum { M = 68, N = 132, K = 100 };
  static const double special[] = {NAN, INFINITY, -INFINITY, 0};
  matrix a = matrix_dense(type, M, K, orders & 1), b = matrix_dense(type, K, N, orders & 2),
         c = matrix_dense(type, M, N, 1);
  for (int s = 0; s < 4; s++) {
    matrix_set(&a, 5 + 9 * s, 7 + 11 * s, special[s]);
    matrix_set(&b, 3 + 13 * s, 2 + 17 * s, special[s]);
    matrix_set(&b, 7 + 11 * s, 60 + s, special[3 - s]);
  }
  matrix da = to_device(&a), db = to_device(&b), dc = to_device(&c), got = matrix_copy(&c);
  fc_gemm host = product_of(&a, &b, &c, 1, 0), device = product_of(&da, &db, &dc, 1, 0);
  CHECK(fc_gemm_cuda(&device, NULL) == FC_OK && fc_gemm_ref(&host) == FC_OK, "special");
  from_device(&got, &dc);
  int wrong = 0;
  for (int64_t i = 0; i < M; i++)
    for (int64_t j = 0; j < N; j++) {
      const double x = matrix_get(&got, i, j), right = matrix_get(&c, i, j);
      wrong += !(isnan(right) ? isnan(x) : isinf(right) ? x == right : fabs(x - right) <= 1e-4);
    }
  CHECK(wrong == 0, "%d of numbers that are not finite, orders %d", wrong, orders);
  free_matrices((matrix *[]){&a, &b, &c, &got}, 4, &da, &db, &dc);
}

int main(void) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    fprintf(stderr, "no CUDA device: skipped\n");
    return SKIPPED;
  }
  random_start(4);
  for (int type = FC_F32; type <= FC_F64; type++)
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
      for (int round = 0; round < 3; round += trial_step())
        check_shape(type, shapes[s][0], shapes[s][1], shapes[s][2], factors[random_int(0, 3)],
                    factors[random_int(0, 3)]);
  for (int type = FC_F32; type <= FC_F64; type++)
    for (size_t s = 0; s < sizeof aligned / sizeof aligned[0]; s++)
      for (int orders = 0; orders < 8; orders++)
        if ((orders < 4 || s < 2) && !trial_skipped())
          check_aligned(type, aligned[s], orders, factors[random_int(0, 3)], factors[random_int(0, 3)]);
  /* Results that are only written are stored otherwise. */
  for (int type = FC_F32; type <= FC_F64; type++)
    for (int orders = 0; orders < 8; orders++)
      if (!trial_skipped()) check_aligned(type, aligned[1], orders, 1, 0);
  for (int type = FC_F32; type <= FC_F64; type++)
    for (size_t s = 0; s < sizeof large / sizeof large[0]; s++)
      for (int orders = 0; orders < 4; orders++)
        if (!trial_skipped())
          check_large(type, large[s], orders, factors[random_int(0, 3)], factors[random_int(0, 3)]);
  for (int type = FC_F32; type <= FC_F64; type++)
    for (int orders = 0; orders < 4; orders++) check_special(type, orders);
  static const int64_t added[][3] = {{7, 300, 9},   {300, 260, 12}, {68, 1028, 68}, {1028, 68, 68},
                                     {3, 400, 400}, {400, 3, 400},  {65, 129, 77},  {300, 260, 0}};
  for (int type = FC_F32; type <= FC_F64; type++)
    for (size_t s = 0; s < sizeof added / sizeof added[0]; s++)
      for (int orders = 0; orders < 16; orders++)
        if (!trial_skipped())
          check_added(matrix_dense(type, added[s][0], added[s][2], orders & 1),
                      matrix_dense(type, added[s][2], added[s][1], orders & 2),
                      matrix_dense(type, added[s][0], added[s][1], orders & 4), orders & 8);
  return check_result();
}
