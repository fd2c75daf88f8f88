/* SPDX-License-Identifier: MIT */
/*
 * test_winstat.c - sliding statistics against the definition in long double (128-bit
 * integers for integer input), on every instruction set: exact for integers, within the
 * bound of direct summation for floats; the same to the bit however the output is cut,
 * laid out or vectorised; NaN and offset; goldens of SciPy.
 */
#include "tests/filters/winstat_check.h"

/* ---- running ---------------------------------------------------------------- */

static fc_status run_cpu(const fc_winstat *w, const fc_view *in, const fc_view *out, uint32_t *notes) {
  guarded scratch = guarded_new(fc_winstat_cpu_scratch(w, in));
  fc_status status = fc_winstat_cpu(w, in, out, scratch.data, notes);
  CHECK(guarded_intact(&scratch), "the scratch was overrun");
  guarded_free(&scratch);
  return status;
}

/* In pieces cut at random, from a signal that lies at an odd place. */
static void run_cut(const fc_winstat *w, const fc_view *in, const fc_view *out) {
  for (int64_t y = 0, high; y < in->shape[FC_AXIS_Y]; y += high) {
    high = random_int(1, in->shape[FC_AXIS_Y] - y);
    for (int64_t x = 0, wide; x < in->shape[FC_AXIS_X]; x += wide) {
      wide = random_int(1, in->shape[FC_AXIS_X] - x);
      fc_view i = part_of(in, x, y, wide, high), o = part_of(out, x, y, wide, high);
      run_cpu(w, &i, &o, NULL);
    }
  }
}

/* As part of a signal so large that the output is stored past the cache: the same bits. */
static void check_large(const sample_case *t, const fc_winstat *w, const picture *in, const picture *out) {
  picture past = output_for(t, w);
  fc_view from = in->view, to = past.view;
  from.extent[FC_AXIS_Y] = to.extent[FC_AXIS_Y] = INT64_C(1) << 30;
  CHECK(run_cpu(w, &from, &to, NULL) == FC_OK, "%s: cpu", describe(t));
  CHECK(same_bits(out, &past), "%s: %s past the cache", describe(t), fc_isa_name(w->isa));
  CHECK(guarded_intact(&past.memory), "%s: guard bands", describe(t));
  guarded_free(&past.memory);
}

/* Reference and every instruction set against the definition; all cuts and sets alike. */
static void check_stats(const sample_case *t, const int32_t *stats, int n, source_fn source,
                        double parameter) {
  fc_winstat w;
  fc_status status = fc_winstat_init(&w, stats, n, t->columns, t->rows, t->shrink, t->compute);
  CHECK(status == FC_OK, "%s: init", describe(t));
  const int64_t halo[2][2] = {{w.before[0], w.after[0]}, {w.before[1], w.after[1]}};
  picture in = picture_new(t->kind, t->dtype, t->layout, t->shape, halo);
  picture_fill(&in, source, parameter, 0);
  if (t->shrink) picture_fill(&in, source_poison, 0, 1);

  picture first = output_for(t, &w);
  CHECK(fc_winstat_ref(&w, &in.view, &first.view, NULL) == FC_OK, "%s: ref", describe(t));
  check_picture(t, &w, &in, &first, "ref");
  for (int isa = 0; isa <= (int)fc_isa_best(); isa++) {
    picture out = output_for(t, &w), cut = output_for(t, &w);
    w.isa = (fc_isa)isa;
    CHECK(run_cpu(&w, &in.view, &out.view, NULL) == FC_OK, "%s: cpu", describe(t));
    if (isa == 0)
      check_picture(t, &w, &in, &out, "cpu");
    else
      CHECK(same_bits(&out, &first), "%s: %s differs from base", describe(t), fc_isa_name(w.isa));
    run_cut(&w, &in.view, &cut.view);
    CHECK(same_bits(&out, &cut), "%s: %s cut", describe(t), fc_isa_name(w.isa));
    if (!t->shrink) check_large(t, &w, &in, &out);
    CHECK(guarded_intact(&out.memory) && guarded_intact(&cut.memory) && guarded_intact(&in.memory),
          "%s: guard bands", describe(t));
    guarded_free(&cut.memory);
    guarded_free(isa == 0 ? &first.memory : &out.memory);
    if (isa == 0) first = out;
  }
  guarded_free(&first.memory);
  guarded_free(&in.memory);
}

