/* SPDX-License-Identifier: MIT */
/*
 * test_matrix_cuda.c - matrices between channels and along the other axes on a CUDA device against the CPU's:
 * the same element types in and out, as the kernels for a few channels want them, and others; large ones,
 * which are products of matrices; whole images, and windows of larger ones, so that rows begin anywhere; the
 * same notes, and nothing written beyond. Skipped without a device.
 */
#include "filters/matrix/matrix.h"
#include "tests/filters/grid_device.h"

typedef struct filter {
  fc_matrix m;
  guarded matrix, offset;
  double large; /* of its elements */
} filter;

/* `large` makes most results clip. */
static filter filter_new(int compute, int axis, int64_t rows, int64_t cols, double large) {
  filter f = {.large = large};
  double *all = malloc((size_t)(rows * cols + rows) * sizeof *all);
  for (int64_t i = 0; i < rows * cols + rows; i++) all[i] = random_real() * large;
  fc_matrix_init(&f.m, compute, fc_isa_best(), axis, rows, cols);
  f.matrix = guarded_new(fc_matrix_bytes(&f.m)), f.offset = guarded_new(fc_matrix_offset_bytes(&f.m));
  fc_matrix_fill(&f.m, f.matrix.data, f.offset.data, all, all + rows * cols);
  f.m.matrix = f.matrix.data, f.m.offset = random_int(0, 1) ? f.offset.data : NULL;
  free(all);
  return f;
}

static void filter_free(filter *f) {
  guarded_free(&f->matrix), guarded_free(&f->offset);
}

static void run_on_cpu(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes) {
  guarded scratch = guarded_new(fc_matrix_scratch(m));
  CHECK(fc_matrix_cpu(m, in, out, scratch.data, notes) == FC_OK, "CPU");
  guarded_free(&scratch);
}

static void run_on_device(const filter *f, const grid *in, const grid *out, uint32_t notes[2]) {
  fc_matrix m = f->m;
  void *matrix = to_device(f->matrix.data, f->matrix.bytes),
       *offset = to_device(f->offset.data, f->offset.bytes);
  uint32_t *noted = to_device(notes, 2 * sizeof *notes);
  fc_view from = grid_to_device(in), to = grid_to_device(out);
  m.matrix = matrix, m.offset = m.offset ? offset : NULL;
  const size_t bytes = fc_matrix_device_scratch(&m, &to);
  char *scratch = NULL, behind[64], *is = behind;
  cudaMalloc((void **)&scratch, bytes + sizeof behind), cudaMemset(scratch, 0x5a, bytes + sizeof behind);
  CHECK(fc_matrix_cuda(&m, &from, &to, scratch, noted, NULL) == FC_OK, "refused");
  CHECK(cudaDeviceSynchronize() == cudaSuccess, "the kernel failed");
  grid_from_device(out, &to), grid_from_device(in, &from);
  cudaMemcpy(notes, noted, 2 * sizeof *notes, cudaMemcpyDeviceToHost);
  cudaMemcpy(behind, scratch + bytes, sizeof behind, cudaMemcpyDeviceToHost);
  while (is < behind + sizeof behind && *is == 0x5a) is++;
  CHECK(is == behind + sizeof behind, "wrote beyond the scratch memory");
  cudaFree(matrix), cudaFree(offset), cudaFree(noted), cudaFree(scratch);
}

/* A window whose rows begin `skip` columns into those of the grid's. */
static grid window_new(int dtype, int kind, const int64_t shape[FC_AXES], int order, int gap, int64_t skip) {
  int64_t outer[FC_AXES];
  memcpy(outer, shape, sizeof outer);
  outer[FC_AXIS_X] += 2 * skip;
  grid g = grid_new(dtype, kind, outer, order, gap);
  g.view = grid_part(&g.view, FC_AXIS_X, skip, shape[FC_AXIS_X]);
  return g;
}

/* Where the CPU has no fused multiply-add, and where a device sums in another order, results may fall on the
 * other side of a half; those of i32 have more digits than f32. */
static void compare(const filter *f, const grid *in, const grid *got, const grid *want, const char *name) {
  double unit = fc_scaling_of(got->view.kind, got->view.dtype).scale;
  double largest = 0, most = 1;
  int64_t off = 0, count = 0;
  GRID_EACH(in, n, y, x, c) most = fmax(most, fabs(grid_value(in, n, y, x, c)));
  GRID_EACH(want, n, y, x, c) largest = fmax(largest, fabs(grid_value(want, n, y, x, c)));
  GRID_EACH(got, n, y, x, c) {
    double a = grid_value(got, n, y, x, c), b = grid_value(want, n, y, x, c);
    double slack = fc_dtype_is_float(got->view.dtype) ? 1e-6 * largest : fmax(unit, 1e-6 * largest);
    /* Of large terms that cancel, and are not clipped, less is left. */
    slack += 0x1p-24 * f->large * most * (double)f->m.cols;
    CHECK(fabs(a - b) <= slack, "%s at %" PRId64 ",%" PRId64 ",%" PRId64 ": %g, not %g", name, y, x, c, a, b);
    off += a != b, count++;
  }
  CHECK(fc_dtype_is_float(got->view.dtype) || got->view.dtype == FC_I32 || off * 50 <= count,
        "%s: %d of %d are off", name, (int)off, (int)count);
  CHECK(grid_intact(got), "%s: wrote beyond the output", name);
}

