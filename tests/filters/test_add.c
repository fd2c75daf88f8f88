/* SPDX-License-Identifier: MIT */
/*
 * test_add.c - sums of two signals against arithmetic on their values, the vectorised version against the
 * reference to the bit on random views, cut, and with a second signal of one channel or frame for all.
 */
#include "filters/pointwise/add.h"
#include "tests/filters/views.h"

static double value_of(const fc_view *v, const int64_t at[FC_AXES]) {
  fc_scaling s = fc_scaling_of(v->kind, v->dtype);
  return (view_get(v, at) - s.bias) * s.scale;
}

static void run(const fc_add *add, const fc_view *a, const fc_view *b, const fc_view *out,
                uint32_t notes[2]) {
  guarded scratch = guarded_new(fc_add_scratch(add));
  CHECK(fc_add_cpu(add, a, b, out, scratch.data, notes) == FC_OK, "it fails");
  CHECK(guarded_intact(&scratch), "wrote beyond its scratch");
  guarded_free(&scratch);
}

static void run_cut(const fc_add *add, const fc_view *a, const fc_view *b, const fc_view *out,
                    uint32_t notes[2]) {
  int axis = (int)random_int(FC_AXIS_N, FC_AXIS_X);
  for (int64_t from = 0, count; from < out->shape[axis]; from += count) {
    count = random_int(1, out->shape[axis] - from);
    fc_view x = view_cut(a, axis, from, count), y = view_cut(b, axis, from, count),
            z = view_cut(out, axis, from, count);
    run(add, &x, &y, &z, notes);
  }
}

/* In double, where the result holds all of it: the sum is right to rounding. */
static void check_values(const fc_add *add, const fc_view *a, const fc_view *b, const fc_view *out) {
  int64_t at[FC_AXES];
  double eps = add->compute == FC_F64 ? 0x1p-50 : 0x1p-21;
  if (!fc_dtype_is_float(out->dtype)) return;
  FOR_EACH(out, at) {
    double x = value_of(a, at), y = add->factor * value_of(b, at), got = view_get(out, at);
    double size = fabs(x) + fabs(y), bound = size * (out->dtype == FC_F32 && eps < 0x1p-21 ? 0x1p-21 : eps);
    CHECK(fabs(got - (x + y)) <= bound, "%.17g, not %.17g", got, x + y);
  }
}

static void check_trial(void) {
  static const int64_t columns[] = {0, 1, 7, 64, 2047, 2049};
  const int64_t shape[FC_AXES] = {random_int(1, 3), random_int(0, 3), columns[random_int(0, 5)],
                                  random_int(1, 4)};
  int64_t second[FC_AXES];
  memcpy(second, shape, sizeof second);
  if (random_int(0, 1)) second[FC_AXIS_C] = 1;
  if (random_int(0, 1)) second[FC_AXIS_N] = 1;
  int kind = (int)random_int(0, FC_KIND_COUNT - 1), made = (int)random_int(0, FC_DTYPE_COUNT - 1);
  signal a = signal_new(kind, (int)random_int(0, FC_DTYPE_COUNT - 1), shape,
                        (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  signal b = signal_new(kind, (int)random_int(0, FC_DTYPE_COUNT - 1), second,
                        (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  signal want = signal_new(kind, made, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  signal whole = signal_new(kind, made, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  signal cut = signal_new(kind, made, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  signal_fill(&a, 0), signal_fill(&b, 0);
  fc_view spread = b.view;
  for (int axis = 0; axis < FC_AXES; axis++) {
    if (second[axis] != shape[axis]) spread.stride[axis] = 0;
    spread.shape[axis] = shape[axis];
  }
  fc_add add = {random_int(0, 1) ? FC_F64 : FC_F32, random_real() * 2};
  if (add.compute == FC_F32) add.factor = (float)add.factor;
  uint32_t notes[3][2] = {{0, 0}, {0, 0}, {0, 0}};
  fc_add_ref(&add, &a.view, &spread, &want.view, notes[0]);
  check_values(&add, &a.view, &spread, &want.view);
  run(&add, &a.view, &spread, &whole.view, notes[1]);
  run_cut(&add, &a.view, &spread, &cut.view, notes[2]);
  int64_t at[FC_AXES], off = 0;
  FOR_EACH(&want.view, at) {
    off += view_get(&want.view, at) != view_get(&whole.view, at);
    off += view_get(&want.view, at) != view_get(&cut.view, at);
  }
  CHECK(off == 0, "%" PRId64 " elements differ from the reference", off);
  CHECK(memcmp(notes[0], notes[1], sizeof notes[0]) == 0 && memcmp(notes[0], notes[2], sizeof notes[0]) == 0,
        "other notes");
  CHECK(signal_only_written(&whole) && signal_only_written(&cut), "wrote beyond the elements");
  signal_free(&a), signal_free(&b), signal_free(&want), signal_free(&whole), signal_free(&cut);
}

int main(void) {
  random_start(20261125);
  for (int i = 0; i < 600; i++) check_trial();
  return check_result();
}
