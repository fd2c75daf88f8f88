/* SPDX-License-Identifier: MIT */
/*
 * test_median.c - the median of windows on random views of every type: every instruction set against the
 * reference, bit for bit, whole and cut.
 */
#include "filters/local/median.h"
#include "tests/filters/views.h"

static void run(const fc_median *m, const fc_view *in, const fc_view *out, int reference) {
  guarded scratch = guarded_new(fc_median_scratch(m, out));
  const fc_status status =
      reference ? fc_median_ref(m, in, out, scratch.data) : fc_median_cpu(m, in, out, scratch.data);
  CHECK(status == FC_OK, "status %d", (int)status);
  CHECK(guarded_intact(&scratch), "wrote beyond its scratch");
  guarded_free(&scratch);
}

static int64_t differences(const fc_view *a, const fc_view *b) {
  int64_t at[FC_AXES], count = 0;
  FOR_EACH(a, at) {
    const double x = view_get(a, at), y = view_get(b, at);
    count += x != y && !(isnan(x) && isnan(y));
  }
  return count;
}

/* Only X has a halo in these views (views.h), so windows of one row; those of more are in the harness and the
 * goldens. */
static void check_trial(void) {
  static const int64_t widths[] = {0, 1, 2, 31, 64, 65, 300};
  const int64_t shape[FC_AXES] = {random_int(1, 2), random_int(0, 3), widths[random_int(0, 6)],
                                  random_int(1, 4)};
  const int dtype = (int)random_int(0, FC_DTYPE_COUNT - 1), in_layout = (int)random_int(0, LAYOUT_COUNT - 1);
  fc_median m = {.nx = 2 * random_int(0, 9) + 1, .ny = 1};
  signal in = signal_new(FC_IMAGE, dtype, shape, in_layout, FC_AXIS_X, m.nx / 2, m.nx / 2);
  signal want = signal_new(FC_IMAGE, dtype, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  signal_fill(&in, 0);
  run(&m, &in.view, &want.view, 1);
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++) {
    signal got = signal_new(FC_IMAGE, dtype, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
    const int64_t at = random_int(0, shape[FC_AXIS_X]);
    m.isa = (fc_isa)isa;
    fc_view in_a = view_cut(&in.view, FC_AXIS_X, 0, at), out_a = view_cut(&got.view, FC_AXIS_X, 0, at);
    fc_view in_b = view_cut(&in.view, FC_AXIS_X, at, shape[FC_AXIS_X] - at);
    fc_view out_b = view_cut(&got.view, FC_AXIS_X, at, shape[FC_AXIS_X] - at);
    run(&m, &in_a, &out_a, 0);
    run(&m, &in_b, &out_b, 0);
    CHECK(differences(&want.view, &got.view) == 0, "%s: %s, window %d differs from the reference",
          fc_isa_name(m.isa), fc_dtype_name(dtype), (int)m.nx);
    CHECK(signal_only_written(&got), "wrote beyond the elements");
    signal_free(&got);
  }
  signal_free(&in);
  signal_free(&want);
}

/* Windows of several rows of a plane with a frame around it, by every instruction set. */
static void check_window(int dtype, int side, int64_t width, int64_t channels) {
  enum { HEIGHT = 9 };
  const int64_t shape[FC_AXES] = {1, HEIGHT + 6, width + 6, channels},
                small[FC_AXES] = {1, HEIGHT, width, channels};
  signal in = signal_new(FC_IMAGE, dtype, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  signal want = signal_new(FC_IMAGE, dtype, small, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  signal_fill(&in, 0);
  fc_view inner = view_cut(&in.view, FC_AXIS_Y, 3, HEIGHT);
  inner = view_cut(&inner, FC_AXIS_X, 3, width);
  fc_median m = {.nx = side, .ny = side};
  run(&m, &inner, &want.view, 1);
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++) {
    signal got = signal_new(FC_IMAGE, dtype, small, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
    m.isa = (fc_isa)isa;
    run(&m, &inner, &got.view, 0);
    CHECK(differences(&want.view, &got.view) == 0,
          "%s: %s, %d x %d of %d x %d channels differs from the reference", fc_isa_name(m.isa),
          fc_dtype_name(dtype), side, side, (int)width, (int)channels);
    CHECK(signal_only_written(&got), "wrote beyond the elements");
    signal_free(&got);
  }
  signal_free(&in);
  signal_free(&want);
}

/* Lines of several blocks, with a rest shorter than a vector; and channels further apart than blocks have
 * room for. */
static void check_networks(void) {
  static const int64_t sizes[][2] = {{150, 1}, {4097, 1}, {1400, 3}, {4159, 1}, {70, 40}, {270, 32}};
  for (int dtype = 0; dtype < FC_DTYPE_COUNT; dtype++)
    for (int side = 1; side <= 7; side += 2)
      for (size_t i = 0; i < (side == 3 ? 6 : 1); i++) check_window(dtype, side, sizes[i][0], sizes[i][1]);
}

int main(void) {
  random_start(20261125);
  check_networks();
  for (int i = 0; i < 300; i++) check_trial();
  return check_result();
}