static void check_case(const sample_case *t, source_fn source, double parameter) {
  int32_t stats[FC_WINSTAT_STATS];
  int n = random_stats(stats);
  check_stats(t, stats, n, source, parameter);
}

static void test_random(void) {
  static const int64_t widths[] = {1, 2, 3, 7, 31, 64, 97}, heights[] = {1, 1, 2, 5, 13};
  static const int64_t windows[] = {1, 2, 3, 4, 5, 8, 15, 16, 31, 33}, channels[] = {1, 1, 2, 3, 5};
  for (int i = 0; i < 300; i += trial_step()) {
    sample_case t = {0};
    t.kind = (int)random_int(0, 2);
    t.dtype = (int)random_int(0, FC_DTYPE_COUNT - 1);
    t.out_dtype = (int)random_int(FC_F32, FC_F64);
    t.layout = (int)random_int(0, LAYOUTS - 1), t.out_layout = (int)random_int(0, LAYOUTS - 1);
    t.compute = t.dtype == FC_F64 ? FC_F64 : (int)random_int(FC_F32, FC_F64);
    t.shrink = (int)random_int(0, 1);
    t.shape[FC_AXIS_N] = random_int(1, 2), t.shape[FC_AXIS_Y] = PICK(heights);
    t.shape[FC_AXIS_X] = PICK(widths), t.shape[FC_AXIS_C] = PICK(channels);
    t.columns = i % 3 == 1 ? 1 : PICK(windows), t.rows = i % 3 == 0 ? 1 : PICK(windows);
    check_case(&t, source_random, 0);
  }
}

/* Windows that reach the far pieces, their blocks and phases, and beyond the signal. */
static void test_long(void) {
  static const int64_t windows[] = {63, 64, 65, 127, 128, 129, 191, 192, 200, 256, 320, 383, 511, 1000};
  static const int64_t widths[] = {1, 2, 63, 64, 65, 200, 331, 700}, channels[] = {1, 1, 2, 3};
  for (int i = 0; i < 60; i += trial_step()) {
    sample_case t = {.kind = FC_AUDIO};
    t.dtype = (int)random_int(0, FC_DTYPE_COUNT - 1);
    t.out_dtype = (int)random_int(FC_F32, FC_F64);
    t.compute = t.dtype == FC_F64 ? FC_F64 : (int)random_int(FC_F32, FC_F64);
    t.shrink = (int)random_int(0, 1);
    t.shape[0] = t.shape[1] = t.rows = t.columns = 1;
    t.shape[FC_AXIS_X] = PICK(widths), t.shape[FC_AXIS_C] = PICK(channels);
    t.columns = PICK(windows);
    if (i % 4 == 3) { /* the same across rows */
      t.kind = FC_ARRAY;
      t.rows = t.columns, t.columns = 1;
      t.shape[FC_AXIS_Y] = t.shape[FC_AXIS_X], t.shape[FC_AXIS_X] = 3;
    }
    check_case(&t, source_random, 0);
  }
}

/* Sums alone, which go by tiles in windows of several rows: blocks that are shorter than 16 rows, whole
 * blocks and their totals between, heads of every length, and strips side by side. */
