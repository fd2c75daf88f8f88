/* SPDX-License-Identifier: MIT */
/*
 * test_conv1d_fft.c - overlap-save against the reference of conv1d, on random layouts,
 * element types and lengths of transform; the same bits for any cut at whole blocks; a NaN
 * or infinity spoils what its mask covers, and no more; masks of several parts.
 */
#include "filters/conv1d/conv1d_fft.h"
#include "tests/filters/conv1d_trials.h"
#include "tests/filters/quad.h"

static fc_conv1d_fft *transform_new(const fc_conv1d *c, int64_t n) {
  size_t bytes = fc_conv1d_fft_bytes(c, n);
  fc_conv1d_fft *fft = aligned_alloc(64, (bytes + 63) / 64 * 64);
  CHECK(bytes > 0 && fc_conv1d_fft_init(fft, c, n) == FC_OK, "no transform of length %" PRId64, n);
  return fft;
}

static void run(const fc_conv1d_fft *fft, const fc_conv1d *c, const fc_view *in, const fc_view *out) {
  uint32_t notes[FC_NOTES] = {0, 0};
  guarded scratch = guarded_new(fc_conv1d_fft_scratch(fft, c));
  CHECK(fc_conv1d_fft_cpu(fft, c, in, out, scratch.data, notes) == FC_OK, "failed");
  CHECK(guarded_intact(&scratch), "wrote beyond its scratch");
  guarded_free(&scratch);
}

/* ---- random views ----------------------------------------------------------- */

static int64_t random_length(int64_t taps) {
  static const int64_t factors[] = {1, 2, 3, 5, 8};
  int64_t least = taps + random_int(0, 70);
  return 2 * ((least + 1) / 2) * pick(factors, sizeof factors / sizeof *factors);
}

static void cuts_check(const trial *t, const fc_conv1d_fft *fft, const signal *in, const signal *whole) {
  signal out = signal_new(t->kind, t->out_dtype, t->shape, t->out_layout, FC_AXIS_X, 0, 0);
  int64_t most = random_int(1, t->shape[t->c.axis] / fft->hop + 1);
  for (int64_t i = 0, count; i < t->shape[t->c.axis]; i += count) {
    count = random_int(1, most) * fft->hop;
    if (count > t->shape[t->c.axis] - i) count = t->shape[t->c.axis] - i;
    fc_view in_cut = view_cut(&in->view, t->c.axis, i, count);
    fc_view out_cut = view_cut(&out.view, t->c.axis, i, count);
    run(fft, &t->c, &in_cut, &out_cut);
  }
  CHECK(memcmp(out.memory.data, whole->memory.data, out.memory.bytes) == 0,
        "a cut shows, axis %d, hop %" PRId64, t->c.axis, fft->hop);
  signal_free(&out);
}

static void trial_run(void) {
  trial t = trial_new();
  int64_t n = random_length(t.c.taps);
  signal in =
      signal_new(t.kind, t.in_dtype, t.shape, t.in_layout, t.c.axis, t.c.before, t.c.taps - 1 - t.c.before);
  signal want = signal_new(t.kind, t.out_dtype, t.shape, t.out_layout, t.c.axis, 0, 0);
  signal_fill(&in, 0);
  CHECK(fc_conv1d_ref(&t.c, &in.view, &want.view, NULL) == FC_OK, "ref failed");
  for (int isa = 0; isa <= (int)fc_isa_best(); isa++) {
    t.c.isa = (fc_isa)isa;
    fc_conv1d_fft *fft = transform_new(&t.c, n);
    signal out = signal_new(t.kind, t.out_dtype, t.shape, t.out_layout, t.c.axis, 0, 0);
    run(fft, &t.c, &in.view, &out.view);
    compare(&t, &out, &want, fc_isa_name(t.c.isa));
    cuts_check(&t, fft, &in, &out);
    CHECK(signal_only_written(&out), "wrote where no element is");
    signal_free(&out);
    free(fft);
  }
  signal_free(&in);
  signal_free(&want);
  free(t.mask);
}

/* ---- what is not finite ------------------------------------------------------ */

/* Also values whose sums over a block, but not over a mask, are beyond the largest float. */
static void contagion_check(int trial_index) {
  static const double bad_values[] = {(double)NAN, (double)INFINITY, 1e37};
  double bad_value = bad_values[trial_index % 3];
  int axis = trial_index % 2 ? FC_AXIS_X : FC_AXIS_Y, other = axis == FC_AXIS_X ? FC_AXIS_Y : FC_AXIS_X;
  int64_t shape[4] = {1, axis == FC_AXIS_Y ? 400 : 2, axis == FC_AXIS_X ? 400 : 2, 3};
  int64_t taps = random_int(1, 40), before = taps / 3, at[4];
  int64_t bad[4] = {0, random_int(0, shape[1] - 1), random_int(0, shape[2] - 1), random_int(0, 2)};
  float mask[40];
  for (int j = 0; j < taps; j++) mask[j] = (float)random_real();
  signal in = signal_new(FC_ARRAY, FC_F32, shape, LAYOUT_INTERLEAVED, axis, before, taps - 1 - before);
  signal out = signal_new(FC_ARRAY, FC_F32, shape, LAYOUT_INTERLEAVED, axis, 0, 0);
  signal_fill(&in, 0);
  if (isfinite(bad_value))
    FOR_EACH(&in.view, at) view_set(&in.view, at, at[axis] < 60 ? bad_value : 1);
  else
    view_set(&in.view, bad, bad_value);
  fc_conv1d c = {.mask = mask,
                 .taps = taps,
                 .masks = 1,
                 .before = before,
                 .axis = axis,
                 .compute = FC_F32,
                 .isa = fc_isa_best()};
  fc_conv1d_fft *fft = transform_new(&c, 128);
  run(fft, &c, &in.view, &out.view);
  FOR_EACH(&out.view, at) {
    int64_t reach = bad[axis] - at[axis] + before;
    int touched =
        !isfinite(bad_value) && at[3] == bad[3] && at[other] == bad[other] && reach >= 0 && reach < taps;
    CHECK(touched == !isfinite(view_get(&out.view, at)), "%g at %" PRId64 " and output %" PRId64, bad_value,
          bad[axis], at[axis]);
  }
  free(fft);
  signal_free(&in);
  signal_free(&out);
}

