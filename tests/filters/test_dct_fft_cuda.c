/* SPDX-License-Identifier: MIT */
/*
 * test_dct_fft_cuda.c - cosine transforms on a CUDA device against the matrices that they stand for: lengths
 * that fit a thread's registers and others, every type and direction, parts of the coefficients, every axis,
 * order of axes and element type, rows that begin anywhere; pieces, bit for bit; NaN. Skipped without a
 * device.
 */
#include "filters/dct_fft.h"
#include "filters/matrix.h"
#include "tests/filters/grid_device.h"

typedef struct transform {
  guarded memory;
  fc_dct_fft *plan;
  void *on_device;
} transform;

static transform transform_new(fc_dct d, int compute, int axis, int64_t rows, int64_t cols) {
  size_t bytes = fc_dct_fft_bytes(d.size, compute);
  transform t = {guarded_new(bytes), NULL, NULL};
  t.plan = t.memory.data;
  CHECK(fc_dct_fft_init(t.plan, &d, compute, FC_ISA_BASE, axis, rows, cols) == FC_OK, "size %" PRId64,
        d.size);
  t.plan->device = t.on_device = to_device(t.plan, bytes);
  return t;
}

static void transform_free(transform *t) {
  cudaFree(t->on_device);
  guarded_free(&t->memory);
}

