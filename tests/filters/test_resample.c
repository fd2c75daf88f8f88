/* SPDX-License-Identifier: MIT */
/*
 * test_resample.c - sizes against Pillow's and OpenCV's; on random views of every type, layout and size each
 * instruction set against the reference, whole and cut, to the bit; and what is true of any size: constants
 * stay, windows lie within the reach that is told, weights add up to 1.
 */
#include "filters/resample/resample.h"
#include "filters/resample/resample_math.h"
#include "tests/filters/golden.h"
#include "tests/filters/views.h"

static void run(const fc_resample *r, const fc_view *in, const fc_view *out) {
  guarded scratch = guarded_new(fc_resample_scratch(r, in, out));
  CHECK(fc_resample_cpu(r, in, out, scratch.data) == FC_OK, "it fails");
  CHECK(guarded_intact(&scratch), "wrote beyond its scratch");
  guarded_free(&scratch);
}

static void run_reference(const fc_resample *r, const fc_view *in, const fc_view *out) {
  guarded scratch = guarded_new(fc_resample_scratch(r, in, out));
  CHECK(fc_resample_ref(r, in, out, scratch.data) == FC_OK, "the reference fails");
  CHECK(guarded_intact(&scratch), "wrote beyond its scratch");
  guarded_free(&scratch);
}

/* ---- goldens -------------------------------------------------------------------- */