/* ---- several parts --------------------------------------------------------------- */

/* Two parts and a bit, against sums in 113 bits of a few outputs. */
static void parts_check(int compute) {
  enum { TAPS = 2 * FC_CONV1D_FFT_PART + 777, OUTPUTS = 160000 };
  size_t size = fc_dtype_size(compute);
  char *mask = malloc(TAPS * size), *x = malloc((TAPS + OUTPUTS) * size), *y = malloc(OUTPUTS * size);
  for (int64_t j = 0; j < TAPS; j++) element_set(mask + (size_t)j * size, compute, random_real() / 500);
  for (int64_t i = 0; i < TAPS + OUTPUTS; i++) element_set(x + (size_t)i * size, compute, random_real());
  fc_view in = {.size = sizeof in, .dtype = compute, .kind = FC_ARRAY, .device = FC_HOST, .data = x};
  for (int a = 0; a < FC_AXES; a++) in.shape[a] = 1, in.stride[a] = (int64_t)size;
  in.shape[FC_AXIS_X] = OUTPUTS;
  fc_view out = in;
  out.data = y;
  fc_conv1d c = {
      .mask = mask, .taps = TAPS, .masks = 1, .axis = FC_AXIS_X, .compute = compute, .isa = fc_isa_best()};
  fc_conv1d_fft *fft = transform_new(&c, fc_conv1d_fft_length(TAPS, OUTPUTS, compute, 0, 0));
  CHECK(fft->parts == 3, "%" PRId64 " parts", fft->parts);
  run(fft, &c, &in, &out);
  for (int64_t i = 0; i < OUTPUTS; i += OUTPUTS / 30 - 1) {
    quad want = 0;
    double got = element_get(y + (size_t)i * size, compute);
    for (int64_t j = 0; j < TAPS; j++) {
      quad tap = element_get(mask + (size_t)j * size, compute);
      want += tap * element_get(x + (size_t)(i + j) * size, compute);
    }
    CHECK(fabs(got - (double)want) < (compute == FC_F64 ? 1e-14 : 2e-6),
          "%s: output %" PRId64 " is %.9g, not %.9g", fc_dtype_name(compute), i, got, (double)want);
  }
  free(fft);
  free(mask);
  free(x);
  free(y);
}

/* ---- refusals --------------------------------------------------------------------- */

static void refusals_check(void) {
  float mask[40] = {0}, x[1000] = {0}, y[960];
  fc_conv1d c = {.mask = mask, .taps = 40, .masks = 1, .axis = FC_AXIS_X, .compute = FC_F32};
  CHECK(fc_conv1d_fft_bytes(&c, 38) == 0 && fc_conv1d_fft_bytes(&c, 41) == 0, "a length that cannot be");
  CHECK(fc_conv1d_fft_length(3, -1, FC_F32, 0, 0) == 0, "3 taps by transforms");
  CHECK(fc_conv1d_fft_length(3, -1, FC_F32, 0, 1) > 0, "always is not always");
  CHECK(fc_conv1d_fft_length(5000, -1, FC_F32, 0, 0) > 5000, "5000 taps tap by tap");
  CHECK(fc_conv1d_fft_length(5000, 1, FC_F32, 0, 0) == 0, "one output by transforms");
  fc_conv1d_fft *fft = transform_new(&c, 128);
  fc_view in = {.size = sizeof in, .dtype = FC_F32, .kind = FC_ARRAY, .device = FC_HOST, .data = x};
  for (int a = 0; a < FC_AXES; a++) in.shape[a] = 1, in.stride[a] = 4;
  in.shape[FC_AXIS_X] = 960;
  fc_view out = in;
  out.data = y, out.origin[FC_AXIS_X] = 1;
  guarded scratch = guarded_new(fc_conv1d_fft_scratch(fft, &c));
  CHECK(fc_conv1d_fft_cpu(fft, &c, &in, &out, scratch.data, NULL) == FC_INVALID, "began within a block");
  guarded_free(&scratch);
  free(fft);
}

int main(void) {
  random_start(3);
  for (int i = 0; i < 120; i += trial_step()) trial_run();
  for (int i = 0; i < 60; i += trial_step()) contagion_check(i);
  parts_check(FC_F32);
  parts_check(FC_F64);
  refusals_check();
  return check_result();
}
