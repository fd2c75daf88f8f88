/* SPDX-License-Identifier: MIT */
/*
 * test_matrix.c - multiplication along every axis, in every element type, order of axes and
 * instruction set, against the definition in long double; along X and Y at once;
 * identities; and that output computed in pieces is the output computed whole, bit for bit.
 */
#include "filters/matrix/matrix_xy.h"
#include "tests/filters/grid.h"

typedef struct filter {
  fc_matrix m;
  double *rows, *offsets; /* as given, rounded to the compute type */
  guarded matrix, offset;
} filter;

static double rounded(double v, int compute) {
  return compute == FC_F32 ? (float)v : v;
}

static void filter_pack(filter *f, int isa) {
  fc_matrix_init(&f->m, f->m.compute, isa, f->m.axis, f->m.rows, f->m.cols);
  f->matrix = guarded_new(fc_matrix_bytes(&f->m));
  f->offset = guarded_new(fc_matrix_offset_bytes(&f->m));
  fc_matrix_fill(&f->m, f->matrix.data, f->offset.data, f->rows, f->offsets ? f->offsets : f->rows);
  CHECK(guarded_intact(&f->matrix) && guarded_intact(&f->offset), "fill wrote beyond");
  f->m.matrix = f->matrix.data;
  f->m.offset = f->offsets ? f->offset.data : NULL;
}

static filter filter_new(int compute, int isa, int axis, int64_t rows, int64_t cols, int with_offset) {
  filter f = {.m = {.compute = compute, .axis = axis, .rows = rows, .cols = cols}};
  f.rows = malloc((size_t)(rows * cols) * sizeof(double));
  for (int64_t i = 0; i < rows * cols; i++) f.rows[i] = rounded(random_real(), compute);
  if (with_offset) {
    f.offsets = malloc((size_t)rows * sizeof(double));
    for (int64_t i = 0; i < rows; i++) f.offsets[i] = rounded(random_real(), compute);
  }
  filter_pack(&f, isa);
  return f;
}

static void filter_free(filter *f) {
  guarded_free(&f->matrix);
  guarded_free(&f->offset);
  free(f->rows);
  free(f->offsets);
}

static fc_status filter_run(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes) {
  guarded scratch = guarded_new(fc_matrix_scratch(m));
  fc_status status = fc_matrix_cpu(m, in, out, scratch.data, notes);
  CHECK(guarded_intact(&scratch), "wrote beyond its scratch");
  guarded_free(&scratch);
  return status;
}

/* What element `r` of a block is to be, and how far rounding may take it. */
static long double expected(const filter *f, const grid *in, const int64_t at[FC_AXES], long double *slack) {
  int64_t r = at[f->m.axis] % f->m.rows, p[FC_AXES] = {at[0], at[1], at[2], at[3]};
  long double sum = f->offsets ? f->offsets[r] : 0, size = fabsl(sum);
  for (int64_t c = 0; c < f->m.cols; c++) {
    p[f->m.axis] = at[f->m.axis] / f->m.rows * f->m.cols + c;
    double x = rounded(grid_value(in, p[0], p[1], p[2], p[3]), f->m.compute);
    sum += (long double)f->rows[r * f->m.cols + c] * x;
    size += fabsl((long double)f->rows[r * f->m.cols + c] * x);
  }
  *slack = size * (f->m.cols + 2) * (f->m.compute == FC_F32 ? 0x1p-24L : 0x1p-53L);
  return sum;
}

static void compare(const filter *f, const grid *in, const grid *out, const char *who) {
  GRID_EACH(out, n, y, x, c) {
    int64_t at[] = {n, y, x, c};
    long double slack, want = expected(f, in, at, &slack);
    CHECK(grid_holds(out, n, y, x, c, (double)want, (double)slack),
          "%s axis %d %" PRId64 "x%" PRId64 " %s to %s at %" PRId64 ",%" PRId64 ",%" PRId64
          ": %.17g, not %.17Lg",
          who, f->m.axis, f->m.rows, f->m.cols, fc_dtype_name(in->view.dtype), fc_dtype_name(out->view.dtype),
          y, x, c, grid_value(out, n, y, x, c), want);
  }
  CHECK(grid_intact(out), "%s: wrote beyond the output", who);
}

static void shape_of(int64_t shape[FC_AXES], int axis, int64_t blocks, int64_t each) {
  const int64_t widths[] = {1, 2, 3, 17, 70};
  shape[FC_AXIS_N] = random_int(1, 2);
  shape[FC_AXIS_Y] = random_int(1, 5);
  shape[FC_AXIS_X] = widths[random_int(0, 4)];
  shape[FC_AXIS_C] = random_int(1, 4);
  shape[axis] = blocks * each;
}

