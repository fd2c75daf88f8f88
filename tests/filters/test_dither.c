/* SPDX-License-Identifier: MIT */
/*
 * test_dither.c - the noise of dither: its moments, range and distribution, its independence from
 * neighbour to neighbour along every axis and across them, what it does to the rounding of a soft tone; and
 * every instruction set against the reference to the bit, on random views, cut and in place.
 */
#include "filters/pointwise/dither.h"
#include "filters/pointwise/dither_kernels.h"
#include "tests/filters/views.h"

#define ROWS     64
#define COLUMNS  8192
#define CHANNELS 2
#define TOTAL    (ROWS * COLUMNS * CHANNELS)

static void run(fc_dither d, const fc_view *in, const fc_view *out, uint32_t notes[2]) {
  guarded scratch = guarded_new(fc_dither_cpu_scratch(&d));
  fc_dither_cpu(&d, in, out, scratch.data, notes);
  CHECK(guarded_intact(&scratch), "wrote beyond its scratch");
  guarded_free(&scratch);
}

/* ---- statistics ---------------------------------------------------------------- */

/* The noise alone, of step 1: what becomes of zeros. */
static double (*noise_new(uint64_t seed, int64_t n))[COLUMNS][CHANNELS] {
  const int64_t shape[FC_AXES] = {1, ROWS, COLUMNS, CHANNELS};
  double(*noise)[COLUMNS][CHANNELS] = calloc(ROWS, sizeof *noise);
  if (!noise) abort();
  fc_view v = {.size = sizeof v, .dtype = FC_F64, .kind = FC_IMAGE, .device = FC_HOST, .data = noise};
  memcpy(v.shape, shape, sizeof shape);
  memcpy(v.extent, shape, sizeof shape);
  v.origin[FC_AXIS_N] = n;
  v.stride[3] = 8, v.stride[2] = 8 * CHANNELS, v.stride[1] = v.stride[0] = 8 * CHANNELS * COLUMNS;
  run((fc_dither){FC_F64, fc_isa_best(), seed, 1}, &v, &v, NULL);
  return noise;
}

/* Five standard errors of each: one seed in a million would fail, and seeds are fixed. */
static void check_moments(const double *u, const char *who) {
  double mean = 0, square = 0, cube = 0, largest = 0;
  for (int i = 0; i < TOTAL; i++) {
    mean += u[i] / TOTAL, square += u[i] * u[i] / TOTAL, cube += u[i] * u[i] * u[i] / TOTAL;
    largest = fmax(largest, fabs(u[i]));
  }
  CHECK(fabs(mean) < 5 * sqrt(1.0 / 6 / TOTAL), "%s: a mean of %g", who, mean);
  /* E u^4 = 1/15, E u^6 = 1/28. */
  CHECK(fabs(square - 1.0 / 6) < 5 * sqrt((1.0 / 15 - 1.0 / 36) / TOTAL), "%s: variance %g", who, square);
  CHECK(fabs(cube) < 5 * sqrt(1.0 / 28 / TOTAL), "%s: skewed by %g", who, cube);
  CHECK(largest < 1 && largest > 0.995, "%s: noise up to %g", who, largest);
}

/* Probability of less than x: the integral of the triangle. */
static double triangle_below(double x) {
  return x < 0 ? (1 + x) * (1 + x) / 2 : 1 - (1 - x) * (1 - x) / 2;
}

/* Chi-square over 64 equal parts of the range: 63 degrees of freedom, 63 +- 11.2. */
static void check_distribution(const double *u, const char *who) {
  enum { BINS = 64 };
  int64_t counts[BINS] = {0};
  double chi = 0;
  for (int i = 0; i < TOTAL; i++) counts[(int)floor((u[i] + 1) / 2 * BINS)]++;
  for (int b = 0; b < BINS; b++) {
    double low = 2.0 * b / BINS - 1, high = 2.0 * (b + 1) / BINS - 1;
    double expected = TOTAL * (triangle_below(high) - triangle_below(low));
    chi += ((double)counts[b] - expected) * ((double)counts[b] - expected) / expected;
  }
  CHECK(chi > 63 - 4 * 11.2 && chi < 63 + 5 * 11.2, "%s: chi-square %g of 63 degrees", who, chi);
}

