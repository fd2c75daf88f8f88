/* SPDX-License-Identifier: MIT */
/*
 * test_conv2d.c - the dense 2-D filter: SciPy's results, what filters2d.h says, oracles
 * that need no reference, and that masks of low rank filter alike as sums of separable
 * passes.
 *
 *     test_conv2d tests/goldens/conv2d.txt
 */
#include "filters/matrix/lowrank.h"
#include "tests/filters/filters2d.h"
#include "tests/filters/golden2d.h"

#define RANKS FC_SEPCONV_RANKS

/* ---- oracles ---------------------------------------------------------------- */

static double position(int64_t n, int64_t y, int64_t x, int64_t c, void *data) {
  (void)data;
  return (double)(n * 7919 + y * 101 + x * 3 + c) / 8;
}

/* A mask with a single 1 shifts the image: every element comes back, to the bit. */
static void check_shifts(void) {
  static const int64_t shape[] = {2, 11, 45, 3};
  enum { NY = 3, NX = 6 };
  image in = image_new(FC_F32, shape, PADDED, border_of(NY, NX));
  image_fill(&in, border_of(NY, NX), position, NULL);
  for (int tap = 0; tap < NY * NX; tap++) {
    float mask[NY * NX] = {0};
    mask[tap] = 1;
    filter2d f = {.dense = 1, .conv = {FC_F32, fc_isa_best(), NX, NY, mask, NULL}};
    image out = image_new(FC_F32, shape, PLANAR, (image_border){0});
    filter2d_run(&f, &in, &out);
    for (int64_t i = 0; i < 2 * 11 * 45 * 3; i++) {
      int64_t c = i % 3, x = i / 3 % 45, y = i / 135 % 11, n = i / 1485;
      double want = position(n, y + tap / NX - NY / 2, x + tap % NX - NX / 2, c, NULL);
      CHECK(image_get(&out, n, y, x, c) == want, "tap %d at %" PRId64 ": %g, not %g", tap, i,
            image_get(&out, n, y, x, c), want);
    }
    image_free(&out);
  }
  image_free(&in);
}

/* NaN and clipping on the way to integers are noted. */
static void check_notes(void) {
  static const int64_t shape[] = {1, 3, 50, 1};
  static const float taps[] = {0, 0, 0, 0, 2, 0, 0, 0, 0};
  for (int special = 0; special < 3; special++) {
    image in = image_new(FC_F32, shape, INTERLEAVED, border_of(3, 3));
    image out = image_new(FC_U8, shape, INTERLEAVED, (image_border){0});
    image_fill(&in, border_of(3, 3), position, NULL);
    *(float *)fc_view_at(&in.view, 0, 1, 20, 0) = special == 0 ? 127 : special == 1 ? 128 : NAN;
    fc_conv2d op = {FC_F32, fc_isa_best(), 3, 3, taps, NULL};
    guarded scratch = guarded_new(fc_conv2d_scratch(&op, &out.view));
    uint32_t notes[2] = {0, 0};
    CHECK(fc_conv2d_cpu(&op, &in.view, &out.view, scratch.data, notes) == FC_OK, "status");
    CHECK(notes[0] == (special == 2), "NaN noted as %u for %d", notes[0], special);
    CHECK(notes[1] == (special == 1), "clipping noted as %u for %d", notes[1], special);
    guarded_free(&scratch);
    image_free(&in);
    image_free(&out);
  }
}

/* ---- low rank --------------------------------------------------------------- */

typedef struct factors {
  int rank;
  double column[RANKS * 40], row[RANKS * 40], rest[1600];
} factors;

static int factor(factors *f, const double *mask, int64_t ny, int64_t nx, int most, double tolerance) {
  return f->rank = fc_lowrank(mask, ny, nx, most, tolerance, f->column, f->row, f->rest);
}

/* A sum of `rank` random products. */
static void mask_of_rank(double *mask, int64_t ny, int64_t nx, int rank) {
  for (int64_t i = 0; i < ny * nx; i++) mask[i] = 0;
  for (int t = 0; t < rank; t++) {
    double row[40];
    for (int64_t i = 0; i < nx; i++) row[i] = random_real();
    for (int64_t j = 0; j < ny; j++) {
      double column = random_real();
      for (int64_t i = 0; i < nx; i++) mask[j * nx + i] += column * row[i];
    }
  }
}

static void check_ranks(void) {
  static factors f;
  for (int round = 0; round < 400; round++) {
    int64_t ny = random_int(1, 40), nx = random_int(1, 40);
    int rank = (int)random_int(1, 5), full = (int)(nx < ny ? nx : ny), true_rank = rank < full ? rank : full;
    double mask[1600], sum = 0, left = 0;
    mask_of_rank(mask, ny, nx, rank);
    for (int64_t i = 0; i < ny * nx; i++) sum += fabs(mask[i]);
    factor(&f, mask, ny, nx, RANKS, FC_LOWRANK_F64);
    CHECK(f.rank == (true_rank <= RANKS ? true_rank : 0), "rank %d of %" PRId64 "x%" PRId64 " found as %d",
          true_rank, ny, nx, f.rank);
    for (int64_t i = 0; i < ny * nx && f.rank > 0; i++) {
      double v = mask[i];
      for (int t = 0; t < f.rank; t++) v -= f.column[t * ny + i / nx] * f.row[t * nx + i % nx];
      left += fabs(v);
    }
    CHECK(left <= 2 * FC_LOWRANK_F64 * sum, "%g left of %g", left, sum);
    mask[random_int(0, ny * nx - 1)] += 100 * FC_LOWRANK_F32 * sum;
    CHECK(full <= rank || rank > RANKS || factor(&f, mask, ny, nx, rank, FC_LOWRANK_F32) == 0,
          "a speck was overlooked");
  }
}

