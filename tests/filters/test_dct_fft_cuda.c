/* SPDX-License-Identifier: MIT */
/*
 * test_dct_fft_cuda.c - cosine transforms on a CUDA device against the matrices that they stand for: lengths
 * that fit a thread's registers and others, every type and direction, parts of the coefficients, every axis,
 * order of axes and element type, rows that begin anywhere; pieces, bit for bit; NaN. Skipped without a
 * device.
 */
#include "filters/fourier/dct_fft.h"
#include "tests/filters/grid_device.h"

typedef struct transform {
  guarded memory;
  fc_dct_fft *plan;
  void *on_device;
} transform;

static transform transform_new(fc_dct d, int compute, int isa, int axis, int64_t rows, int64_t cols) {
  size_t bytes = fc_dct_fft_bytes(d.size, compute);
  transform t = {guarded_new(bytes), NULL, NULL};
  t.plan = t.memory.data;
  CHECK(fc_dct_fft_init(t.plan, &d, compute, isa, axis, rows, cols) == FC_OK, "size %" PRId64, d.size);
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

#define grid_place grid_to_device
#define grid_fetch grid_from_device
#include "tests/filters/dct_fft_check.h"

static void check_case(int64_t n, int axis, int compute) {
  transform_case t = {.dct = {n, (int)random_int(2, 3), (int)random_int(0, 1), (int)random_int(0, 1)},
                      .axis = axis,
                      .compute = compute};
  t.rows = random_int(0, 2) ? n : random_int(1, n), t.cols = random_int(0, 2) ? n : random_int(1, n);
  int64_t blocks = random_int(1, n < 48 ? 40 : 9);
  int64_t shape[] = {random_int(1, 2), random_int(1, 3), random_int(1, 70), random_int(1, 3)};
  t.out_dtype = random_int(0, 1) ? compute : (int)random_int(FC_I32, FC_F64);
  shape[axis] = blocks * t.cols;
  grid in = grid_new((int)random_int(0, FC_DTYPE_COUNT - 1), FC_ARRAY, shape,
                     (int)random_int(0, GRID_ORDERS - 1), (int)random_int(0, 1));
  /* Whole numbers of 32 bits would leave nothing of a small block to compare. */
  if (in.view.dtype == FC_I32) t.out_dtype = FC_F64;
  grid_randomise(&in);
  shape[axis] = blocks * t.rows;
  grid want = grid_new(FC_F64, FC_ARRAY, shape, 0, 0);
  expect(&t.dct, axis, t.rows, t.cols, &in, &want);
  t.order = (int)random_int(0, GRID_ORDERS - 1), t.gap = (int)random_int(0, 1);
  check_answer(&t, FC_ISA_BASE, &in, &want);
  grid_free(&in), grid_free(&want);
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