/* The correlation with what lies so many elements on, of values and of their squares. */
static void check_correlation(const double *u, int lag, const char *who) {
  double plain = 0, squares = 0;
  int count = TOTAL - lag;
  for (int i = 0; i < count; i++) {
    plain += u[i] * u[i + lag] * 6 / count;
    squares += (u[i] * u[i] - 1.0 / 6) * (u[i + lag] * u[i + lag] - 1.0 / 6) / (1.0 / 15 - 1.0 / 36) / count;
  }
  CHECK(fabs(plain) < 5 / sqrt(count), "%s: correlation %g", who, plain);
  CHECK(fabs(squares) < 5 / sqrt(count), "%s: correlation of squares %g", who, squares);
}

/* The same with other noise of as many elements. */
static void check_apart(const double *u, double (*other)[COLUMNS][CHANNELS], const char *who) {
  const double *v = &other[0][0][0];
  double both = 0;
  for (int i = 0; i < TOTAL; i++) both += u[i] * v[i] * 6 / TOTAL;
  CHECK(fabs(both) < 5 / sqrt(TOTAL), "%s: correlation %g", who, both);
  free(other);
}

static void check_statistics(uint64_t seed) {
  static const int lags[][3] = {{0, 0, 1},  {0, 1, 0},  {0, 2, 0}, {0, 3, 0},  {0, 64, 0},
                                {1, 0, 0},  {2, 0, 0},  {3, 0, 0}, {8, 0, 0},  {1, 1, 0},
                                {1, -1, 0}, {1, 2, 0},  {2, 1, 0}, {1, 0, 1},  {1, 0, -1},
                                {0, 1, 1},  {0, 1, -1}, {1, 1, 1}, {3, -5, 1}, {13, 21, 0}};
  double *u = &noise_new(seed, 0)[0][0][0];
  char who[64];
  snprintf(who, sizeof who, "seed %" PRIu64, seed);
  check_moments(u, who);
  check_distribution(u, who);
  for (size_t i = 0; i < sizeof lags / sizeof *lags; i++) {
    const int *l = lags[i];
    snprintf(who, sizeof who, "%d rows, %d columns, %d channels apart", l[0], l[1], l[2]);
    check_correlation(u, (l[0] * COLUMNS + l[1]) * CHANNELS + l[2], who);
  }
  check_apart(u, noise_new(seed + 1, 0), "the next seed's");
  check_apart(u, noise_new(seed, 1), "the next frame's");
  free(u);
}

/* ---- what it is for ------------------------------------------------------------- */

enum { TONE = 16384, PERIODS = 37 };

/* The amplitude of a harmonic of a rounded tone, in steps. */
static double amplitude(const double *v, int harmonic) {
  double re = 0, im = 0;
  for (int i = 0; i < TONE; i++) {
    double angle = 2 * M_PI * (double)((int64_t)i * harmonic * PERIODS % TONE) / TONE;
    re += v[i] * cos(angle), im += v[i] * sin(angle);
  }
  return 2 * hypot(re, im) / TONE;
}