static void test_tiles(void) {
  static const int64_t windows[] = {2, 3, 7, 12, 13, 15, 16, 17, 31, 32, 33, 40, 48, 63, 100, 255};
  static const int64_t widths[] = {1, 5, 16, 17, 40, 67, 130}, heights[] = {1, 2, 15, 16, 17, 33, 50};
  static const int64_t channels[] = {1, 1, 2, 3, 5};
  static const int32_t sums[] = {FC_WINSTAT_MEAN, FC_WINSTAT_RMS, FC_WINSTAT_SUM, FC_WINSTAT_SUMSQ};
  for (int i = 0; i < 120; i += trial_step()) {
    sample_case t = {.kind = (int)random_int(FC_IMAGE, FC_ARRAY)};
    t.dtype = (int)random_int(0, FC_DTYPE_COUNT - 1);
    t.out_dtype = (int)random_int(FC_F32, FC_F64);
    t.layout = (int)random_int(0, LAYOUTS - 1), t.out_layout = (int)random_int(0, LAYOUTS - 1);
    t.compute = t.dtype == FC_F64 ? FC_F64 : (int)random_int(FC_F32, FC_F64);
    t.shrink = random_int(0, 3) == 0;
    t.shape[FC_AXIS_N] = random_int(1, 2), t.shape[FC_AXIS_Y] = PICK(heights);
    t.shape[FC_AXIS_X] = PICK(widths), t.shape[FC_AXIS_C] = PICK(channels);
    t.columns = i % 4 == 1 ? 1 : PICK(windows), t.rows = PICK(windows);
    if (t.rows * t.columns > 2000) t.shape[FC_AXIS_N] = t.shape[FC_AXIS_C] = 1, t.shape[FC_AXIS_X] %= 20;
    if (t.rows * t.columns > 20000) t.shape[FC_AXIS_Y] = random_int(1, 17), t.shape[FC_AXIS_X] %= 7;
    t.shape[FC_AXIS_X] += t.shape[FC_AXIS_X] == 0;
    int32_t stats[] = {sums[i % 4], sums[(i + 1) % 4]};
    check_stats(&t, stats, i % 3 == 2 ? 2 : 1, source_random, 0);
    if (fc_dtype_is_float(t.dtype)) check_stats(&t, stats, 1, source_offset, 1e6);
  }
}

/* A million plus noise: every digit of the noise's spread survives in f32. */
static void test_offset(void) {
  static const int64_t windows[] = {2, 3, 15, 64, 100, 129, 300};
  for (int i = 0; i < 24; i++) {
    sample_case t = {.kind = FC_AUDIO, .dtype = FC_F32, .out_dtype = FC_F32, .compute = FC_F32};
    t.shape[0] = t.shape[1] = t.rows = 1, t.shape[FC_AXIS_C] = 1 + i % 2;
    t.shape[FC_AXIS_X] = 500, t.columns = PICK(windows);
    t.shrink = i % 3 == 2;
    if (i % 3 == 1) t.kind = FC_IMAGE, t.rows = 5, t.shape[FC_AXIS_Y] = 9;
    check_case(&t, source_offset, 1e6);
    check_case(&t, source_offset, -3e7);
  }
}

/* Alike samples, where a running sum in f32 errs the same way each time: thousands of them are
 * off by no more than the longest run of additions, 64 and one for each 64. */
static double source_tenth(int dtype, double parameter) {
  (void)dtype;
  return parameter;
}

static void test_runs(void) {
  for (int down = 0; down < 2; down++) {
    const int64_t w = 12345, shape[FC_AXES] = {1, down ? 70 : 1, down ? 1 : 70, 1};
    int32_t stat = FC_WINSTAT_SUM;
    fc_winstat filter;
    fc_winstat_init(&filter, &stat, 1, down ? 1 : w, down ? w : 1, 0, FC_F32);
    const int64_t halo[2][2] = {{filter.before[0], filter.after[0]}, {filter.before[1], filter.after[1]}};
    picture in = picture_new(FC_ARRAY, FC_F32, PACKED, shape, halo);
    picture out = picture_new(FC_ARRAY, FC_F32, PACKED, shape, no_halo);
    picture_fill(&in, source_tenth, 0.1f, 0);
    run_cpu(&filter, &in.view, &out.view, NULL);
    for (int64_t i = 0; i < 70; i++) {
      double want = (double)w * (double)0.1f, got = ((float *)out.view.data)[i];
      double slack = (64 + 64 + (double)w / 4096 + 8) * FLT_EPSILON / 2 * want;
      CHECK(fabs(got - want) <= slack, "%s %d: %.9g, not %.9g", down ? "down" : "along", (int)i, got, want);
    }
    guarded_free(&in.memory), guarded_free(&out.memory);
  }
}

