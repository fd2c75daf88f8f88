/* SPDX-License-Identifier: MIT */
/*
 * test_dct_fft.c - cosine transforms by way of Fourier transforms against the matrices that they stand
 * for (test_dct.c has those against scipy.fft): every type, direction and number of coefficients, along every
 * axis, in every order of axes and instruction set; pieces, bit for bit; NaN; and there and back.
 */
#include "filters/fourier/dct_fft.h"
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

static void transform_free(transform *t) {
  guarded_free(&t->memory);
}

static fc_view grid_place(const grid *g) {
  return g->view;
}

static void grid_fetch(const grid *g, const fc_view *v) {
  (void)g, (void)v;
}

#include "tests/filters/dct_fft_check.h"

static void check_case(int64_t n, int axis, int compute) {
  static const int inputs[] = {FC_U8, FC_I16, FC_F32, FC_F64};
  transform_case t = {.dct = {n, (int)random_int(2, 3), (int)random_int(0, 1), (int)random_int(0, 1)},
                      .axis = axis,
                      .compute = compute};
  t.rows = random_int(0, 1) ? n : random_int(1, n), t.cols = random_int(0, 1) ? n : random_int(1, n);
  int64_t blocks = random_int(1, n < 48 ? 4 : 2), wide = n < 48 ? 70 : 17;
  int64_t shape[] = {random_int(1, 2), random_int(1, 3), random_int(1, wide), random_int(1, 3)};
  int kind = (int)random_int(0, 2);
  t.out_dtype = random_int(0, 1) ? compute : FC_F64;
  shape[axis] = blocks * t.cols;
  grid in = grid_new(inputs[random_int(0, 3)], kind, shape, (int)random_int(0, GRID_ORDERS - 1),
                     (int)random_int(0, 1));
  grid_randomise(&in);
  shape[axis] = blocks * t.rows;
  grid want = grid_new(FC_F64, kind, shape, 0, 0);
  expect(&t.dct, axis, t.rows, t.cols, &in, &want);
  t.order = (int)random_int(0, GRID_ORDERS - 1), t.gap = (int)random_int(0, 1);
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++) check_answer(&t, isa, &in, &want);
  grid_free(&in), grid_free(&want);
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
  grid_free(&in), grid_free(&mid), grid_free(&out), transform_free(&a), transform_free(&b);
}

/* The table of filters/README.md: what makes which transform on a GPU. */
static void check_choices(void) {
  static const struct {
    int64_t n;
    int compute, alone, major;
    fc_dct_launch want;
  } table[] = {
      {4, FC_F32, 1, 9, FC_DCT_MATRIX},   {8, FC_F32, 1, 9, FC_DCT_BLOCKS},
      {8, FC_F32, 0, 9, FC_DCT_MATRIX},   {16, FC_F32, 1, 9, FC_DCT_MATRIX},
      {32, FC_F64, 0, 8, FC_DCT_BLOCKS},  {64, FC_F32, 1, 7, FC_DCT_BLOCKS},
      {128, FC_F32, 1, 9, FC_DCT_BLOCKS}, {128, FC_F64, 1, 9, FC_DCT_LINES},
      {20, FC_F32, 1, 9, FC_DCT_LINES},   {96, FC_F32, 0, 9, FC_DCT_LINES},
      {2048, FC_F32, 1, 9, FC_DCT_LINES}, {17, FC_F32, 1, 9, FC_DCT_MATRIX},
      {97, FC_F32, 1, 9, FC_DCT_MATRIX},  {255, FC_F64, 1, 9, FC_DCT_MATRIX},
      {257, FC_F32, 1, 9, FC_DCT_MATRIX}, {257, FC_F32, 1, 8, FC_DCT_LINES},
      {509, FC_F64, 0, 9, FC_DCT_MATRIX}, {1021, FC_F32, 1, 9, FC_DCT_LINES},
      {310, FC_F32, 1, 9, FC_DCT_MATRIX}, {310, FC_F32, 1, 8, FC_DCT_LINES},
      {272, FC_F32, 1, 9, FC_DCT_LINES},
  };
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    const fc_dct_choice c = fc_dct_choose(table[i].n, table[i].compute, table[i].alone, table[i].major);
    CHECK(c.launch == table[i].want, "%" PRId64 " values: %d, not %d", table[i].n, (int)c.launch,
          (int)table[i].want);
    CHECK(c.us > 0, "%" PRId64 " values: %g us", table[i].n, c.us);
    CHECK(c.launch == FC_DCT_MATRIX || fc_dct_fft_bytes(table[i].n, table[i].compute) > 0, "no plan");
  }
}

int main(void) {
  check_choices();
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
