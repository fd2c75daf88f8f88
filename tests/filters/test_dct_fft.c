/* SPDX-License-Identifier: MIT */
/*
 * test_dct_fft.c - cosine transforms by way of Fourier transforms against the matrices that they stand
 * for (test_dct.c has those against scipy.fft): every type, direction and number of coefficients, along every
 * axis, in every order of axes and instruction set; pieces, bit for bit; NaN; and there and back.
 */
#include "filters/dct_fft.h"
#include "filters/matrix.h"
#include "tests/filters/grid.h"

typedef struct transform {
  guarded memory;
  const fc_dct_fft *plan;
} transform;

static transform transform_new(fc_dct d, int compute, int isa, int axis, int64_t rows, int64_t cols) {
  transform t = {guarded_new(fc_dct_fft_bytes(d.size, compute)), NULL};
  t.plan = t.memory.data;
  CHECK(fc_dct_fft_init(t.memory.data, &d, compute, isa, axis, rows, cols) == FC_OK, "size %" PRId64, d.size);
  CHECK(guarded_intact(&t.memory), "size %" PRId64 ": wrote beyond the plan", d.size);
  return t;
}

static void transform_run(const transform *t, const fc_view *in, const fc_view *out) {
  guarded scratch = guarded_new(fc_dct_fft_scratch(t->plan));
  CHECK(fc_dct_fft_cpu(t->plan, in, out, scratch.data, NULL) == FC_OK, "size %" PRId64, t->plan->dct.size);
  CHECK(guarded_intact(&scratch), "size %" PRId64 ": wrote beyond its scratch", t->plan->dct.size);
  guarded_free(&scratch);
}

/* What the matrix makes of it, in double. */
static void expect(const fc_dct *d, int axis, int64_t rows, int64_t cols, const grid *in, const grid *out) {
  fc_matrix m;
  double *all = malloc((size_t)(d->size * d->size) * sizeof *all);
  fc_dct_matrix(d, rows, all);
  for (int64_t r = 1; r < rows; r++) memmove(all + r * cols, all + r * d->size, (size_t)cols * sizeof *all);
  fc_matrix_init(&m, FC_F64, FC_ISA_BASE, axis, rows, cols);
  guarded matrix = guarded_new(fc_matrix_bytes(&m));
  fc_matrix_fill(&m, matrix.data, NULL, all, NULL);
  m.matrix = matrix.data;
  CHECK(fc_matrix_ref(&m, &in->view, &out->view, NULL) == FC_OK, "reference");
  guarded_free(&matrix);
  free(all);
}

static double distance(const grid *got, const grid *want) {
  double error = 0, power = 0;
  GRID_EACH(got, n, y, x, c) {
    double a = grid_value(got, n, y, x, c), b = grid_value(want, n, y, x, c);
    error += (a - b) * (a - b), power += b * b;
  }
  return power > 0 ? sqrt(error / power) : sqrt(error);
}

static void check_case(int64_t n, int axis, int compute) {
  static const int inputs[] = {FC_U8, FC_I16, FC_F32, FC_F64};
  fc_dct d = {n, (int)random_int(2, 3), (int)random_int(0, 1), (int)random_int(0, 1)};
  int64_t rows = random_int(0, 1) ? n : random_int(1, n), cols = random_int(0, 1) ? n : random_int(1, n);
  int64_t blocks = random_int(1, n < 48 ? 4 : 2), wide = n < 48 ? 70 : 17;
  int64_t shape[] = {random_int(1, 2), random_int(1, 3), random_int(1, wide), random_int(1, 3)};
  int kind = (int)random_int(0, 2), out_dtype = random_int(0, 1) ? compute : FC_F64;
  shape[axis] = blocks * cols;
  grid in = grid_new(inputs[random_int(0, 3)], kind, shape, (int)random_int(0, GRID_ORDERS - 1),
                     (int)random_int(0, 1));
  grid_randomise(&in);
  shape[axis] = blocks * rows;
  grid want = grid_new(FC_F64, kind, shape, 0, 0);
  expect(&d, axis, rows, cols, &in, &want);
  int order = (int)random_int(0, GRID_ORDERS - 1), gap = (int)random_int(0, 1);
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++) {
    transform t = transform_new(d, compute, isa, axis, rows, cols);
    grid out = grid_new(out_dtype, kind, shape, order, gap);
    transform_run(&t, &in.view, &out.view);
    double off = distance(&out, &want);
    CHECK(off <= (compute == FC_F32 ? 1e-6 : 1e-14),
          "%s: type %d, ortho %d, inverse %d, %" PRId64 " -> %" PRId64 " of %" PRId64
          " along %d, order %d: off by %g",
          fc_isa_name((fc_isa)isa), d.type, d.orthonormal, d.inverse, cols, rows, n, axis, order, off);
    CHECK(grid_intact(&out), "size %" PRId64 ": wrote beyond the output", n);
    grid_free(&out), guarded_free(&t.memory);
  }
  grid_free(&in), grid_free(&want);
}