static void test_extreme(void) {
  for (int i = 0; i < 12; i++) {
    sample_case t = {.kind = i % 3, .dtype = i % 4, .out_dtype = FC_F64, .compute = FC_F32};
    t.shape[0] = t.shape[FC_AXIS_C] = 1;
    t.shape[FC_AXIS_Y] = i % 2 ? 30 : 1, t.shape[FC_AXIS_X] = i % 2 ? 11 : 80;
    t.columns = i % 2 ? 300 : 9000, t.rows = i % 2 ? 250 : 1;
    t.shrink = i % 5 == 4;
    if (t.kind == FC_AUDIO && i % 2) t.kind = FC_ARRAY;
    check_case(&t, source_extreme, 0);
  }
}

/* ---- single properties -------------------------------------------------------- */

/* A NaN or an infinity reaches the windows that it is in and leaves all others as they are. */
static void test_special(void) {
  static const double specials[] = {NAN, INFINITY, -INFINITY};
  static const int64_t windows[] = {1, 2, 5, 16, 100, 150};
  for (int i = 0; i < 36; i++) {
    sample_case t = {.kind = FC_IMAGE, .dtype = i / 2 % 2 ? FC_F64 : FC_F32, .out_dtype = FC_F64};
    const int64_t shape[FC_AXES] = {1, 7, 300, 1};
    int32_t stats[] = {0, 1, 2, 3, 4, 5, 6, 7};
    fc_winstat w;
    /* All of them; and the first two alone, sums, which go another way. */
    const int n_stats = i % 2 ? 8 : 2;
    fc_winstat_init(&w, stats, n_stats, PICK(windows), random_int(1, 4), i % 4 == 3, t.dtype);
    const int64_t halo[2][2] = {{w.before[0], w.after[0]}, {w.before[1], w.after[1]}};
    memcpy(t.shape, shape, sizeof shape);
    picture in = picture_new(t.kind, t.dtype, PACKED, t.shape, halo);
    picture before = output_for(&t, &w), after = output_for(&t, &w);
    picture_fill(&in, source_random, 0, 0);
    run_cpu(&w, &in.view, &before.view, NULL);
    int64_t y = random_int(0, 6), x = random_int(0, 299);
    double special = specials[i % 3];
    element_set(fc_view_at(&in.view, 0, y, x, 0), t.dtype, special);
    run_cpu(&w, &in.view, &after.view, NULL);
    for (int64_t v = 0; v < 7; v++)
      for (int64_t u = 0; u < 300; u++)
        for (int s = 0; s < n_stats; s++) {
          double a = *(double *)fc_view_at(&before.view, 0, v, u, s);
          double b = *(double *)fc_view_at(&after.view, 0, v, u, s), want = a;
          window o = window_at(&w, &in.view, v, u);
          if (x >= o.x0 && x <= o.x1 && y >= o.y0 && y <= o.y1) {
            int squared = s == FC_WINSTAT_SUMSQ || s == FC_WINSTAT_RMS;
            want = squared ? special * special : special;
            if (s == FC_WINSTAT_VAR || s == FC_WINSTAT_STD) want = NAN;
            int loses = (s == FC_WINSTAT_MIN && special > 0) || (s == FC_WINSTAT_MAX && special < 0);
            if (loses) want = o.x0 == o.x1 && o.y0 == o.y1 ? special : b;
          }
          CHECK(isnan(want) ? isnan(b) : b == want, "case %d stat %d at %d,%d: %g not %g", i, s, (int)v,
                (int)u, b, want);
        }
    guarded_free(&in.memory), guarded_free(&before.memory), guarded_free(&after.memory);
  }
}