static void check_case(int in_dtype, int out_dtype, int compute, int axis, int64_t rows, int64_t cols) {
  int kind = (int)random_int(0, 2);
  int64_t blocks = random_int(0, 9) == 0 ? 0 : random_int(1, 6), shape[FC_AXES];
  filter f = filter_new(compute, FC_ISA_BASE, axis, rows, cols, (int)random_int(0, 1));
  shape_of(shape, axis, blocks, cols);
  grid in = grid_new(in_dtype, kind, shape, (int)random_int(0, GRID_ORDERS - 1), (int)random_int(0, 1));
  grid_randomise(&in);
  shape[axis] = blocks * rows;
  int order = (int)random_int(0, GRID_ORDERS - 1), gap = (int)random_int(0, 1);
  grid reference = grid_new(out_dtype, kind, shape, order, gap);
  CHECK(fc_matrix_ref(&f.m, &in.view, &reference.view, NULL) == FC_OK, "reference");
  compare(&f, &in, &reference, "reference");
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++) {
    guarded_free(&f.matrix), guarded_free(&f.offset);
    filter_pack(&f, isa);
    grid out = grid_new(out_dtype, kind, shape, order, gap);
    CHECK(filter_run(&f.m, &in.view, &out.view, NULL) == FC_OK, "%s", fc_isa_name((fc_isa)isa));
    compare(&f, &in, &out, fc_isa_name((fc_isa)isa));
    grid_free(&out);
  }
  grid_free(&reference);
  grid_free(&in);
  filter_free(&f);
}

/* The output in two pieces along each axis, as a host would cut it. */
static void check_pieces(int compute, int isa, int axis, int64_t rows, int64_t cols, int order) {
  filter f = filter_new(compute, isa, axis, rows, cols, 1);
  int64_t shape[FC_AXES] = {2, 5, 300, 3};
  shape[axis] = 11 * cols;
  grid in = grid_new(FC_F32, FC_IMAGE, shape, order, 0);
  grid_randomise(&in);
  shape[axis] = 11 * rows;
  grid whole = grid_new(FC_F32, FC_IMAGE, shape, order, 0),
       pieces = grid_new(FC_F32, FC_IMAGE, shape, order, 0);
  filter_run(&f.m, &in.view, &whole.view, NULL);
  for (int cut = 0; cut < FC_AXES; cut++) {
    int64_t out_unit = cut == axis ? rows : 1, in_unit = cut == axis ? cols : 1;
    int64_t units = shape[cut] / out_unit, at = random_int(0, units);
    memset(pieces.memory.data, 0, pieces.memory.bytes);
    for (int half = 0; half < 2; half++) {
      int64_t first = half ? at : 0, count = half ? units - at : at;
      fc_view from = grid_part(&in.view, cut, first * in_unit, count * in_unit);
      fc_view to = grid_part(&pieces.view, cut, first * out_unit, count * out_unit);
      filter_run(&f.m, &from, &to, NULL);
    }
    CHECK(!memcmp(whole.memory.data, pieces.memory.data, (size_t)fc_view_count(&whole.view) * sizeof(float)),
          "%s axis %d, order %d, cut across axis %d at %" PRId64, fc_isa_name((fc_isa)isa), axis, order, cut,
          at);
  }
  grid_free(&whole);
  grid_free(&pieces);
  grid_free(&in);
  filter_free(&f);
}

/* M = I copies every code of every integer type; swapping twice gives back the original. */
static void check_identity(int dtype) {
  const double swap[] = {0, 1, 1, 0};
  int64_t shape[FC_AXES] = {1, 3, 50, 2};
  for (int order = 0; order < GRID_ORDERS; order++) {
    filter f = filter_new(FC_F64, fc_isa_best(), FC_AXIS_C, 2, 2, 0);
    fc_matrix_fill(&f.m, f.matrix.data, NULL, swap, NULL);
    grid in = grid_new(dtype, FC_AUDIO, shape, order, 0), once = grid_new(dtype, FC_AUDIO, shape, 0, 0),
         twice = grid_new(dtype, FC_AUDIO, shape, order, 0);
    grid_randomise(&in);
    filter_run(&f.m, &in.view, &once.view, NULL);
    filter_run(&f.m, &once.view, &twice.view, NULL);
    GRID_EACH(&in, n, y, x, c)
    CHECK(grid_value(&in, n, y, x, c) == grid_value(&twice, n, y, x, c) &&
              grid_value(&in, n, y, x, c) == grid_value(&once, n, y, x, 1 - c),
          "%s order %d: swapped at %" PRId64 ",%" PRId64, fc_dtype_name(dtype), order, y, x);
    grid_free(&in), grid_free(&once), grid_free(&twice);
    filter_free(&f);
  }
}