/* A sine of 0.75 steps, stored as 16 bits: square waves without dither; a tone in noise with it. */
static void round_tone(int dithered, double rounded[TONE]) {
  static float tone[TONE];
  static int16_t codes[TONE];
  fc_view in = {.size = sizeof in, .dtype = FC_F32, .kind = FC_AUDIO, .device = FC_HOST, .data = tone};
  fc_view out = in;
  in.shape[0] = in.shape[1] = in.shape[3] = 1, in.shape[2] = TONE;
  memcpy(out.shape, in.shape, sizeof in.shape);
  in.stride[2] = 4, out.stride[2] = 2, out.dtype = FC_I16, out.data = codes;
  for (int i = 0; i < TONE; i++)
    tone[i] = (float)(0.75 / 32768 * sin(2 * M_PI * (double)((int64_t)i * PERIODS % TONE) / TONE));
  run((fc_dither){FC_F32, fc_isa_best(), 5, dithered ? 1.0 / 32768 : 0}, &in, &out, NULL);
  for (int i = 0; i < TONE; i++) rounded[i] = codes[i];
}

/* Rounded noise has a variance of 1/4 step^2: 1/6 of the dither and 1/12 of the rounding, whatever the
 * signal; a bin of it has an amplitude of about sqrt(4 * 1/4 / TONE), 0.008. */
static void check_harmonics(void) {
  static double plain[TONE], dithered[TONE];
  double floor_level = sqrt(1.0 / TONE), worst = 0, error = 0;
  round_tone(0, plain);
  round_tone(1, dithered);
  CHECK(amplitude(plain, 3) > 20 * floor_level, "plain rounding does not distort: %g", amplitude(plain, 3));
  for (int h = 2; h <= 40; h++) worst = fmax(worst, amplitude(dithered, h));
  CHECK(worst < 3.3 * floor_level, "a harmonic of %g, where noise is %g", worst, floor_level);
  CHECK(fabs(amplitude(dithered, 1) - 0.75) < 4 * floor_level, "the tone is %g steps, not 0.75",
        amplitude(dithered, 1));
  for (int i = 0; i < TONE; i++) {
    double e = dithered[i] - 0.75 * sin(2 * M_PI * (double)((int64_t)i * PERIODS % TONE) / TONE);
    error += e * e / TONE;
  }
  CHECK(fabs(error - 0.25) < 0.02, "the error has a variance of %g, not 1/4", error);
}

/* What is not finite stays, and is noted where integers cannot hold it, as are values beyond them. */
static void check_odd_values(void) {
  float in[] = {NAN, INFINITY, -INFINITY, 2.0f, 0}, out[5];
  int16_t codes[5];
  uint32_t notes[2] = {0, 0};
  fc_view a = {.size = sizeof a, .dtype = FC_F32, .kind = FC_AUDIO, .device = FC_HOST, .data = in};
  a.shape[0] = a.shape[1] = a.shape[3] = 1, a.shape[2] = 5, a.stride[2] = 4;
  fc_view b = a, c = a;
  b.data = out, c.data = codes, c.dtype = FC_I16, c.stride[2] = 2;
  fc_dither d = {FC_F32, fc_isa_best(), 0, 1.0 / 32768};
  run(d, &a, &b, notes);
  CHECK(isnan(out[0]) && out[1] == INFINITY && out[2] == -INFINITY, "what is not finite changed");
  CHECK(!notes[0] && !notes[1], "floats were noted");
  run(d, &a, &c, notes);
  CHECK(codes[0] == 0 && codes[1] == 32767 && codes[2] == -32768 && codes[3] == 32767, "not clamped");
  CHECK(notes[0] && notes[1], "NaN and clipping were not noted");
}

/* ---- versions against each other --------------------------------------------- */

static signal signal_like(const signal *s, int lay) {
  signal made = signal_new(s->view.kind, s->view.dtype, s->view.shape, lay, FC_AXIS_X, 0, 0);
  memcpy(made.view.origin, s->view.origin, sizeof made.view.origin);
  return made;
}

static int64_t differences(const fc_view *a, const fc_view *b) {
  int64_t at[FC_AXES], count = 0;
  FOR_EACH(a, at) {
    double x = view_get(a, at), y = view_get(b, at);
    count += x != y && !(isnan(x) && isnan(y));
  }
  return count;
}