/* Integers out: rounded half to even once, clamped and noted. */
static void test_integer_output(void) {
  const int64_t shape[FC_AXES] = {1, 1, 4, 1}, halo[2][2] = {{1, 0}, {0, 0}};
  static const uint8_t codes[5] = {0, 1, 2, 3, 255};
  static const int expected_mean[4] = {0, 2, 2, 129}, expected_sum[4] = {1, 3, 5, 255};
  for (int sum = 0; sum < 2; sum++) {
    picture in = picture_new(FC_IMAGE, FC_U8, PACKED, shape, halo),
            out = picture_new(FC_IMAGE, FC_U8, PACKED, shape, no_halo);
    for (int i = 0; i < 5; i++) *(uint8_t *)fc_view_at(&in.view, 0, 0, i - 1, 0) = codes[i];
    fc_winstat w;
    int32_t stat = sum ? FC_WINSTAT_SUM : FC_WINSTAT_MEAN;
    uint32_t notes[2] = {0, 0};
    fc_winstat_init(&w, &stat, 1, 2, 1, 0, FC_F32);
    run_cpu(&w, &in.view, &out.view, notes);
    for (int i = 0; i < 4; i++) {
      int got = *(uint8_t *)fc_view_at(&out.view, 0, 0, i, 0), want = (sum ? expected_sum : expected_mean)[i];
      CHECK(got == want, "sample %d: %d, not %d", i, got, want);
    }
    CHECK(notes[0] == 0 && notes[1] == (uint32_t)sum, "notes %u %u", notes[0], notes[1]);
    guarded_free(&in.memory), guarded_free(&out.memory);
  }
}

static void test_empty(void) {
  for (int a = 0; a < FC_AXES; a++) {
    int64_t shape[FC_AXES] = {1, 3, 4, 2};
    const int64_t halo[2][2] = {{7, 7}, {2, 2}};
    shape[a] = 0;
    fc_winstat w;
    int32_t stats[] = {FC_WINSTAT_MEAN, FC_WINSTAT_VAR};
    fc_winstat_init(&w, stats, 2, 15, 5, a % 2, FC_F32);
    picture in = picture_new(FC_IMAGE, FC_F32, PACKED, shape, halo);
    shape[FC_AXIS_C] *= 2;
    picture out = picture_new(FC_IMAGE, FC_F32, PACKED, shape, no_halo);
    CHECK(run_cpu(&w, &in.view, &out.view, NULL) == FC_OK, "axis %d", a);
    CHECK(fc_winstat_ref(&w, &in.view, &out.view, NULL) == FC_OK, "axis %d", a);
    CHECK(guarded_intact(&out.memory), "axis %d", a);
    guarded_free(&in.memory), guarded_free(&out.memory);
  }
}

static void test_init(void) {
  fc_winstat w;
  int32_t stats[] = {FC_WINSTAT_MEAN, FC_WINSTAT_STATS};
  CHECK(fc_winstat_init(&w, stats, 1, 0, 1, 0, FC_F32) == FC_INVALID, "window 0");
  CHECK(fc_winstat_init(&w, stats, 1, 3, -1, 0, FC_F32) == FC_INVALID, "window -1");
  CHECK(fc_winstat_init(&w, stats, 1, INT64_MAX, INT64_MAX, 0, FC_F32) == FC_INVALID, "too many samples");
  CHECK(fc_winstat_init(&w, stats, 0, 3, 1, 0, FC_F32) == FC_INVALID, "no statistic");
  CHECK(fc_winstat_init(&w, stats, 2, 3, 1, 0, FC_F32) == FC_INVALID, "unknown statistic");
  CHECK(fc_winstat_init(&w, stats, 1, 4, 5, 1, FC_F32) == FC_OK, "4x5");
  CHECK(w.before[0] == 2 && w.after[0] == 1 && w.before[1] == 2 && w.after[1] == 2, "4x5 lies elsewhere");
  fc_winstat_init(&w, stats, 1, 100, 100, 1, FC_F32);
  fc_winstat_clip(&w, 10, FC_UNKNOWN);
  CHECK(w.before[0] == 9 && w.after[0] == 9 && w.before[1] == 50 && w.after[1] == 49, "clipped elsewhere");
  fc_winstat_init(&w, stats, 1, 100, 1, 0, FC_F32);
  fc_winstat_clip(&w, 10, 10);
  CHECK(w.before[0] == 50 && w.after[0] == 49, "only a window that shrinks is clipped");
}

