/* SPDX-License-Identifier: MIT */
/*
 * dct_fft_check.h - what is asked of cosine transforms by way of Fourier transforms, wherever they are
 * computed: the answer of the matrices that they stand for; pieces, bit for bit; NaN.
 *
 * The file that includes this says, before, what a `transform` is and how one is made, run and freed:
 *     transform transform_new(fc_dct, int compute, int isa, int axis, int64_t rows, int64_t cols)
 *     void transform_run(const transform *, const fc_view *in, const fc_view *out)
 *     void transform_free(transform *)
 * and where grids are filtered: grid_place gives the view of a grid there, grid_fetch takes it back.
 */
#ifndef FC_TESTS_DCT_FFT_CHECK_H
#define FC_TESTS_DCT_FFT_CHECK_H

#include "filters/matrix/matrix.h"
#include "tests/filters/grid.h"

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

/* Relative, but for the rounding to integers, which is up to half a code each. */
static double distance(const grid *got, const grid *want) {
  double error = 0, power = 0;
  int rounds = !fc_dtype_is_float(got->view.dtype);
  GRID_EACH(got, n, y, x, c) {
    double a = grid_value(got, n, y, x, c), b = grid_value(want, n, y, x, c);
    double off = rounds ? fmax(fabs(a - b) - 1, 0) : a - b;
    error += off * off, power += b * b;
  }
  return power > 0 ? sqrt(error / power) : sqrt(error);
}

/* `blocks` blocks of `cols` samples each of `in`, which become `rows` coefficients each of an `out_dtype`. */
typedef struct transform_case {
  fc_dct dct;
  int axis, compute, out_dtype, order, gap; /* order and gap of the output (grid.h) */
  int64_t rows, cols;
} transform_case;

/* `want` is the answer in double. */
static void check_answer(const transform_case *t, int isa, const grid *in, const grid *want) {
  const int exact = t->compute == FC_F64 && t->out_dtype != FC_F32;
  grid out = grid_new(t->out_dtype, in->view.kind, want->view.shape, t->order, t->gap);
  transform plan = transform_new(t->dct, t->compute, isa, t->axis, t->rows, t->cols);
  fc_view from = grid_place(in), to = grid_place(&out);
  transform_run(&plan, &from, &to);
  grid_fetch(&out, &to), grid_fetch(in, &from);
  double off = distance(&out, want);
  CHECK(off <= (exact ? 1e-14 : 1e-6),
        "%s, %s to %s in %s: type %d, ortho %d, inverse %d, %" PRId64 " -> %" PRId64 " of %" PRId64
        " along %d, order %d: off by %g",
        fc_isa_name((fc_isa)isa), fc_dtype_name(in->view.dtype), fc_dtype_name(t->out_dtype),
        fc_dtype_name(t->compute), t->dct.type, t->dct.orthonormal, t->dct.inverse, t->cols, t->rows,
        t->dct.size, t->axis, t->order, off);
  CHECK(grid_intact(&out), "size %" PRId64 ": wrote beyond the output", t->dct.size);
  grid_free(&out), transform_free(&plan);
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
  fc_view from = grid_place(&in), to = grid_place(&whole);
  transform_run(&t, &from, &to);
  grid_fetch(&whole, &to);
  for (int cut = 0; cut < FC_AXES; cut++) {
    int64_t unit = cut == axis ? n : 1, units = shape[cut] / unit, at = random_int(0, units);
    memset(pieces.memory.data, 0, pieces.memory.bytes);
    to = grid_place(&pieces);
    for (int half = 0; half < 2; half++) {
      int64_t first = (half ? at : 0) * unit, count = (half ? units - at : at) * unit;
      fc_view a = grid_part(&from, cut, first, count), b = grid_part(&to, cut, first, count);
      transform_run(&t, &a, &b);
    }
    grid_fetch(&pieces, &to);
    CHECK(!memcmp(whole.memory.data, pieces.memory.data, (size_t)fc_view_count(&whole.view) * sizeof(float)),
          "size %" PRId64 " along %d, order %d, cut across axis %d at %" PRId64, n, axis, order, cut, at);
  }
  grid_fetch(&in, &from);
  grid_free(&in), grid_free(&whole), grid_free(&pieces), transform_free(&t);
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
  fc_view from = grid_place(&in), to = grid_place(&out);
  transform_run(&t, &from, &to);
  grid_fetch(&out, &to), grid_fetch(&in, &from);
  GRID_EACH(&out, i, y, x, c) {
    int64_t here[] = {i, y, x, c};
    int same = here[axis] / n == at[axis] / n;
    for (int a = 0; a < FC_AXES; a++) same &= a == axis || here[a] == at[a];
    CHECK(isnan(grid_value(&out, i, y, x, c)) == same,
          "size %" PRId64 " along %d: %g at %" PRId64 ",%" PRId64, n, axis, bad, y, x);
  }
  grid_free(&in), grid_free(&out), transform_free(&t);
}

#endif