/* Factors of masks that people write are the numbers they would write. */
static void check_exact_factors(void) {
  static const double binomial[] = {1, 2, 1, 2, 4, 2, 1, 2, 1}, sobel[] = {-1, 0, 1, -2, 0, 2, -1, 0, 1};
  static const double threes[] = {9, 3, 6, 15, 5, 10, -21, -7, -14}, zeros[9] = {0}, line[] = {3, 1, 4, 1, 5};
  static const double laplace[] = {0, 1, 0, 1, -4, 1, 0, 1, 0},
                      eye[] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  static factors f;
  const double *masks[] = {binomial, sobel, threes};
  for (int m = 0; m < 3; m++) {
    CHECK(factor(&f, masks[m], 3, 3, RANKS, FC_LOWRANK_F64) == 1, "mask %d: rank %d", m, f.rank);
    for (int i = 0; i < 9; i++) {
      double a = f.column[i / 3], b = f.row[i % 3];
      CHECK(a * b == masks[m][i] && a == nearbyint(a) && b == nearbyint(b), "mask %d: %g * %g", m, a, b);
    }
  }
  CHECK(factor(&f, zeros, 3, 3, RANKS, FC_LOWRANK_F64) == 1 && f.column[0] * f.row[0] == 0, "zeros");
  CHECK(factor(&f, line, 1, 5, RANKS, FC_LOWRANK_F64) == 1 && f.column[0] == 1 && f.row[4] == 5, "a row");
  CHECK(factor(&f, line, 5, 1, RANKS, FC_LOWRANK_F64) == 1 && f.row[0] == 1 && f.column[4] == 5, "a column");
  CHECK(factor(&f, laplace, 3, 3, RANKS, FC_LOWRANK_F64) == 2, "laplace: %d", f.rank);
  CHECK(factor(&f, eye, 4, 4, RANKS, FC_LOWRANK_F64) == 0, "identity: %d", f.rank);
}

/* conv2d by a mask of rank r and sepconv by its factors give the same to rounding; of
 * integers they give the same to the bit. */
static void check_separated(int rank, int whole) {
  static const int64_t shape[] = {1, 40, 150, 3};
  int64_t ny = random_int(5, 15), nx = random_int(5, 15);
  double mask[1600], magnitude = 0;
  float taps[1600], x[RANKS * 40], y[RANKS * 40];
  static factors f;
  mask_of_rank(mask, ny, nx, rank);
  for (int64_t i = 0; whole && i < ny * nx; i++) mask[i] = (double)((1 + i % nx) * (i / nx - 2));
  CHECK(factor(&f, mask, ny, nx, RANKS, FC_LOWRANK_F32) == rank, "rank %d for %d", f.rank, rank);
  for (int64_t i = 0; i < ny * nx; i++) magnitude += fabs(taps[i] = (float)mask[i]);
  for (int64_t i = 0; i < f.rank * nx; i++) x[i] = (float)f.row[i];
  for (int64_t i = 0; i < f.rank * ny; i++) y[i] = (float)f.column[i];
  filter2d dense = {.dense = 1, .conv = {FC_F32, fc_isa_best(), nx, ny, taps, NULL}};
  filter2d separate = {.sep = {FC_F32, fc_isa_best(), f.rank, nx, ny, x, y, NULL, NULL}};
  image in = image_random(FC_U8, shape, INTERLEAVED, border_of(ny, nx));
  image a = image_new(FC_F32, shape, INTERLEAVED, (image_border){0}),
        b = image_new(FC_F32, shape, PLANAR, (image_border){0});
  filter2d_run(&dense, &in, &a);
  filter2d_run(&separate, &in, &b);
  double error = whole ? 0 : 0x1p-24 * 4 * (double)(nx * ny) * magnitude * 255;
  for (int64_t i = 0; i < 40 * 150 * 3; i++) {
    double p = image_get(&a, 0, i / 450, i / 3 % 150, i % 3),
           q = image_get(&b, 0, i / 450, i / 3 % 150, i % 3);
    CHECK(fabs(p - q) <= error, "rank %d, %" PRId64 "x%" PRId64 ": %.9g and %.9g", rank, ny, nx, p, q);
  }
  image_free(&in);
  image_free(&a);
  image_free(&b);
}

/* Rows and columns of the golden masks differ in their number of taps. */
static filter2d golden_filter(const char *path, const char *mask, int compute, int flip) {
  static const int64_t sizes[][2] = {{3, 3}, {4, 5}, {1, 7}, {6, 1}, {15, 13}};
  golden m = golden_read(path, mask);
  filter2d f = {.dense = 1, .taps = golden2d_taps(&m, compute, flip)};
  for (int i = 0; i < 5; i++)
    if (sizes[i][0] * sizes[i][1] == m.count) f.sep.ny = sizes[i][0], f.sep.nx = sizes[i][1];
  f.conv = (fc_conv2d){compute, fc_isa_best(), f.sep.nx, f.sep.ny, f.taps, NULL};
  golden_free(&m);
  return f;
}

int main(int argc, char **argv) {
  static const char *const masks[] = {"square", "even", "row", "column", "large"};
  if (argc < 2) return 2;
  for (int i = 0; i < 5; i++) golden2d_check(argv[1], masks[i], golden_filter);
  random_start(20261);
  check_shifts();
  check_notes();
  check_ranks();
  check_exact_factors();
  for (int rank = 1; rank <= RANKS; rank++) check_separated(rank, 0);
  check_separated(1, 1);
  check_accuracy(1);
  check_odd_shapes(1);
  check_all_types(1, 5);
  return check_result();
}