/* Of a single row or column whose border repeats it a folded window says the same as one that sees the
 * border; sums do not, and are left alone. */
static void test_fold(void) {
  static const int borders[] = {FC_BORDER_REPLICATE, FC_BORDER_REFLECT, FC_BORDER_REFLECT101, FC_BORDER_WRAP};
  static const int32_t stats[] = {FC_WINSTAT_MEAN, FC_WINSTAT_RMS, FC_WINSTAT_MIN, FC_WINSTAT_STD,
                                  FC_WINSTAT_SUM};
  for (int i = 0; i < 8; i++) {
    const int64_t shape[FC_AXES] = {1, i < 4 ? 1 : 30, i < 4 ? 30 : 1, 2};
    const int64_t halo[2][2] = {{i < 4 ? 0 : 4, i < 4 ? 0 : 4}, {i < 4 ? 3 : 0, i < 4 ? 2 : 0}};
    fc_winstat w, folded;
    fc_winstat_init(&w, stats, 4, i < 4 ? 1 : 9, i < 4 ? 6 : 1, 0, FC_F32);
    folded = w;
    fc_winstat_fold(&folded, borders[i % 4], shape[FC_AXIS_X], shape[FC_AXIS_Y]);
    CHECK(folded.before[i < 4] == 0 && folded.after[i < 4] == 0, "%d: not folded", i);
    picture in = picture_new(FC_IMAGE, FC_U8, PACKED, shape, halo);
    const int64_t four[FC_AXES] = {1, shape[1], shape[2], 8};
    picture want = picture_new(FC_IMAGE, FC_F64, PACKED, four, no_halo),
            got = picture_new(FC_IMAGE, FC_F64, PACKED, four, no_halo);
    picture_fill(&in, source_random, 0, 0);
    for (int64_t y = -halo[1][0]; y < shape[1] + halo[1][1]; y++)
      for (int64_t x = -halo[0][0]; x < shape[2] + halo[0][1]; x++)
        memcpy(fc_view_at(&in.view, 0, y, x, 0), fc_view_at(&in.view, 0, i < 4 ? 0 : y, i < 4 ? x : 0, 0), 2);
    run_cpu(&w, &in.view, &want.view, NULL), run_cpu(&folded, &in.view, &got.view, NULL);
    CHECK(same_bits(&want, &got), "%d: another result", i);
    guarded_free(&in.memory), guarded_free(&want.memory), guarded_free(&got.memory);
    fc_winstat_init(&w, stats, 5, 9, 9, 0, FC_F32);
    fc_winstat_fold(&w, borders[i % 4], 1, 1);
    CHECK(w.before[0] == 4 && w.before[1] == 4, "a sum is folded");
    fc_winstat_init(&w, stats, 4, 9, 9, 0, FC_F32);
    fc_winstat_fold(&w, i % 2 ? FC_BORDER_ZERO : FC_BORDER_CONSTANT, 1, 1);
    CHECK(w.before[0] == 4 && w.before[1] == 4, "a border that does not repeat is folded");
  }
}

/* A signal whose end is not known yet has none within reach; its start is known. */
static void test_unknown_extent(void) {
  const int64_t shape[FC_AXES] = {1, 1, 40, 1}, halo[2][2] = {{4, 4}, {0, 0}};
  picture in = picture_new(FC_AUDIO, FC_F32, PACKED, shape, halo),
          out = picture_new(FC_AUDIO, FC_F32, PACKED, shape, no_halo);
  fc_winstat w;
  int32_t stat = FC_WINSTAT_SUM;
  fc_winstat_init(&w, &stat, 1, 9, 1, 1, FC_F32);
  for (int i = -4; i < 44; i++) *(float *)fc_view_at(&in.view, 0, 0, i, 0) = i < 0 ? NAN : 1;
  in.view.extent[FC_AXIS_X] = out.view.extent[FC_AXIS_X] = FC_UNKNOWN;
  run_cpu(&w, &in.view, &out.view, NULL);
  for (int i = 0; i < 12; i++) {
    float got = *(float *)fc_view_at(&out.view, 0, 0, i, 0), want = (float)(i < 4 ? 5 + i : 9);
    CHECK(got == want, "%d: %g, not %g", i, (double)got, (double)want);
  }
  guarded_free(&in.memory), guarded_free(&out.memory);
}