/* Piece by piece of random lengths along an axis. */
static void run_cut(fc_dither d, const fc_view *in, const fc_view *out, uint32_t notes[2]) {
  int axis = (int)random_int(FC_AXIS_N, FC_AXIS_C);
  for (int64_t from = 0, count; from < out->shape[axis]; from += count) {
    int64_t left = out->shape[axis] - from;
    count = random_int(1, left);
    fc_view a = view_cut(in, axis, from, count), b = view_cut(out, axis, from, count);
    run(d, &a, &b, notes);
  }
}

static void check_trial(void) {
  static const int64_t columns[] = {0, 1, 3, 15, 17, 64, 257, 2047, 2049, 4500};
  int64_t shape[FC_AXES] = {random_int(1, 3), random_int(0, 4), columns[random_int(0, 9)], random_int(1, 4)};
  int kind = (int)random_int(0, FC_KIND_COUNT - 1), lay = (int)random_int(0, LAYOUT_COUNT - 1);
  signal in = signal_new(kind, (int)random_int(0, FC_DTYPE_COUNT - 1), shape, lay, FC_AXIS_X, 0, 0);
  signal want =
      signal_new(kind, (int)random_int(0, FC_DTYPE_COUNT - 1), shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  uint32_t ref_notes[2] = {0, 0};
  fc_dither d = {random_int(0, 1) ? FC_F64 : FC_F32, FC_ISA_BASE, random_bits(), 1};
  d.step = kind == FC_AUDIO ? ldexp(1, -(int)random_int(0, 23)) : random_int(0, 1) ? 1 : 65535.0 / 4095;
  signal_fill(&in, 0);
  for (int a = 0; a < FC_AXES; a++) in.view.origin[a] = want.view.origin[a] = random_int(0, INT64_C(1) << 40);
  fc_dither_ref(&d, &in.view, &want.view, ref_notes);
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++) {
    signal whole = signal_like(&want, (int)random_int(0, LAYOUT_COUNT - 1)), cut = signal_like(&want, lay);
    uint32_t notes[2] = {0, 0}, cut_notes[2] = {0, 0};
    d.isa = (fc_isa)isa;
    run(d, &in.view, &whole.view, notes);
    CHECK(differences(&want.view, &whole.view) == 0, "%s of %s to %s differs from the reference",
          fc_isa_name(d.isa), fc_dtype_name(in.view.dtype), fc_dtype_name(want.view.dtype));
    CHECK(memcmp(notes, ref_notes, sizeof notes) == 0, "%s: other notes", fc_isa_name(d.isa));
    run_cut(d, &in.view, &cut.view, cut_notes);
    CHECK(differences(&want.view, &cut.view) == 0, "%s: differs when cut", fc_isa_name(d.isa));
    CHECK(memcmp(cut_notes, ref_notes, sizeof notes) == 0, "%s: other notes when cut", fc_isa_name(d.isa));
    CHECK(signal_only_written(&cut) && signal_only_written(&whole), "wrote beyond the elements");
    signal_free(&whole);
    signal_free(&cut);
  }
  if (in.view.dtype == want.view.dtype) {
    run(d, &in.view, &in.view, ref_notes);
    CHECK(differences(&want.view, &in.view) == 0, "differs in place");
  }
  signal_free(&in);
  signal_free(&want);
}

int main(void) {
  random_start(20261121);
  /* The first numbers of SplitMix64 from 0, as published with it. */
  CHECK(fc_dither_mix(FC_DITHER_GROWTH) == 0xe220a8397b1dcdafu, "not SplitMix64");
  CHECK(fc_dither_mix(2 * FC_DITHER_GROWTH) == 0x6e789e6aa1b965f4u, "not SplitMix64");
  check_statistics(0);
  check_statistics(UINT64_C(0x9e3779b97f4a7c15));
  check_harmonics();
  check_odd_values();
  for (int i = 0; i < 600; i++) check_trial();
  return check_result();
}
