/* SPDX-License-Identifier: MIT */
/*
 * test_emulated_kernels.c - kernels of resize and median for a GPU, run on the host (emulated_*.cpp): the
 * bits of the CPU's version, on interleaved, planar and padded views that begin anywhere, whole and cut;
 * nothing written beyond the elements, nor read by products beyond a block's shared memory.
 */
#include "filters/local/median.h"
#include "filters/resample/resample.h"
#include "tests/filters/views.h"

static void part(const fc_resample *r, const fc_view *in, const fc_view *out) {
  guarded scratch = guarded_new(fc_resample_cuda_scratch(r, in, out) + 256);
  char *at = (char *)scratch.data + (256 - (uintptr_t)scratch.data % 256) % 256;
  CHECK(fc_resample_cuda(r, in, out, at, NULL) == FC_OK, "refused");
  CHECK(guarded_intact(&scratch), "wrote beyond its scratch");
  guarded_free(&scratch);
}

/* A view around a corner, or all. */
static fc_view corner_of(const fc_view *v, int all) {
  const int64_t *shape = v->shape, y = all ? 0 : random_int(0, shape[1] - 1),
                x = all ? 0 : random_int(0, shape[2] - 1);
  const fc_view cut = view_cut(v, FC_AXIS_Y, y, all ? shape[1] : random_int(1, shape[1] - y));
  return view_cut(&cut, FC_AXIS_X, x, all ? shape[2] : random_int(1, shape[2] - x));
}