static void check_golden(const char *path, int k) {
  char name[32];
  snprintf(name, sizeof name, "case_%d", k);
  golden how = golden_read(path, name);
  snprintf(name, sizeof name, "image_%d", (int)how.values[0]);
  golden image = golden_read(path, name);
  snprintf(name, sizeof name, "result_%d", k);
  golden want = golden_read(path, name);
  const int dtype = how.values[7] != 0 ? FC_F32 : FC_U8;
  const int64_t from[FC_AXES] = {1, (int64_t)image.values[0], (int64_t)image.values[1],
                                 (int64_t)image.values[2]};
  const int64_t to[FC_AXES] = {1, (int64_t)how.values[5], (int64_t)how.values[4], from[FC_AXIS_C]};
  signal in = signal_new(FC_IMAGE, dtype, from, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  int64_t at[FC_AXES], i = 3;
  FOR_EACH(&in.view, at) view_set(&in.view, at, image.values[i++]);
  for (int version = 0; version < 2; version++) {
    signal out = signal_new(FC_IMAGE, dtype, to, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
    fc_resample r = {.filter = (int)how.values[1],
                     .antialias = (int)how.values[2],
                     .compute = FC_F32,
                     .alpha = (int)how.values[3],
                     .isa = fc_isa_best()};
    if (version)
      run(&r, &in.view, &out.view);
    else
      run_reference(&r, &in.view, &out.view);
    double most = 0;
    i = 0;
    FOR_EACH(&out.view, at) most = fmax(most, fabs(view_get(&out.view, at) - want.values[i++]));
    CHECK(i == want.count, "case %d: %" PRId64 " values", k, i);
    CHECK(most <= how.values[6], "case %d (filter %g, antialias %g, %g x %g): off by %g", k, how.values[1],
          how.values[2], how.values[4], how.values[5], most);
    signal_free(&out);
  }
  signal_free(&in);
  golden_free(&how), golden_free(&image), golden_free(&want);
}

/* ---- any size --------------------------------------------------------------------- */

static fc_resample random_resample(int compute) {
  return (fc_resample){.filter = (int)random_int(0, FC_RESAMPLE_AREA),
                       .antialias = (int)random_int(0, 1),
                       .compute = compute,
                       .isa = fc_isa_best()};
}

/* Windows grow with the output, lie within the reach, and weights add up. */
static void check_windows(void) {
  static int16_t weights[4096];
  static double values[4096];
  const int64_t in = random_int(1, 1000), out = random_int(1, 1000);
  const fc_resample r = random_resample(FC_F64);
  const fc_resample_axis a = fc_resample_axis_of(&r, in, out);
  const int64_t halo = fc_resample_halo(&r, in, out);
  int64_t before = 0, end_before = 0;
  for (int64_t o = 0; o < out; o++) {
    int64_t first, sum = 0, most = 0;
    const int64_t taps = fc_resample_window(&a, o, &first);
    fc_resample_values(&a, o, first, taps, values);
    fc_resample_codes(values, taps, weights, a.most);
    CHECK(taps >= 1 && taps <= a.most && first >= 0 && first + taps <= in,
          "filter %d, %" PRId64 " to %" PRId64 ": %" PRId64 " taps from %" PRId64 " at %" PRId64, r.filter,
          in, out, taps, first, o);
    CHECK(first >= before && first + taps >= end_before, "windows go back at %" PRId64, o);
    CHECK(first >= o * in / out - halo && first + taps <= ((o + 1) * in + out - 1) / out + halo,
          "filter %d, %" PRId64 " to %" PRId64 ": the window of %" PRId64 " is beyond its reach", r.filter,
          in, out, o);
    for (int64_t i = 0; i < taps; i++) sum += weights[i], most += abs(weights[i]);
    CHECK(sum == 1 << FC_RESAMPLE_WEIGHT_BITS, "weights of %" PRId64 " add up to %" PRId64, o, sum);
    CHECK(most < 4 << FC_RESAMPLE_WEIGHT_BITS, "weights of %" PRId64 " are too large", o);
    before = first, end_before = first + taps;
  }
}

/* A part of the output on both axes, from the whole input. */
static fc_view part_of(const fc_view *v, int axis, int64_t from, int64_t count) {
  return view_cut(v, axis, from, count);
}

static void run_cut(const fc_resample *r, const fc_view *in, const fc_view *out) {
  for (int64_t y = 0, rows; y < out->shape[FC_AXIS_Y]; y += rows) {
    rows = random_int(1, out->shape[FC_AXIS_Y] - y);
    fc_view band = part_of(out, FC_AXIS_Y, y, rows);
    for (int64_t x = 0, columns; x < out->shape[FC_AXIS_X]; x += columns) {
      columns = random_int(1, out->shape[FC_AXIS_X] - x);
      fc_view part = part_of(&band, FC_AXIS_X, x, columns);
      run(r, in, &part);
    }
  }
}

static void check_same(const signal *want, const signal *got, const char *what, const fc_resample *r) {
  int64_t at[FC_AXES], off = 0;
  FOR_EACH(&want->view, at)
  off += memcmp(fc_view_at(&want->view, at[0], at[1], at[2], at[3]),
                fc_view_at(&got->view, at[0], at[1], at[2], at[3]), fc_dtype_size(want->view.dtype)) != 0;
  CHECK(off == 0, "%s, %s, filter %d: %" PRId64 " elements differ from the reference", what,
        fc_isa_name(r->isa), r->filter, off);
  CHECK(signal_only_written((signal *)(uintptr_t)got), "%s: wrote beyond the elements", what);
}

static void check_trial(int i) {
  static const int64_t sides[] = {1, 2, 3, 8, 16, 33, 64, 130, 300};
  const int dtype = (int)random_int(0, FC_DTYPE_COUNT - 1);
  const int64_t channels = random_int(1, 5);
  const int64_t from[FC_AXES] = {random_int(1, 2), sides[random_int(0, 7)], sides[random_int(0, 8)],
                                 channels};
  int64_t to[FC_AXES] = {from[0], random_int(0, 80), random_int(0, 150), channels};
  for (int a = FC_AXIS_Y; a <= FC_AXIS_X && i % 3 == 0; a++)
    to[a] = (from[a] + 1) / 2; /* weights of few bits */
  const int out_layout = (int)random_int(0, LAYOUT_COUNT - 1);
  fc_resample r = random_resample(random_int(0, 1) ? FC_F64 : FC_F32);
  r.alpha = (channels == 2 || channels == 4) && r.filter != FC_RESAMPLE_NEAREST && random_int(0, 2) == 0;
  signal in = signal_new(FC_IMAGE, dtype, from, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  signal want = signal_new(FC_IMAGE, dtype, to, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  signal_fill(&in, 0);
  run_reference(&r, &in.view, &want.view);
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++) {
    r.isa = (fc_isa)isa;
    signal whole = signal_new(FC_IMAGE, dtype, to, out_layout, FC_AXIS_X, 0, 0);
    signal cut = signal_new(FC_IMAGE, dtype, to, out_layout, FC_AXIS_X, 0, 0);
    run(&r, &in.view, &whole.view);
    run_cut(&r, &in.view, &cut.view);
    check_same(&want, &whole, "whole", &r), check_same(&want, &cut, "cut", &r);
    signal_free(&whole), signal_free(&cut);
  }
  signal_free(&in), signal_free(&want);
}

/* Interleaved bytes halved in one pass, and by nearest in copies wider than a pixel: what goes a vector at a
 * time ends anywhere in a row and in the last one. */
static void check_bytes(int64_t channels, int64_t width, int filter) {
  const int64_t scale = filter == FC_RESAMPLE_NEAREST ? 3 : 2;
  const int64_t from[FC_AXES] = {1, 3 * scale, width * scale, channels},
                to[FC_AXES] = {1, 3, width, channels};
  fc_resample r = {.filter = filter, .compute = FC_F32, .isa = FC_ISA_BASE};
  signal in = signal_new(FC_IMAGE, FC_U8, from, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  signal want = signal_new(FC_IMAGE, FC_U8, to, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  signal_fill(&in, 0);
  run_reference(&r, &in.view, &want.view);
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++) {
    r.isa = (fc_isa)isa;
    signal got = signal_new(FC_IMAGE, FC_U8, to, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
    run(&r, &in.view, &got.view);
    check_same(&want, &got, "bytes", &r);
    signal_free(&got);
  }
  signal_free(&in), signal_free(&want);
}

/* A colour stays what it is, beside transparent pixels of another. */
static void check_constant(void) {
  const int64_t from[FC_AXES] = {1, random_int(1, 40), random_int(1, 40), 4};
  const int64_t to[FC_AXES] = {1, random_int(1, 60), random_int(1, 60), 4};
  fc_resample r = random_resample(FC_F32);
  r.alpha = 1;
  if (r.filter != FC_RESAMPLE_BILINEAR) r.filter = FC_RESAMPLE_AREA; /* no lobes, so no more than 255 */
  const double colour[3] = {(double)random_int(0, 255), (double)random_int(0, 255), 255};
  signal in = signal_new(FC_IMAGE, FC_U8, from, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  signal out = signal_new(FC_IMAGE, FC_U8, to, LAYOUT_PLANAR, FC_AXIS_X, 0, 0);
  int64_t at[FC_AXES], off = 0;
  signal_fill(&in, 0);
  FOR_EACH(&in.view, at) {
    const int64_t alpha_at[FC_AXES] = {at[0], at[1], at[2], 3};
    if (at[3] == 3) view_set(&in.view, at, (at[1] + at[2]) % 3 ? 0 : 200);
    if (at[3] < 3 && (at[1] + at[2]) % 3 == 0) view_set(&in.view, at, colour[at[3]]);
    (void)alpha_at;
  }
  run(&r, &in.view, &out.view);
  FOR_EACH(&out.view, at) {
    const int64_t alpha_at[FC_AXES] = {at[0], at[1], at[2], 3};
    if (at[3] < 3 && view_get(&out.view, alpha_at) > 0) off += view_get(&out.view, at) != colour[at[3]];
  }
  CHECK(off == 0, "%" PRId64 " samples are another colour", off);
  signal_free(&in), signal_free(&out);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  golden cases = golden_read(argv[1], "cases");
  for (int k = 0; k < (int)cases.values[0]; k++) check_golden(argv[1], k);
  golden_free(&cases);
  random_start(20261123);
  for (int i = 0; i < 400; i++) check_windows();
  for (int i = 0; i < 225; i += trial_step()) check_trial(i);
  for (int64_t channels = 1; channels <= 5; channels++)
    for (int64_t width = 1; width <= 70; width += trial_step())
      check_bytes(channels, width, FC_RESAMPLE_NEAREST), check_bytes(channels, width, FC_RESAMPLE_BILINEAR);
  for (int i = 0; i < 30; i++) check_constant();
  return check_result();
}
