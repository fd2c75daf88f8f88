/* SPDX-License-Identifier: MIT */
/*
 * test_tone.c - the sine's polynomial and phases against long double arithmetic, at positions near 0 and far
 * from it; square waves, sweeps and the moments of noise; every instruction set against the reference to the
 * bit, in one piece and in many.
 */
#include "filters/generate/tone.h"
#include "filters/generate/tone_math.h"
#include "tests/filters/views.h"

/* sinl of a phase of 64 bits. */
static long double sine_of(uint64_t phase) {
  return sinl(2 * 3.14159265358979323846264338327950288L * ((long double)(int64_t)phase / 0x1p64L));
}

static void check_sine(void) {
  double worst = 0;
  for (int i = 0; i < 200000; i++) {
    uint64_t phase = random_bits();
    double off = fabs((double)(fc_tone_sine(phase) - sine_of(phase)));
    worst = off > worst ? off : worst;
  }
  CHECK(worst < 4e-16, "a sine is off by %g", worst);
  static const uint64_t quarter = (uint64_t)1 << 62;
  CHECK(fc_tone_sine(0) == 0 && fc_tone_sine(2 * quarter) == 0, "no zero at the zeros");
  CHECK(fabs(fc_tone_sine(quarter) - 1) < 3e-16 && fabs(fc_tone_sine(3 * quarter) + 1) < 3e-16,
        "no 1 at the peaks");
}

/* The fraction of a turn at sample t, in whole numbers where the frequency is the reciprocal of one. */
static void check_phases(void) {
  fc_tone tone = {.form = FC_TONE_SINE, .level = 1};
  for (int i = 0; i < 1000; i++) {
    int64_t t = random_int(0, INT64_C(1) << random_int(4, 40)), per = random_int(2, 1 << 20);
    fc_tone_set_frequency(&tone, 1.0 / (double)per, 1.0 / (double)per, 0);
    /* f = 1 / per: the phase is (t mod per) / per. The double is off by 2^-54 of itself, the step by 2^-65.
     */
    double want = (double)(t % per) / (double)per;
    double got = (double)fc_tone_phase(tone.step, tone.sweep, (uint64_t)t) * 0x1p-64;
    double off = fabs(got - want), bound = (double)t / (double)per * 0x1p-53 + (double)t * 0x1p-65 + 0x1p-50;
    CHECK(off < bound || 1 - off < bound, "1/%lld at %lld: %.17g, not %.17g", (long long)per, (long long)t,
          got, want);
  }
  /* A sweep's phase is the integral of its frequency, here in long double: f0 t + (f1 - f0) t^2 / 2L. */
  for (int i = 0; i < 1000; i++) {
    int64_t length = random_int(1, 100000), t = random_int(0, length);
    double f0 = fabs(random_real()) / 2, f1 = fabs(random_real()) / 2;
    fc_tone_set_frequency(&tone, f0, f1, length);
    long double turns = (long double)f0 * (long double)t + ((long double)f1 - (long double)f0) *
                                                               (long double)t * (long double)t /
                                                               (2 * (long double)length);
    double want = (double)(turns - floorl(turns));
    double got = (double)fc_tone_phase(tone.step, tone.sweep, (uint64_t)t) * 0x1p-64, off = fabs(got - want);
    CHECK(off < 1e-9 || 1 - off < 1e-9, "sweep: %.17g, not %.17g", got, want);
  }
}

