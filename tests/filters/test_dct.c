/* SPDX-License-Identifier: MIT */
/*
 * test_dct.c - the DCT's matrices against scipy.fft (goldens), against cosines in long
 * double for large sizes, and against each other: forward then inverse, energy; and
 * products against numpy.matmul.
 */
#include "filters/fourier/dct.h"
#include "filters/gemm/gemm.h"
#include "filters/matrix/matrix_xy.h"
#include "tests/filters/golden.h"
#include "tests/filters/grid.h"
#include "tests/filters/quad.h"

static const char *goldens;

/* What a matrix makes of a vector, by fc_matrix on the CPU. */
static void apply(const double *rows, int64_t n, const double *x, double *y, int compute) {
  fc_matrix m;
  int64_t shape[FC_AXES] = {1, 1, n, 1};
  grid in = grid_new(FC_F64, FC_ARRAY, shape, 0, 0), out = grid_new(FC_F64, FC_ARRAY, shape, 0, 0);
  memcpy(in.memory.data, x, (size_t)n * sizeof *x);
  fc_matrix_init(&m, compute, fc_isa_best(), FC_AXIS_X, n, n);
  guarded matrix = guarded_new(fc_matrix_bytes(&m)), scratch = guarded_new(fc_matrix_scratch(&m));
  fc_matrix_fill(&m, matrix.data, NULL, rows, NULL);
  m.matrix = matrix.data;
  CHECK(fc_matrix_cpu(&m, &in.view, &out.view, scratch.data, NULL) == FC_OK, "size %" PRId64, n);
  memcpy(y, out.memory.data, (size_t)n * sizeof *y);
  guarded_free(&matrix), guarded_free(&scratch);
  grid_free(&in), grid_free(&out);
}

static void check_golden(int64_t size, int type, int orthonormal, int inverse) {
  char name[80];
  snprintf(name, sizeof name, "dct-%d-x", (int)size);
  golden x = golden_read(goldens, name);
  snprintf(name, sizeof name, "%sdct-%d-%d-%s", inverse ? "i" : "", (int)size, type,
           orthonormal ? "ortho" : "none");
  golden want = golden_read(goldens, name);
  fc_dct dct = {size, type, orthonormal, inverse};
  double *rows = malloc((size_t)(size * size) * sizeof *rows), y[64];
  fc_dct_matrix(&dct, size, rows);
  for (int compute = FC_F32; compute <= FC_F64; compute++) {
    apply(rows, size, x.values, y, compute);
    double off = golden_distance(y, &want);
    CHECK(off <= (compute == FC_F32 ? 1e-6 : 1e-14), "%s in %s: off by %g", name, fc_dtype_name(compute),
          off);
  }
  free(rows);
  golden_free(&x);
  golden_free(&want);
}

/* The definition, for a size whose cosines take some care. */
static void check_large(int64_t size) {
  double *rows = malloc((size_t)(size * size) * sizeof *rows), worst = 0;
  quad_circle circle = quad_circle_new(4 * size);
  fc_dct dct = {size, 2, 0, 0};
  fc_dct_matrix(&dct, size, rows);
  for (int64_t k = 0; k < size; k += 7)
    for (int64_t i = 0; i < size; i++) {
      quad want = 2 * circle.cosine[k * (2 * i + 1) % (4 * size)];
      double off = (double)quad_abs(rows[k * size + i] - want);
      worst = off > worst ? off : worst;
    }
  CHECK(worst <= 5e-16, "size %" PRId64 ": cosines off by %g", size, worst);
  quad_circle_free(&circle);
  free(rows);
}

static void check_inverse(int64_t size, int type, int orthonormal) {
  double x[300], y[300], z[300], in = 0, out = 0;
  double *rows = malloc((size_t)(size * size) * sizeof *rows);
  for (int64_t i = 0; i < size; i++) x[i] = random_real();
  fc_dct forward = {size, type, orthonormal, 0}, backward = {size, type, orthonormal, 1};
  fc_dct_matrix(&forward, size, rows);
  apply(rows, size, x, y, FC_F64);
  fc_dct_matrix(&backward, size, rows);
  apply(rows, size, y, z, FC_F64);
  for (int64_t i = 0; i < size; i++) {
    CHECK(fabs(z[i] - x[i]) <= 1e-14 * (double)(size + 8), "size %" PRId64 ", type %d: %g came back as %g",
          size, type, x[i], z[i]);
    in += x[i] * x[i], out += y[i] * y[i];
  }
  if (orthonormal)
    CHECK(fabs(in - out) <= 1e-13 * in, "size %" PRId64 ": energy %g became %g", size, in, out);
  free(rows);
}

static void check_product(int64_t m, int64_t n, int64_t k) {
  char name[80];
  golden part[3];
  for (int i = 0; i < 3; i++) {
    snprintf(name, sizeof name, "matmul-%dx%dx%d-%c", (int)m, (int)n, (int)k, "abc"[i]);
    part[i] = golden_read(goldens, name);
  }
  double *c = malloc((size_t)(m * n) * sizeof *c);
  fc_gemm g = {FC_F64, m, n, k, 1, 0, part[0].values, part[1].values, c, k, 1, n, 1, n, 1};
  CHECK(fc_gemm_ref(&g) == FC_OK, "product");
  double off = golden_distance(c, &part[2]);
  CHECK(off <= 1e-14, "%s: off by %g", name, off);
  free(c);
  for (int i = 0; i < 3; i++) golden_free(&part[i]);
}

int main(int argc, char **argv) {
  static const int64_t sizes[] = {1, 2, 3, 8, 16, 25, 64};
  if (argc != 2) return 2;
  goldens = argv[1];
  random_start(6);
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
    for (int type = 2; type <= 3; type++)
      for (int how = 0; how < 4; how++) check_golden(sizes[s], type, how & 1, how >> 1);
  for (int64_t size = 1; size <= 300; size += size < 20 ? 1 : 40)
    for (int type = 2; type <= 3; type++) check_inverse(size, type, 1), check_inverse(size, type, 0);
  check_large(1024);
  check_large(999);
  check_product(1, 1, 1);
  check_product(3, 5, 7);
  check_product(17, 9, 33);
  check_product(20, 3, 100);
  return check_result();
}