/* The output in two pieces along each axis, as a host would cut it. */
static void check_pieces(int64_t n, int axis, int type, int order) {
  fc_dct d = {n, type, 1, 0};
  int64_t shape[FC_AXES] = {2, 5, 40, 3};
  shape[axis] = 7 * n;
  transform t = transform_new(d, FC_F32, fc_isa_best(), axis, n, n);
  grid in = grid_new(FC_F32, FC_IMAGE, shape, order, 0), whole = grid_new(FC_F32, FC_IMAGE, shape, order, 0);
  grid pieces = grid_new(FC_F32, FC_IMAGE, shape, order, 0);
  grid_randomise(&in);
  transform_run(&t, &in.view, &whole.view);
  for (int cut = 0; cut < FC_AXES; cut++) {
    int64_t unit = cut == axis ? n : 1, units = shape[cut] / unit, at = random_int(0, units);
    memset(pieces.memory.data, 0, pieces.memory.bytes);
    for (int half = 0; half < 2; half++) {
      int64_t first = (half ? at : 0) * unit, count = (half ? units - at : at) * unit;
      fc_view from = grid_part(&in.view, cut, first, count), to = grid_part(&pieces.view, cut, first, count);
      transform_run(&t, &from, &to);
    }
    CHECK(!memcmp(whole.memory.data, pieces.memory.data, (size_t)fc_view_count(&whole.view) * sizeof(float)),
          "size %" PRId64 " along %d, order %d, cut across axis %d at %" PRId64, n, axis, order, cut, at);
  }
  grid_free(&in), grid_free(&whole), grid_free(&pieces), guarded_free(&t.memory);
}

/* What is not finite spoils its block, and no other. */
static void check_spoilt(int64_t n, int axis, int type, double bad) {
  fc_dct d = {n, type, 0, 0};
  int64_t shape[FC_AXES] = {1, 3, 20, 2}, at[FC_AXES];
  shape[axis] = 5 * n;
  transform t = transform_new(d, FC_F64, fc_isa_best(), axis, n, n);
  grid in = grid_new(FC_F64, FC_IMAGE, shape, 0, 0), out = grid_new(FC_F64, FC_IMAGE, shape, 0, 0);
  grid_randomise(&in);
  for (int a = 0; a < FC_AXES; a++) at[a] = random_int(0, shape[a] - 1);
  *(double *)fc_view_at(&in.view, at[0], at[1], at[2], at[3]) = bad;
  transform_run(&t, &in.view, &out.view);
  GRID_EACH(&out, i, y, x, c) {
    int64_t here[] = {i, y, x, c};
    int same = here[axis] / n == at[axis] / n;
    for (int a = 0; a < FC_AXES; a++) same &= a == axis || here[a] == at[a];
    CHECK(isnan(grid_value(&out, i, y, x, c)) == same,
          "size %" PRId64 " along %d: %g at %" PRId64 ",%" PRId64, n, axis, bad, y, x);
  }
  grid_free(&in), grid_free(&out), guarded_free(&t.memory);
}

static void check_return(int64_t n, int type, int orthonormal) {
  fc_dct there = {n, type, orthonormal, 0}, back = {n, type, orthonormal, 1};
  int64_t shape[FC_AXES] = {1, 1, 2 * n, 1};
  transform a = transform_new(there, FC_F64, fc_isa_best(), FC_AXIS_X, n, n);
  transform b = transform_new(back, FC_F64, fc_isa_best(), FC_AXIS_X, n, n);
  grid in = grid_new(FC_F64, FC_AUDIO, shape, 0, 0), mid = grid_new(FC_F64, FC_AUDIO, shape, 0, 0);
  grid out = grid_new(FC_F64, FC_AUDIO, shape, 0, 0);
  grid_randomise(&in);
  transform_run(&a, &in.view, &mid.view);
  transform_run(&b, &mid.view, &out.view);
  CHECK(distance(&out, &in) <= 3e-15, "size %" PRId64 ", type %d: came back off by %g", n, type,
        distance(&out, &in));
  grid_free(&in), grid_free(&mid), grid_free(&out), guarded_free(&a.memory), guarded_free(&b.memory);
}

int main(void) {
  static const int64_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 25, 31, 37, 48, 64, 67, 100, 131, 256};
  random_start(10);
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
    for (int axis = 0; axis < FC_AXES; axis++)
      for (int trial = 0; trial < (sizes[s] < 48 ? 6 : 2); trial++)
        check_case(sizes[s], axis, trial % 2 ? FC_F32 : FC_F64);
  for (int axis = 0; axis < FC_AXES; axis++)
    for (int order = 0; order < GRID_ORDERS; order++)
      for (int type = 2; type <= 3; type++) check_pieces(order % 2 ? 48 : 13, axis, type, order);
  for (int axis = 0; axis < FC_AXES; axis++)
    for (int type = 2; type <= 3; type++)
      check_spoilt(48, axis, type, NAN), check_spoilt(9, axis, type, INFINITY);
  for (int type = 2; type <= 3; type++)
    for (int how = 0; how < 2; how++)
      check_return(4096, type, how), check_return(999, type, how), check_return(509, type, how);
  return check_result();
}