static void check_one(int i) {
  const int64_t channels = random_int(1, 4), frames = random_int(1, 2);
  const double scale =
      i % 3 ? (double)random_int(10, i % 10 == 7 ? 240 : 60) / 10 : 1 / (1 + (double)random_int(0, 30) / 10);
  const int64_t to[FC_AXES] = {frames, random_int(1, 40), random_int(1, i % 5 ? 60 : 250), channels};
  int64_t from[FC_AXES] = {frames, (int64_t)((double)to[1] * scale) + random_int(0, 1) + 1,
                           (int64_t)((double)to[2] * scale * (double)random_int(5, 15) / 10) + 1, channels};
  if (i % 4 < 2) from[FC_AXIS_X] = (from[FC_AXIS_X] + 15) / 16 * 16; /* rows at multiples of 16 bytes */
  static const int dtypes[] = {FC_U8, FC_U8, FC_U8, FC_F32, FC_U16};
  const int dtype = dtypes[random_int(0, 4)];
  fc_resample r = {.filter = (int)random_int(i % 2, FC_RESAMPLE_AREA),
                   .antialias = (int)random_int(0, 2) > 0,
                   .compute = FC_F32,
                   .isa = fc_isa_best()};
  r.alpha = (channels == 2 || channels == 4) && r.filter != FC_RESAMPLE_NEAREST && random_int(0, 2) == 0;
  signal in = signal_new(FC_IMAGE, dtype, from, (int)random_int(0, LAYOUT_PADDED), FC_AXIS_X, 0, 0);
  signal want = signal_new(FC_IMAGE, dtype, to, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  signal got = signal_new(FC_IMAGE, dtype, to, (int)random_int(0, LAYOUT_PADDED), FC_AXIS_X, 0, 0);
  signal_fill(&in, 0);
  guarded scratch = guarded_new(fc_resample_scratch(&r, &in.view, &want.view));
  fc_resample_cpu(&r, &in.view, &want.view, scratch.data);
  guarded_free(&scratch);
  fc_view cut = corner_of(&got.view, i % 2);
  part(&r, &in.view, &cut);
  int64_t at[FC_AXES], off = 0;
  const int64_t y = cut.origin[FC_AXIS_Y], x = cut.origin[FC_AXIS_X];
  FOR_EACH(&cut, at)
  off += memcmp(fc_view_at(&cut, at[0], at[1], at[2], at[3]),
                fc_view_at(&want.view, at[0], y + at[1], x + at[2], at[3]), fc_dtype_size(dtype)) != 0;
  CHECK(off == 0,
        "%d: type %d, filter %d, antialias %d, alpha %d, %" PRId64 " x %" PRId64 " x %" PRId64 " to %" PRId64
        " x %" PRId64 ": %" PRId64 " elements differ from the CPU's",
        i, dtype, r.filter, r.antialias, r.alpha, from[2], from[1], channels, to[2], to[1], off);
  got.view.data = cut.data;
  memcpy(got.view.shape, cut.shape, sizeof cut.shape);
  CHECK(signal_only_written(&got), "%d: wrote beyond the elements", i);
  signal_free(&in), signal_free(&want), signal_free(&got);
}

/* Windows of many columns, of which the last strip of a row has few: products read behind the rows. */
static void check_wide(void) {
  static const struct {
    int filter;
    int64_t from_x, from_y, channels, to_x, to_y;
  } rows[] = {{FC_RESAMPLE_BICUBIC, 870, 480, 1, 19, 160}, {FC_RESAMPLE_LANCZOS3, 620, 480, 1, 20, 160},
              {FC_RESAMPLE_BICUBIC, 288, 480, 3, 7, 160},  {FC_RESAMPLE_BICUBIC, 500, 500, 3, 20, 100},
              {FC_RESAMPLE_LANCZOS3, 200, 300, 4, 12, 75}, {FC_RESAMPLE_BILINEAR, 870, 480, 1, 19, 40}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const int64_t from[FC_AXES] = {1, rows[i].from_y, rows[i].from_x, rows[i].channels},
                  to[FC_AXES] = {1, rows[i].to_y, rows[i].to_x, rows[i].channels};
    const fc_resample r = {.filter = rows[i].filter, .antialias = 1, .compute = FC_F32, .isa = fc_isa_best()};
    signal in = signal_new(FC_IMAGE, FC_U8, from, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0),
           out = signal_new(FC_IMAGE, FC_U8, to, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
    signal_fill(&in, 0);
    part(&r, &in.view, &out.view);
    signal_free(&in), signal_free(&out);
  }
}

/* Few values, so that many are equal, or many. */
static void check_median(int i) {
  static const int dtypes[] = {FC_U8, FC_U8, FC_I16, FC_U16, FC_F32, FC_I32};
  const int64_t side = random_int(1, 2),
                shape[FC_AXES] = {random_int(1, 2), random_int(1, 40), random_int(1, 40), random_int(1, 4)};
  const int64_t full[FC_AXES] = {shape[0], shape[1] + 2 * side, shape[2] + 2 * side, shape[3]};
  const int dtype = dtypes[i % 6];
  const fc_median m = {.nx = 2 * side + 1, .ny = 2 * side + 1, .isa = fc_isa_best()};
  signal in = signal_new(FC_IMAGE, dtype, full, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  signal want = signal_new(FC_IMAGE, dtype, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0),
         got = signal_new(FC_IMAGE, dtype, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  signal_fill(&in, i % 2 ? 3 : 0);
  fc_view inner = view_cut(&in.view, FC_AXIS_Y, side, shape[1]);
  inner = view_cut(&inner, FC_AXIS_X, side, shape[2]);
  guarded scratch = guarded_new(fc_median_scratch(&m, &want.view));
  CHECK(fc_median_ref(&m, &inner, &want.view, scratch.data) == FC_OK, "median: the reference fails");
  guarded_free(&scratch);
  CHECK(fc_median_cuda(&m, &inner, &got.view, NULL) == FC_OK, "median: refused");
  int64_t at[FC_AXES], off = 0;
  FOR_EACH(&want.view, at)
  off += memcmp(fc_view_at(&want.view, at[0], at[1], at[2], at[3]),
                fc_view_at(&got.view, at[0], at[1], at[2], at[3]), fc_dtype_size(dtype)) != 0;
  CHECK(off == 0, "%d: median of type %d, %d wide: %" PRId64 " elements differ", i, dtype, (int)m.nx, off);
  CHECK(signal_only_written(&got), "%d: median wrote beyond the elements", i);
  signal_free(&in), signal_free(&want), signal_free(&got);
}

int main(void) {
  random_start(20261128);
  for (int i = 0; i < 60; i += trial_step()) check_median(i);
  for (int i = 0; i < 150; i += trial_step()) check_one(i);
  check_wide();
  return check_result();
}
