/* SPDX-License-Identifier: MIT */
/*
 * test_polyphase.c - the reference against scipy.signal.upfirdn; the pass- and stopbands that polyphase.h
 * promises, measured on the tables at many frequencies and on tones that are resampled, in single precision
 * too; ratios that are large, odd or impossible; every instruction set against the reference, and cut into
 * pieces to the bit.
 */
#include "filters/polyphase/polyphase.h"
#include "tests/filters/golden.h"
#include "tests/filters/views.h"

#define PI 3.14159265358979323846

static const double promised[] = {60, 80, 100, 120}, passbands[] = {0.80, 0.88, 0.91, 0.95};

static fc_polyphase make(double from, double to, int quality, int compute) {
  fc_polyphase r;
  CHECK(fc_polyphase_design(from, to, (fc_polyphase_quality)quality, &r) == FC_OK, "%g to %g: refused", from,
        to);
  r.compute = compute, r.isa = fc_isa_best();
  void *table = malloc(fc_polyphase_table_bytes(&r));
  if (!table) abort();
  fc_polyphase_fill(&r, table);
  r.table = table;
  return r;
}

static void finish(fc_polyphase *r) {
  free((void *)(uintptr_t)r->table);
}

static void run(const fc_polyphase *r, const fc_view *in, const fc_view *out, uint32_t notes[2]) {
  guarded scratch = guarded_new(fc_polyphase_scratch(r));
  CHECK(fc_polyphase_cpu(r, in, out, scratch.data, notes) == FC_OK, "it fails");
  CHECK(guarded_intact(&scratch), "wrote beyond its scratch");
  guarded_free(&scratch);
}

/* A sound with silence around it, as far as the filter looks. */
static signal sound_new(const fc_polyphase *r, int dtype, int64_t length, int64_t channels, int lay) {
  const int64_t shape[FC_AXES] = {1, 1, length, channels};
  signal s = signal_new(FC_AUDIO, dtype, shape, lay, FC_AXIS_X, r->before, r->taps);
  signal_fill(&s, 0);
  return s;
}

/* ---- goldens ------------------------------------------------------------------ */