/* Uniform in [-1, 1): moments within five standard errors; channels and seeds have nothing in common. */
static void check_noise(void) {
  enum { COUNT = 100000 };
  double mean = 0, square = 0, with_next = 0, with_channel = 0, with_seed = 0;
  for (int64_t t = 0; t < COUNT; t++) {
    double v = fc_tone_noise(fc_tone_noise_state(7, t, 0));
    CHECK(v >= -1 && v < 1, "noise of %g", v);
    mean += v / COUNT, square += v * v / COUNT;
    with_next += v * fc_tone_noise(fc_tone_noise_state(7, t + 1, 0)) * 3 / COUNT;
    with_channel += v * fc_tone_noise(fc_tone_noise_state(7, t, 1)) * 3 / COUNT;
    with_seed += v * fc_tone_noise(fc_tone_noise_state(8, t, 0)) * 3 / COUNT;
  }
  CHECK(fabs(mean) < 5 * sqrt(1.0 / 3 / COUNT), "a mean of %g", mean);
  CHECK(fabs(square - 1.0 / 3) < 5 * sqrt((1.0 / 5 - 1.0 / 9) / COUNT), "a variance of %g", square);
  CHECK(fabs(with_next) < 5 / sqrt(COUNT) && fabs(with_channel) < 5 / sqrt(COUNT) &&
            fabs(with_seed) < 5 / sqrt(COUNT),
        "correlations %g, %g, %g", with_next, with_channel, with_seed);
}

static void check_square(void) {
  const int64_t shape[FC_AXES] = {1, 1, 16, 1};
  signal s = signal_new(FC_AUDIO, FC_I16, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  fc_tone tone = {.form = FC_TONE_SQUARE, .level = 0.5};
  fc_tone_set_frequency(&tone, 0.125, 0.125, 0);
  fc_tone_ref(&tone, &s.view, NULL);
  for (int i = 0; i < 16; i++) {
    int got = ((int16_t *)s.view.data)[i];
    CHECK(got == (i % 8 < 4 ? 16384 : -16384), "sample %d is %d", i, got);
  }
  signal_free(&s);
}

/* ---- versions, cuts ----------------------------------------------------------- */

static int64_t differences(const fc_view *a, const fc_view *b) {
  int64_t at[FC_AXES], count = 0;
  FOR_EACH(a, at) count += view_get(a, at) != view_get(b, at);
  return count;
}

static void check_trial(void) {
  static const int64_t lengths[] = {0, 1, 7, 1023, 1025, 4000};
  const int64_t shape[FC_AXES] = {1, 1, lengths[random_int(0, 5)], random_int(1, 4)};
  int made = (int)random_int(0, FC_DTYPE_COUNT - 1);
  fc_tone tone = {.form = (int32_t)random_int(FC_TONE_SINE, FC_TONE_SILENCE), .seed = random_bits()};
  tone.level = random_int(0, 3) ? fabs(random_real()) : 3;
  fc_tone_set_frequency(&tone, fabs(random_real()) / 2, fabs(random_real()) / 2, random_int(0, 5000));
  signal want = signal_new(FC_AUDIO, made, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  want.view.origin[FC_AXIS_X] = random_int(0, INT64_C(1) << 40);
  uint32_t notes[2] = {0, 0};
  CHECK(fc_tone_ref(&tone, &want.view, notes) == FC_OK, "the reference fails");
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++)
    for (int cut = 0; cut < 2; cut++) {
      signal got = signal_new(FC_AUDIO, made, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
      uint32_t got_notes[2] = {0, 0};
      got.view.origin[FC_AXIS_X] = want.view.origin[FC_AXIS_X];
      tone.isa = (fc_isa)isa;
      for (int64_t from = 0, count; from < shape[FC_AXIS_X]; from += count) {
        count = cut ? random_int(1, shape[FC_AXIS_X] - from) : shape[FC_AXIS_X];
        fc_view part = view_cut(&got.view, FC_AXIS_X, from, count);
        CHECK(fc_tone_cpu(&tone, &part, got_notes) == FC_OK, "it fails");
      }
      CHECK(differences(&want.view, &got.view) == 0, "%s%s: form %d differs from the reference",
            fc_isa_name(tone.isa), cut ? ", cut" : "", tone.form);
      CHECK(memcmp(notes, got_notes, sizeof notes) == 0, "%s: other notes", fc_isa_name(tone.isa));
      CHECK(signal_only_written(&got), "wrote beyond the elements");
      signal_free(&got);
    }
  signal_free(&want);
}

int main(void) {
  random_start(20261123);
  check_sine();
  check_phases();
  check_noise();
  check_square();
  for (int i = 0; i < 300; i++) check_trial();
  return check_result();
}