static void check_case(int in_dtype, int out_dtype, int compute, int axis, int64_t rows, int64_t cols) {
  static const int64_t widths[] = {1, 2, 3, 17, 127, 128, 129, 511, 513, 1500};
  static const double sizes[] = {0.3, 0.3, 2, 60000};
  int kind = (int)random_int(0, 2), order = random_int(0, 2) ? 0 : (int)random_int(0, GRID_ORDERS - 1);
  int64_t shape[] = {random_int(1, 2), random_int(1, 4), widths[random_int(0, 9)], random_int(1, 3)};
  int64_t skip = random_int(0, 1) ? random_int(0, 5) : 0;
  filter f = filter_new(compute, axis, rows, cols, sizes[random_int(0, 3)]);
  f.m.split = compute == FC_F32 && random_int(0, 2) == 0;
  char name[160];
  snprintf(name, sizeof name, "%s to %s, kind %d, %d x %d along %d, %d columns, order %d, skip %d",
           fc_dtype_name(in_dtype), fc_dtype_name(out_dtype), kind, (int)rows, (int)cols, axis, (int)shape[2],
           order, (int)skip);
  int64_t blocks = axis == FC_AXIS_C ? 1 : random_int(1, 20);
  shape[axis] = blocks * cols;
  grid in = window_new(in_dtype, kind, shape, order, random_int(0, 4) == 0, skip);
  grid_randomise(&in);
  shape[axis] = blocks * rows;
  int64_t other = random_int(0, 1) ? skip : random_int(0, 5);
  grid want = window_new(out_dtype, kind, shape, order, 0, other),
       got = window_new(out_dtype, kind, shape, order, 0, other);
  uint32_t notes[2] = {0, 0}, device_notes[2] = {0, 0};
  run_on_cpu(&f.m, &in.view, &want.view, notes);
  run_on_device(&f, &in, &got, device_notes);
  compare(&f, &in, &got, &want, name);
  CHECK(!memcmp(notes, device_notes, sizeof notes), "%s: other notes than the CPU's", name);
  grid_free(&in), grid_free(&want), grid_free(&got), filter_free(&f);
}

/* What is not a number becomes zero in an integer, and is noted. */
static void check_nan(int dtype) {
  filter f = filter_new(FC_F32, FC_AXIS_C, 3, 3, INFINITY);
  const double rows[] = {1, 0, 0, 0, INFINITY, 0, 0, 0, 1};
  int64_t shape[FC_AXES] = {1, 3, 700, 3};
  fc_matrix_fill(&f.m, f.matrix.data, NULL, rows, NULL);
  f.m.offset = NULL;
  grid in = grid_new(dtype, FC_IMAGE, shape, 0, 0), out = grid_new(dtype, FC_IMAGE, shape, 0, 0);
  memset(in.memory.data, 0, in.memory.bytes);
  uint32_t notes[2] = {0, 0};
  run_on_device(&f, &in, &out, notes);
  GRID_EACH(&out, n, y, x, c)
  CHECK(grid_value(&out, n, y, x, c) == 0, "%s: NaN became %g", fc_dtype_name(dtype),
        grid_value(&out, n, y, x, c));
  CHECK(notes[0] == 1 && notes[1] == 0, "%s: notes %u, %u", fc_dtype_name(dtype), notes[0], notes[1]);
  grid_free(&in), grid_free(&out), filter_free(&f);
}

int main(void) {
  static const int dtypes[] = {FC_U8, FC_I16, FC_U16, FC_F32};
  if (!have_device()) return SKIPPED;
  random_start(6);
  for (int d = 0; d < 4; d++)
    for (int64_t rows = 1; rows <= 4; rows++)
      for (int64_t cols = 1; cols <= 4; cols++)
        for (int trial = 0; trial < 8; trial++)
          check_case(dtypes[d], dtypes[d], FC_F32, FC_AXIS_C, rows, cols);
  for (int trial = 0; trial < 100; trial++)
    check_case((int)random_int(FC_U8, FC_F64), (int)random_int(FC_F32, FC_F64),
               (int)random_int(FC_F32, FC_F64), (int)random_int(FC_AXIS_Y, FC_AXIS_C), random_int(1, 20),
               random_int(1, 20));
  /* Every pair of types, also with matrices so large that lines are copied to be aligned. */
  for (int in = FC_U8; in <= FC_F64; in++)
    for (int out = FC_U8; out <= FC_F64; out++)
      for (int trial = 0; trial < 6; trial++)
        if (!trial_skipped()) {
          const int64_t least = trial == 5 ? 128 : 1, most = trial == 5 ? 160 : 90;
          check_case(in, out, (int)random_int(FC_F32, FC_F64), (int)random_int(FC_AXIS_Y, FC_AXIS_C),
                     random_int(least, most), random_int(least < 17 ? 17 : least, most));
        }
  for (int d = 0; d < 3; d++) check_nan(dtypes[d]);
  return check_result();
}