static void check_goldens(const char *path) {
  golden x = golden_read(path, "input");
  for (int k = 0; k < 7; k++) {
    char name[32];
    snprintf(name, sizeof name, "output_%d", k);
    golden g = golden_read(path, name);
    fc_polyphase r = make(g.values[0], g.values[1], (int)g.values[2], FC_F64);
    const golden want = {g.count - 3, g.values + 3};
    CHECK(fc_polyphase_length(&r, x.count) == want.count, "%s: another length", name);
    double *samples = calloc((size_t)(x.count + 2 * r.taps), sizeof *samples);
    double *got = calloc((size_t)want.count, sizeof *got);
    if (!samples || !got) abort();
    memcpy(samples + r.taps, x.values, (size_t)x.count * sizeof *samples);
    const int64_t shape[FC_AXES] = {1, 1, x.count, 1}, made[FC_AXES] = {1, 1, want.count, 1};
    signal like = signal_new(FC_AUDIO, FC_F64, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
    fc_view in = like.view, out = like.view;
    in.data = samples + r.taps, out.data = got;
    memcpy(out.shape, made, sizeof made);
    CHECK(fc_polyphase_ref(&r, &in, &out, NULL) == FC_OK, "the reference fails");
    CHECK(golden_distance(got, &want) < 1e-12, "%s: off by %g", name, golden_distance(got, &want));
    signal_free(&like);
    free(samples), free(got);
    finish(&r);
    golden_free(&g);
  }
  golden_free(&x);
}

/* ---- what is promised ----------------------------------------------------------- */

/* |H| at a frequency in cycles a sample of the input, of the whole polyphase filter. */
static double response(const fc_polyphase *r, double frequency) {
  double re = 0, im = 0;
  for (int64_t p = 0; p < r->phases; p++)
    for (int64_t j = 0; j < r->taps; j++) {
      const double at = (double)(j - r->before) - (double)p / (double)r->phases;
      const double tap = ((const double *)r->table)[p * r->taps + j] / (double)r->phases;
      re += tap * cos(2 * PI * frequency * at), im += tap * sin(2 * PI * frequency * at);
    }
  return hypot(re, im);
}

static void check_bands(double from, double to) {
  for (int quality = FC_POLYPHASE_LOW; quality <= FC_POLYPHASE_BEST; quality++) {
    fc_polyphase r = make(from, to, quality, FC_F64);
    const double most = pow(10, -promised[quality] / 20);
    for (int i = 0; i <= 12; i++) {
      const double pass = passbands[quality] * r.stop * i / 12,
                   stop = r.stop + (0.5 * (double)r.phases - r.stop) * i * i / 144;
      CHECK(fabs(response(&r, pass) - 1) < most, "%g to %g, quality %d: ripple of %g at %g", from, to,
            quality, response(&r, pass) - 1, pass);
      CHECK(response(&r, stop) < most, "%g to %g, quality %d: %g dB at %g", from, to, quality,
            20 * log10(response(&r, stop)), stop);
    }
    CHECK(fabs(20 * log10(response(&r, (r.pass + r.stop) / 2)) + 6.02) < 0.1, "the edge is not at -6 dB");
    finish(&r);
  }
}

/* The largest difference of a resampled tone from the tone at the new rate, or from silence. */
static double tone_error(const fc_polyphase *r, double frequency, int passes) {
  enum { OUTPUTS = 400 };
  const double step = (double)r->down / (double)r->up;
  const int64_t length = (int64_t)(OUTPUTS * step) + 2;
  signal in = sound_new(r, r->compute, length, 1, LAYOUT_INTERLEAVED);
  const int64_t shape[FC_AXES] = {1, 1, OUTPUTS, 1};
  signal out = signal_new(FC_AUDIO, r->compute, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  for (int64_t t = -r->before; t < length + r->taps; t++)
    element_set((char *)in.view.data + t * in.view.stride[FC_AXIS_X], r->compute,
                sin(2 * PI * frequency * (double)t));
  run(r, &in.view, &out.view, NULL);
  double worst = 0;
  for (int64_t o = 0; o < OUTPUTS; o++) {
    const double want = passes ? sin(2 * PI * frequency * (double)o * step) : 0;
    worst = fmax(
        worst, fabs(element_get((char *)out.view.data + o * out.view.stride[FC_AXIS_X], r->compute) - want));
  }
  signal_free(&in), signal_free(&out);
  return worst;
}

/* Of a tone in the passband the images are what is left of the stopband: ripple and images come on top of
 * each other, so twice the promise. */
static void check_tones(double from, double to) {
  for (int quality = FC_POLYPHASE_LOW; quality <= FC_POLYPHASE_BEST; quality++)
    for (int compute = FC_F32; compute <= FC_F64; compute++) {
      fc_polyphase r = make(from, to, quality, compute);
      const double most = pow(10, -promised[quality] / 20);
      for (int i = 1; i <= 8; i++) {
        const double low = passbands[quality] * r.stop * i / 8, high = r.stop + (0.5 - r.stop) * i / 8.5;
        const double passed = tone_error(&r, low, 1), stopped = r.stop < 0.5 ? tone_error(&r, high, 0) : 0;
        CHECK(passed < 2 * most, "%g to %g, quality %d, type %d: a tone at %g is off by %g dB", from, to,
              quality, compute, low, 20 * log10(passed));
        CHECK(stopped < most, "%g to %g, quality %d, type %d: a tone at %g is left at %g dB", from, to,
              quality, compute, high, 20 * log10(stopped));
      }
      finish(&r);
    }
}

static void check_designs(void) {
  fc_polyphase r;
  CHECK(fc_polyphase_design(44100, 48000, FC_POLYPHASE_HIGH, &r) == FC_OK && r.up == 160 && r.down == 147,
        "160:147");
  CHECK(fc_polyphase_design(11025.5, 22051, FC_POLYPHASE_HIGH, &r) == FC_OK && r.up == 2 && r.down == 1,
        "2:1");
  CHECK(fc_polyphase_design(44100, 44101, FC_POLYPHASE_BEST, &r) == FC_OK && r.phases == 2048,
        "a bounded table");
  CHECK(fc_polyphase_design(1e6, 999999, FC_POLYPHASE_LOW, &r) == FC_OK && r.phases == 128,
        "a bounded table");
  CHECK(fc_polyphase_design(3.14159265, 1, FC_POLYPHASE_LOW, &r) == FC_INVALID, "no ratio");
  CHECK(fc_polyphase_design(1e9, 1, FC_POLYPHASE_BEST, &r) == FC_UNSUPPORTED, "too far");
  CHECK(fc_polyphase_design(8000, 8000, FC_POLYPHASE_BEST, &r) == FC_OK && fc_polyphase_length(&r, 77) == 77,
        "1:1");
  CHECK(fc_polyphase_design(3, 2, FC_POLYPHASE_LOW, &r) == FC_OK && fc_polyphase_length(&r, 4) == 3 &&
            fc_polyphase_length(&r, 0) == 0 &&
            fc_polyphase_length(&r, ((int64_t)3 << 45) + 1) == ((int64_t)2 << 45) + 1,
        "lengths");
}

static void check_equal_rates(void) {
  fc_polyphase r = make(44100, 44100, FC_POLYPHASE_BEST, FC_F32);
  const int64_t shape[FC_AXES] = {1, 1, 300, 2};
  signal in = sound_new(&r, FC_I16, 300, 2, LAYOUT_INTERLEAVED);
  signal out = signal_new(FC_AUDIO, FC_I16, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  run(&r, &in.view, &out.view, NULL);
  CHECK(memcmp(in.view.data, out.view.data, 300 * 2 * sizeof(int16_t)) == 0, "samples have changed");
  signal_free(&in), signal_free(&out);
  finish(&r);
}

/* ---- versions, cuts ----------------------------------------------------------- */

/* Pieces, each of which begins at an input of its own. */
static void run_cut(const fc_polyphase *r, const fc_view *in, const fc_view *out) {
  for (int64_t from = 0, count; from < out->shape[FC_AXIS_X]; from += count) {
    count = random_int(1, random_int(0, 1) ? 9 : out->shape[FC_AXIS_X] - from);
    if (count > out->shape[FC_AXIS_X] - from) count = out->shape[FC_AXIS_X] - from;
    const int64_t first = out->origin[FC_AXIS_X],
                  at = (first + from) * r->down / r->up - first * r->down / r->up;
    fc_view i = *in, o = view_cut(out, FC_AXIS_X, from, count);
    i.data = fc_view_at(in, 0, 0, at, 0);
    run(r, &i, &o, NULL);
  }
}

static double largest_difference(const fc_view *a, const fc_view *b) {
  int64_t at[FC_AXES];
  double worst = 0;
  FOR_EACH(a, at) worst = fmax(worst, fabs(view_get(a, at) - view_get(b, at)));
  return worst;
}

static void check_trial(void) {
  static const double rates[] = {8000, 11025, 16000, 22050, 37500, 44100, 44101, 48000, 96000};
  const int compute = (int)random_int(FC_F32, FC_F64), dtype = (int)random_int(0, FC_DTYPE_COUNT - 1);
  fc_polyphase r = make(rates[random_int(0, 8)], rates[random_int(0, 8)], (int)random_int(0, 3), compute);
  const int64_t length = random_int(0, 2) ? random_int(1, 60) : random_int(1000, 12000),
                first = random_int(0, 1 << 30);
  const int64_t shape[FC_AXES] = {1, 1, length, random_int(0, 3) ? random_int(1, 5) : random_int(6, 11)};
  const int64_t inputs = (first + length) * r.down / r.up - first * r.down / r.up + 1;
  signal in = sound_new(&r, dtype, inputs, shape[3], (int)random_int(0, LAYOUT_COUNT - 1));
  signal want = signal_new(FC_AUDIO, FC_F64, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  want.view.origin[FC_AXIS_X] = first;
  CHECK(fc_polyphase_ref(&r, &in.view, &want.view, NULL) == FC_OK, "the reference fails");
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++) {
    signal got = signal_new(FC_AUDIO, FC_F64, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
    signal cut = signal_new(FC_AUDIO, FC_F64, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
    got.view.origin[FC_AXIS_X] = cut.view.origin[FC_AXIS_X] = first;
    r.isa = (fc_isa)isa;
    run(&r, &in.view, &got.view, NULL);
    run_cut(&r, &in.view, &cut.view);
    const double off = largest_difference(&want.view, &got.view), most = compute == FC_F64 ? 1e-14 : 1e-5;
    CHECK(off < most, "%s: off by %g", fc_isa_name(r.isa), off);
    CHECK(largest_difference(&got.view, &cut.view) == 0, "%s: another result in pieces", fc_isa_name(r.isa));
    CHECK(signal_only_written(&got) && signal_only_written(&cut), "wrote beyond its elements");
    signal_free(&got), signal_free(&cut);
  }
  signal_free(&in), signal_free(&want);
  finish(&r);
}

/* One sample that is not a number spoils the outputs whose taps it meets, and no others, in every version. */
static void check_spoilt(double from, double to) {
  enum { LENGTH = 1200 };
  fc_polyphase r = make(from, to, FC_POLYPHASE_MEDIUM, FC_F32);
  const int64_t count = LENGTH * r.up / r.down, shape[FC_AXES] = {1, 1, count, 1},
                at = random_int(0, LENGTH - 1);
  signal in = sound_new(&r, FC_F32, LENGTH, 1, LAYOUT_INTERLEAVED);
  signal out = signal_new(FC_AUDIO, FC_F32, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  element_set(fc_view_at(&in.view, 0, 0, at, 0), FC_F32, NAN);
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++) {
    r.isa = (fc_isa)isa;
    run(&r, &in.view, &out.view, NULL);
    for (int64_t o = 0; o < count; o++) {
      const int64_t begin = o * r.down / r.up - r.before;
      const int met = at >= begin && at < begin + r.taps;
      CHECK(isnan(element_get(fc_view_at(&out.view, 0, 0, o, 0), FC_F32)) == met,
            "%s, %g to %g: output %d, sample %d is not a number", fc_isa_name(r.isa), from, to, (int)o,
            (int)at);
    }
  }
  signal_free(&in), signal_free(&out);
  finish(&r);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  random_start(20261123);
  check_goldens(argv[1]);
  check_designs();
  check_equal_rates();
  check_bands(2, 3);
  check_bands(48000, 16000);
  check_tones(44100, 48000);
  check_tones(48000, 44100);
  check_tones(44101, 44100);
  check_tones(48000, 11025);
  check_spoilt(44100, 48000);
  check_spoilt(3, 1);
  check_spoilt(44101, 44100);
  for (int i = 0; i < 60; i++)
    if (!trial_skipped()) check_trial();
  return check_result();
}
