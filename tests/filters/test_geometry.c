/* SPDX-License-Identifier: MIT */
/*
 * test_geometry.c - axes exchanged and reversed, and signals put into larger ones: every element where the
 * definition has it, on views of all types, layouts and sizes, whole and cut.
 */
#include "filters/geometry/permute.h"
#include "filters/geometry/place.h"
#include "tests/filters/geometry.h"

static void check_same(const signal *want, const signal *got, const char *what) {
  int64_t at[FC_AXES], off = 0;
  FOR_EACH(&want->view, at)
  off += memcmp(fc_view_at(&want->view, at[0], at[1], at[2], at[3]),
                fc_view_at(&got->view, at[0], at[1], at[2], at[3]), fc_dtype_size(want->view.dtype)) != 0;
  CHECK(off == 0, "%s: %" PRId64 " elements are others", what, off);
  CHECK(signal_only_written((signal *)(uintptr_t)got), "%s: wrote beyond the elements", what);
}

/* The definition in other words: where each element of the input goes. */
static void scatter(const fc_permute *p, const fc_view *in, const fc_view *out) {
  int64_t from[FC_AXES], to[FC_AXES];
  FOR_EACH(in, from) {
    for (int a = 0; a < FC_AXES; a++)
      to[a] = p->reversed[a] ? out->shape[a] - 1 - from[p->axis[a]] : from[p->axis[a]];
    view_set(out, to, view_get(in, from));
  }
}

static void check_permute(void) {
  permute_trial t = permute_trial_new();
  signal got = signal_new(FC_ARRAY, t.in.view.dtype, t.out.view.shape, (int)random_int(0, LAYOUT_COUNT - 1),
                          FC_AXIS_X, 0, 0);
  signal cut = signal_new(FC_ARRAY, t.in.view.dtype, t.out.view.shape, (int)random_int(0, LAYOUT_COUNT - 1),
                          FC_AXIS_X, 0, 0);
  scatter(&t.permute, &t.in.view, &t.out.view);
  fc_permute_ref(&t.permute, &t.in.view, &got.view);
  check_same(&t.out, &got, "the reference of permute");
  memset(got.memory.data, GUARD_PATTERN, got.memory.bytes);
  fc_permute_cpu(&t.permute, &t.in.view, &got.view);
  check_same(&t.out, &got, "permute");
  const int64_t rows = t.out.view.shape[FC_AXIS_Y];
  for (int64_t y = 0, count; y < rows; y += count) {
    count = random_int(1, rows - y);
    fc_view band = view_cut(&cut.view, FC_AXIS_Y, y, count);
    fc_view in =
        fc_permute_moves(&t.permute, FC_AXIS_Y) ? t.in.view : view_cut(&t.in.view, FC_AXIS_Y, y, count);
    fc_permute_cpu(&t.permute, &in, &band);
  }
  check_same(&t.out, &cut, "permute, cut");
  signal_free(&got), signal_free(&cut), permute_trial_free(&t);
}

static void fill_definition(const fc_place *p, const fc_view *in, const fc_view *out) {
  int64_t at[FC_AXES];
  FOR_EACH(out, at) view_set(out, at, (double)p->codes[p->n_codes > 1 ? at[FC_AXIS_C] : 0]);
  FOR_EACH(in, at) {
    const int64_t to[FC_AXES] = {at[0], at[1] + p->down, at[2] + p->right, at[3]};
    view_set(out, to, view_get(in, at));
  }
}

static void check_place(void) {
  place_trial t = place_trial_new();
  const int lay = (int)random_int(0, LAYOUT_COUNT - 1), axis = (int)random_int(FC_AXIS_Y, FC_AXIS_X);
  signal got = signal_new(FC_IMAGE, t.in.view.dtype, t.out.view.shape, lay, FC_AXIS_X, 0, 0);
  signal cut = signal_new(FC_IMAGE, t.in.view.dtype, t.out.view.shape, lay, FC_AXIS_X, 0, 0);
  fill_definition(&t.place, &t.in.view, &t.out.view);
  fc_place_ref(&t.place, &t.in.view, &got.view);
  check_same(&t.out, &got, "the reference of place");
  memset(got.memory.data, GUARD_PATTERN, got.memory.bytes);
  fc_place_cpu(&t.place, &t.in.view, &got.view);
  check_same(&t.out, &got, "place");
  const int64_t all = t.out.view.shape[axis];
  for (int64_t i = 0, count; i < all; i += count) {
    count = random_int(1, all - i);
    /* The view of the input begins where the output does, be there an element or not. */
    fc_view part = view_cut(&cut.view, axis, i, count), in = view_cut(&t.in.view, axis, i, count);
    fc_place_cpu(&t.place, &in, &part);
  }
  check_same(&t.out, &cut, "place, cut");
  signal_free(&got), signal_free(&cut), place_trial_free(&t);
}

/* Quarter turns and mirrors of pixels of three bytes, which are made columns by blocks: sizes around those.
 */
static void check_turned(void) {
  static const int64_t sizes[][2] = {{1, 1},  {5, 16},  {6, 17},   {16, 6},
                                     {33, 7}, {64, 64}, {70, 130}, {131, 67}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int turns = 0; turns < 8; turns++) {
      const int64_t shape[FC_AXES] = {1, sizes[i][0], sizes[i][1], 3},
                    turned[FC_AXES] = {1, sizes[i][1], sizes[i][0], 3};
      fc_permute p = FC_PERMUTE_NONE;
      signal in = signal_new(FC_IMAGE, FC_U8, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
      signal want = signal_new(FC_IMAGE, FC_U8, turned, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
      signal got = signal_new(FC_IMAGE, FC_U8, turned, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
      p.axis[1] = 2, p.axis[2] = 1;
      for (int a = 0; a < 3; a++) p.reversed[a + 1] = turns >> a & 1;
      signal_fill(&in, 0);
      fc_permute_ref(&p, &in.view, &want.view);
      fc_permute_cpu(&p, &in.view, &got.view);
      check_same(&want, &got, "pixels turned");
      signal_free(&in), signal_free(&want), signal_free(&got);
    }
}

int main(void) {
  random_start(20261124);
  check_turned();
  for (int i = 0; i < 400; i += trial_step()) check_permute();
  for (int i = 0; i < 400; i += trial_step()) check_place();
  return check_result();
}