/* Along X and Y at once against the same two passes one after the other, in f64. */
static void check_xy(int64_t xr, int64_t xc, int64_t yr, int64_t yc, int order) {
  filter x = filter_new(FC_F64, fc_isa_best(), FC_AXIS_X, xr, xc, 0);
  filter y = filter_new(FC_F64, fc_isa_best(), FC_AXIS_Y, yr, yc, 0);
  fc_matrix_xy m = {x.m, y.m};
  int64_t bx = random_int(1, 40), by = random_int(1, 4), n = random_int(1, 2), c = random_int(1, 3);
  int64_t in_shape[] = {n, by * yc, bx * xc, c}, mid[] = {n, by * yc, bx * xr, c},
          shape[] = {n, by * yr, bx * xr, c};
  grid in = grid_new(FC_U8, FC_IMAGE, in_shape, order, 0), between = grid_new(FC_F64, FC_IMAGE, mid, 0, 0);
  grid two = grid_new(FC_F64, FC_IMAGE, shape, 0, 0), ref = grid_new(FC_F64, FC_IMAGE, shape, 1, 1);
  grid one = grid_new(FC_F64, FC_IMAGE, shape, order, 1);
  grid_randomise(&in);
  filter_run(&x.m, &in.view, &between.view, NULL);
  filter_run(&y.m, &between.view, &two.view, NULL);
  guarded scratch = guarded_new(fc_matrix_xy_scratch(&m, &in.view, &one.view));
  CHECK(fc_matrix_xy_cpu(&m, &in.view, &one.view, scratch.data, NULL) == FC_OK, "xy");
  CHECK(fc_matrix_xy_ref(&m, &in.view, &ref.view, scratch.data, NULL) == FC_OK, "xy reference");
  CHECK(guarded_intact(&scratch) && grid_intact(&one) && grid_intact(&ref), "xy wrote beyond");
  GRID_EACH(&one, i, j, k, l) {
    double want = grid_value(&two, i, j, k, l), slack = 255.0 * (double)(xc * yc * (xc + yc + 2)) * 0x1p-53;
    CHECK(grid_value(&one, i, j, k, l) == want && grid_holds(&ref, i, j, k, l, want, slack),
          "xy %" PRId64 "x%" PRId64 ": %g, %g", xr, yr, grid_value(&one, i, j, k, l), want);
  }
  guarded_free(&scratch);
  grid_free(&in), grid_free(&between), grid_free(&two), grid_free(&one), grid_free(&ref);
  filter_free(&x), filter_free(&y);
}

static void check_notes(void) {
  filter f = filter_new(FC_F32, fc_isa_best(), FC_AXIS_C, 1, 1, 0);
  double gain = 2;
  fc_matrix_fill(&f.m, f.matrix.data, NULL, &gain, NULL);
  int64_t shape[FC_AXES] = {1, 1, 40, 1};
  grid in = grid_new(FC_F32, FC_AUDIO, shape, 0, 0), out = grid_new(FC_I16, FC_AUDIO, shape, 0, 0);
  for (int64_t x = 0; x < 40; x++) *(float *)fc_view_at(&in.view, 0, 0, x, 0) = 0.25f;
  uint32_t notes[2] = {0, 0};
  filter_run(&f.m, &in.view, &out.view, notes);
  CHECK(notes[0] == 0 && notes[1] == 0, "noted what did not happen");
  *(float *)fc_view_at(&in.view, 0, 0, 33, 0) = 0.75f;
  *(float *)fc_view_at(&in.view, 0, 0, 34, 0) = NAN;
  filter_run(&f.m, &in.view, &out.view, notes);
  CHECK(notes[0] == 1 && notes[1] == 1, "did not note NaN or clipping");
  grid_free(&in), grid_free(&out);
  filter_free(&f);
}

int main(void) {
  static const int64_t sizes[][2] = {{1, 1}, {1, 3}, {3, 3},   {2, 6},   {2, 2},   {4, 4},    {3, 1},  {5, 2},
                                     {8, 8}, {7, 9}, {16, 16}, {33, 20}, {64, 64}, {80, 257}, {13, 40}};
  random_start(5);
  for (int in = 0; in < FC_DTYPE_COUNT; in++)
    for (int out = 0; out < FC_DTYPE_COUNT; out++)
      for (int compute = FC_F32; compute <= FC_F64; compute++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
          if (trial_skipped() || (sizes[s][0] > 8 && random_int(0, 15))) continue;
          int axis = (int)random_int(0, FC_AXES - 1);
          check_case(in, out, compute, sizes[s][0] <= 4 && random_int(0, 1) ? FC_AXIS_C : axis, sizes[s][0],
                     sizes[s][1]);
        }
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++)
    for (int axis = 0; axis < FC_AXES; axis++)
      for (int order = 0; order < GRID_ORDERS; order++) {
        check_pieces(FC_F32, isa, axis, 3, 3, order);
        check_pieces(FC_F32, isa, axis, 8, 8, order);
        check_pieces(FC_F64, isa, axis, 17, 30, order);
      }
  for (int dtype = FC_U8; dtype <= FC_I32; dtype++) check_identity(dtype);
  for (int order = 0; order < GRID_ORDERS; order++) {
    check_xy(8, 8, 8, 8, order);
    check_xy(3, 5, 7, 2, order);
    check_xy(64, 64, 64, 64, order);
    check_xy(1, 1, 300, 200, order);
  }
  check_notes();
  return check_result();
}