static void transform_run(const transform *t, const fc_view *in, const fc_view *out) {
  void *scratch = NULL;
  size_t bytes = fc_dct_fft_device_scratch(t->plan);
  if (bytes && cudaMalloc(&scratch, bytes) != cudaSuccess) abort();
  CHECK(fc_dct_fft_cuda(t->plan, in, out, scratch, NULL, NULL) == FC_OK, "size %" PRId64, t->plan->dct.size);
  CHECK(cudaDeviceSynchronize() == cudaSuccess, "size %" PRId64 ": the kernel failed", t->plan->dct.size);
  cudaFree(scratch);
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

static void check_case(int64_t n, int axis, int compute) {
  fc_dct d = {n, (int)random_int(2, 3), (int)random_int(0, 1), (int)random_int(0, 1)};
  int64_t rows = random_int(0, 2) ? n : random_int(1, n), cols = random_int(0, 2) ? n : random_int(1, n);
  int64_t blocks = random_int(1, n < 48 ? 40 : 9);
  int64_t shape[] = {random_int(1, 2), random_int(1, 3), random_int(1, 70), random_int(1, 3)};
  int kind = FC_ARRAY, out_dtype = random_int(0, 1) ? compute : (int)random_int(FC_I32, FC_F64);
  shape[axis] = blocks * cols;
  grid in = grid_new((int)random_int(0, FC_DTYPE_COUNT - 1), kind, shape, (int)random_int(0, GRID_ORDERS - 1),
                     (int)random_int(0, 1));
  /* Whole numbers of 32 bits would leave nothing of a small block to compare. */
  if (in.view.dtype == FC_I32) out_dtype = FC_F64;
  grid_randomise(&in);
  shape[axis] = blocks * rows;
  grid want = grid_new(FC_F64, kind, shape, 0, 0);
  expect(&d, axis, rows, cols, &in, &want);
  grid out = grid_new(out_dtype, kind, shape, (int)random_int(0, GRID_ORDERS - 1), (int)random_int(0, 1));
  transform t = transform_new(d, compute, axis, rows, cols);
  fc_view from = grid_to_device(&in), to = grid_to_device(&out);
  transform_run(&t, &from, &to);
  grid_from_device(&out, &to), grid_from_device(&in, &from);
  double off = distance(&out, &want);
  CHECK(off <= (compute == FC_F32 || out_dtype == FC_F32 ? 1e-6 : 1e-14),
        "%s to %s in %s: type %d, ortho %d, inverse %d, %" PRId64 " -> %" PRId64 " of %" PRId64
        " along %d: off by %g",
        fc_dtype_name(in.view.dtype), fc_dtype_name(out_dtype), fc_dtype_name(compute), d.type, d.orthonormal,
        d.inverse, cols, rows, n, axis, off);
  CHECK(grid_intact(&out), "size %" PRId64 ": wrote beyond the output", n);
  grid_free(&in), grid_free(&want), grid_free(&out), transform_free(&t);
}

/* The output in two pieces along each axis, as a host would cut it. */
static void check_pieces(int64_t n, int axis, int type, int order) {
  fc_dct d = {n, type, 1, 0};
  int64_t shape[FC_AXES] = {2, 5, 40, 3};
  shape[axis] = 7 * n;
  transform t = transform_new(d, FC_F32, axis, n, n);
  grid in = grid_new(FC_F32, FC_IMAGE, shape, order, 0), whole = grid_new(FC_F32, FC_IMAGE, shape, order, 0);
  grid pieces = grid_new(FC_F32, FC_IMAGE, shape, order, 0);
  grid_randomise(&in);
  fc_view from = grid_to_device(&in), to = grid_to_device(&whole);
  transform_run(&t, &from, &to);
  grid_from_device(&whole, &to);
  for (int cut = 0; cut < FC_AXES; cut++) {
    int64_t unit = cut == axis ? n : 1, units = shape[cut] / unit, at = random_int(0, units);
    memset(pieces.memory.data, 0, pieces.memory.bytes);
    to = grid_to_device(&pieces);
    for (int half = 0; half < 2; half++) {
      int64_t first = (half ? at : 0) * unit, count = (half ? units - at : at) * unit;
      fc_view a = grid_part(&from, cut, first, count), b = grid_part(&to, cut, first, count);
      transform_run(&t, &a, &b);
    }
    grid_from_device(&pieces, &to);
    CHECK(!memcmp(whole.memory.data, pieces.memory.data, (size_t)fc_view_count(&whole.view) * sizeof(float)),
          "size %" PRId64 " along %d, order %d, cut across axis %d at %" PRId64, n, axis, order, cut, at);
  }
  grid_from_device(&in, &from);
  grid_free(&in), grid_free(&whole), grid_free(&pieces), transform_free(&t);
}

/* What is not finite spoils its block, and no other. */
static void check_spoilt(int64_t n, int axis, int type, double bad) {
  fc_dct d = {n, type, 0, 0};
  int64_t shape[FC_AXES] = {1, 3, 20, 2}, at[FC_AXES];
  shape[axis] = 5 * n;
  transform t = transform_new(d, FC_F64, axis, n, n);
  grid in = grid_new(FC_F64, FC_IMAGE, shape, 0, 0), out = grid_new(FC_F64, FC_IMAGE, shape, 0, 0);
  grid_randomise(&in);
  for (int a = 0; a < FC_AXES; a++) at[a] = random_int(0, shape[a] - 1);
  *(double *)fc_view_at(&in.view, at[0], at[1], at[2], at[3]) = bad;
  fc_view from = grid_to_device(&in), to = grid_to_device(&out);
  transform_run(&t, &from, &to);
  grid_from_device(&out, &to), grid_from_device(&in, &from);
  GRID_EACH(&out, i, y, x, c) {
    int64_t here[] = {i, y, x, c};
    int same = here[axis] / n == at[axis] / n;
    for (int a = 0; a < FC_AXES; a++) same &= a == axis || here[a] == at[a];
    CHECK(isnan(grid_value(&out, i, y, x, c)) == same,
          "size %" PRId64 " along %d: %g at %" PRId64 ",%" PRId64, n, axis, bad, y, x);
  }
  grid_free(&in), grid_free(&out), transform_free(&t);
}

int main(void) {
  static const int64_t sizes[] = {8, 16, 32, 64, 128, 3, 20, 25, 48, 131, 256};
  if (!have_device()) return SKIPPED;
  random_start(11);
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
    for (int axis = 0; axis < FC_AXES; axis++)
      for (int trial = 0; trial < (s < 5 ? 16 : 4); trial++)
        check_case(sizes[s], axis, trial % 2 ? FC_F32 : FC_F64);
  for (int axis = 0; axis < FC_AXES; axis++)
    for (int order = 0; order < GRID_ORDERS; order++)
      for (int type = 2; type <= 3; type++) check_pieces(order % 2 ? 64 : 16, axis, type, order);
  for (int axis = 0; axis < FC_AXES; axis++)
    for (int type = 2; type <= 3; type++)
      check_spoilt(32, axis, type, NAN), check_spoilt(16, axis, type, INFINITY);
  return check_result();
}