/* ---- goldens: see tests/goldens/make_winstat.py ------------------------------- */

#define GOLDEN_MAX 4096

typedef struct golden {
  int rows, columns;         /* of the signal */
  double input[GOLDEN_MAX];  /* replicated into the halo */
  double output[GOLDEN_MAX]; /* of one case */
} golden;

static int read_numbers(FILE *file, double *to, int count) {
  for (int i = 0; i < count; i++)
    if (fscanf(file, "%lf", &to[i]) != 1) return 0;
  return 1;
}

static int64_t clamp(int64_t v, int64_t most) {
  return v < 0 ? 0 : v > most ? most : v;
}

static void check_golden(const golden *g, const char *name, int32_t stat, int columns, int rows, int shrink) {
  const int64_t shape[FC_AXES] = {1, g->rows, g->columns, 1};
  fc_winstat w;
  fc_winstat_init(&w, &stat, 1, columns, rows, shrink, FC_F64);
  const int64_t halo[2][2] = {{w.before[0], w.after[0]}, {w.before[1], w.after[1]}};
  picture in = picture_new(FC_IMAGE, FC_F64, PADDED, shape, halo);
  picture out = picture_new(FC_IMAGE, FC_F64, PLANAR, shape, no_halo);
  for (int64_t y = -halo[1][0]; y < g->rows + halo[1][1]; y++)
    for (int64_t x = -halo[0][0]; x < g->columns + halo[0][1]; x++)
      *(double *)fc_view_at(&in.view, 0, y, x, 0) =
          g->input[clamp(y, g->rows - 1) * g->columns + clamp(x, g->columns - 1)];
  run_cpu(&w, &in.view, &out.view, NULL);
  double apart = 0, size = 0;
  for (int64_t y = 0; y < g->rows; y++)
    for (int64_t x = 0; x < g->columns; x++) {
      double want = g->output[y * g->columns + x], got = *(double *)fc_view_at(&out.view, 0, y, x, 0);
      apart += (got - want) * (got - want), size += want * want;
    }
  CHECK(sqrt(apart) <= 1e-14 * sqrt(size), "%s %dx%d shrink %d: relative error %g", name, columns, rows,
        shrink, sqrt(apart / size));
  guarded_free(&in.memory), guarded_free(&out.memory);
}

static void test_goldens(const char *path) {
  static const char *const names[] = {"sum", "sumsq", "mean", "var", "std", "rms", "min", "max"};
  static golden g;
  char name[16], border[16];
  int columns, rows, cases = 0;
  FILE *file = fopen(path, "r");
  CHECK(file != NULL, "cannot open %s", path);
  if (!file) return;
  CHECK(fscanf(file, "# %*[^\n] input %d %d", &g.rows, &g.columns) == 2 && g.rows * g.columns <= GOLDEN_MAX &&
            read_numbers(file, g.input, g.rows * g.columns),
        "%s has no input", path);
  while (fscanf(file, " case %15s %d %d %15s", name, &columns, &rows, border) == 4 &&
         read_numbers(file, g.output, g.rows * g.columns)) {
    int32_t stat = 0;
    while (stat < FC_WINSTAT_STATS - 1 && strcmp(names[stat], name)) stat++;
    check_golden(&g, name, stat, columns, rows, !strcmp(border, "shrink"));
    cases++;
  }
  CHECK(cases == 80, "%s: %d cases", path, cases);
  fclose(file);
}

int main(int argc, char **argv) {
  CHECK(argc == 2, "usage: test_winstat winstat.txt");
  random_start(20261121);
  test_init();
  test_fold();
  test_empty();
  test_unknown_extent();
  test_integer_output();
  test_special();
  test_offset();
  test_extreme();
  test_runs();
  test_long();
  test_tiles();
  test_random();
  if (argc == 2) test_goldens(argv[1]);
  return check_result();
}
