/* SPDX-License-Identifier: MIT */
/*
 * test_loudness.c - loudness, range and peaks of signals against libebur128 and ffmpeg, to 0.1 LU and 0.1 dB;
 * the vectorised version of every instruction set against the reference and itself, in one piece and in many;
 * the tone whose loudness EBU Tech 3341 states; what the meter makes of silence and of very long sound.
 */
#include "filters/recursive/loudness.h"
#include "tests/filters/golden.h"
#include "tests/filters/views.h"

/* As in tests/goldens/make_loudness.py. */
static double signal_value(int64_t i, int c, int channels, int rate, int seed) {
  uint64_t k = (uint64_t)i * (uint64_t)channels + (uint64_t)c + (uint64_t)seed * 0x9E3779B97F4A7C15u;
  k = (k ^ k >> 30) * 0xBF58476D1CE4E5B9u;
  k = (k ^ k >> 27) * 0x94D049BB133111EBu;
  k ^= k >> 31;
  const double noise = (double)(k >> 11) / 0x1p52 - 1, second = (double)(i / rate);
  const double level = pow(10, -(fmod(second * (3 + seed), 37) + 3 * c) / 20);
  const double frequency = 200.0 + 1500 * c + (900 * seed) % 2500;
  return level * (0.8 * sin(2 * 3.14159265358979323846 * frequency / rate * (double)i) + 0.05 * noise);
}

typedef struct measured {
  fc_loudness_meter m;
  fc_loudness_part peaks; /* of all channels */
} measured;

static void take(measured *r, const char *blocks, int64_t count, int64_t block) {
  for (int64_t i = 0; i < count; i++) {
    fc_loudness_head head;
    double energy = 0;
    memcpy(&head, blocks, sizeof head);
    const char *at = blocks + (size_t)i * fc_loudness_block_bytes(head.channels);
    memcpy(&head, at, sizeof head);
    for (uint32_t c = 0; c < head.channels; c++) {
      fc_loudness_part part;
      memcpy(&part, at + sizeof head + c * sizeof part, sizeof part);
      energy += fc_loudness_weight(0, head.channels, c) * part.energy;
      r->peaks.peak = fmax(r->peaks.peak, part.peak);
      r->peaks.true_peak = fmax(r->peaks.true_peak, part.true_peak);
    }
    fc_loudness_add(&r->m, energy, head.count, block);
  }
}

/* In pieces of whole blocks; the blocks' results, which the caller frees. */
static char *run(const fc_loudness *l, const fc_view *in, int64_t block, int cut, int reference) {
  const int64_t channels = in->shape[FC_AXIS_C], length = in->shape[FC_AXIS_X], n = length / block + 1;
  const size_t bytes = fc_loudness_block_bytes(channels);
  char *blocks = calloc((size_t)n + 1, bytes);
  guarded state = guarded_new(fc_loudness_state_bytes(channels)),
          scratch = guarded_new(fc_loudness_scratch());
  if (!blocks) abort();
  memset(state.data, 0, fc_loudness_state_bytes(channels));
  for (int64_t from = 0, count; from < length; from += count) {
    count = cut ? block * random_int(1, 3) : length;
    if (count > length - from) count = length - from;
    fc_view piece = view_cut(in, FC_AXIS_X, from, count);
    char *to = blocks + (size_t)(from / block) * bytes;
    fc_status status = reference ? fc_loudness_ref(l, &piece, block, state.data, to)
                                 : fc_loudness_cpu(l, &piece, block, state.data, scratch.data, to);
    CHECK(status == FC_OK, "it fails");
  }
  CHECK(guarded_intact(&state) && guarded_intact(&scratch), "wrote beyond state or scratch");
  guarded_free(&state), guarded_free(&scratch);
  return blocks;
}

/* Blocks and peaks of the signal that a record begins with the numbers of. */
static measured *measure(const double *v) {
  const int rate = (int)v[0], channels = (int)v[1], seed = (int)v[3];
  const int64_t shape[FC_AXES] = {1, 1, (int64_t)(v[0] * v[2]), channels}, block = fc_loudness_block(rate);
  signal in = signal_new(FC_AUDIO, FC_F64, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  for (int64_t i = 0; i < shape[2] * channels; i++)
    ((double *)in.view.data)[i] = signal_value(i / channels, (int)(i % channels), channels, rate, seed);
  const fc_loudness l = fc_loudness_of(rate);
  char *blocks = run(&l, &in.view, block, 0, 0);
  measured *r = calloc(1, sizeof *r);
  if (!r) abort();
  take(r, blocks, shape[2] / block, block);
  free(blocks);
  signal_free(&in);
  return r;
}

static void check_case(const char *path, int k) {
  char name[32];
  snprintf(name, sizeof name, "case_%d", k);
  golden g = golden_read(path, name);
  const double *v = g.values;
  measured *r = measure(v);
  const double got[] = {fc_loudness_integrated(&r->m), fc_loudness_range(&r->m),
                        fc_loudness_level(r->m.momentary), fc_loudness_level(r->m.short_term)};
  static const char *const names[] = {"integrated", "range", "momentary", "short term"};
  for (int i = 0; i < 4; i++)
    CHECK(fabs(got[i] - v[4 + i]) < 0.02, "%s: %s is %g, not %g", name, names[i], got[i], v[4 + i]);
  CHECK(fabs(r->peaks.peak - v[8]) < 1e-12, "%s: the peak is %.15g, not %.15g", name, r->peaks.peak, v[8]);
  CHECK(fabs(20 * log10(r->peaks.true_peak / v[9])) < 0.1, "%s: the true peak is %g, not %g", name,
        r->peaks.true_peak, v[9]);
  free(r);
  golden_free(&g);
}

/* What ffmpeg's loudnorm tells, which it rounds to hundredths. */
static void check_ffmpeg(const char *path, int k) {
  char name[32];
  snprintf(name, sizeof name, "ffmpeg_%d", k);
  golden g = golden_read(path, name);
  measured *r = measure(g.values);
  const double got[] = {fc_loudness_integrated(&r->m), fc_loudness_range(&r->m),
                        20 * log10(r->peaks.true_peak)};
  for (int i = 0; i < 3; i++)
    CHECK(fabs(got[i] - g.values[4 + i]) < 0.1, "%s: figure %d is %g, not %g", name, i, got[i],
          g.values[4 + i]);
  free(r);
  golden_free(&g);
}

/* ---- versions, cuts ------------------------------------------------------------ */

static int close_to(double a, double b, double eps) {
  return fabs(a - b) <= eps * (fabs(a) + fabs(b)) || (isnan(a) && isnan(b)) || a == b;
}

static void check_trial(void) {
  static const double rates[] = {100, 8000, 44100, 96000, 192000};
  static const int64_t lengths[] = {1, 800, 2000, 4410, 5000, 9600};
  const double rate = rates[random_int(0, 4)];
  const int64_t shape[FC_AXES] = {1, 1, lengths[random_int(0, 5)], random_int(1, 12)};
  const int64_t block = fc_loudness_block(rate), n = (shape[2] + block - 1) / block;
  signal in = signal_new(FC_AUDIO, (int)random_int(0, FC_F32), shape, (int)random_int(0, LAYOUT_COUNT - 1),
                         FC_AXIS_X, 0, 0);
  signal_fill(&in, 0);
  fc_loudness l = fc_loudness_of(rate);
  const size_t bytes = fc_loudness_block_bytes(shape[3]) * (size_t)n;
  char *want = run(&l, &in.view, block, 0, 1);
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++) {
    l.isa = (fc_isa)isa;
    char *got = run(&l, &in.view, block, 0, 0), *cut = run(&l, &in.view, block, 1, 0);
    CHECK(memcmp(got, cut, bytes) == 0, "%s: another result in pieces", fc_isa_name(l.isa));
    for (int64_t i = 0; i < n; i++) {
      const size_t at = (size_t)i * fc_loudness_block_bytes(shape[3]);
      CHECK(memcmp(want + at, got + at, sizeof(fc_loudness_head)) == 0, "another head");
      for (int64_t c = 0; c < shape[3]; c++) {
        fc_loudness_part a, b;
        memcpy(&a, want + at + sizeof(fc_loudness_head) + (size_t)c * sizeof a, sizeof a);
        memcpy(&b, got + at + sizeof(fc_loudness_head) + (size_t)c * sizeof b, sizeof b);
        CHECK(a.peak == b.peak && close_to(a.energy, b.energy, 1e-12) &&
                  close_to(a.true_peak, b.true_peak, 1e-5),
              "%s: energy %g, peak %g, true peak %g, not %g, %g, %g", fc_isa_name(l.isa), b.energy, b.peak,
              b.true_peak, a.energy, a.peak, a.true_peak);
      }
    }
    free(got), free(cut);
  }
  free(want);
  signal_free(&in);
}

/* ---- what is known ----------------------------------------------------------------- */

/* A sine of 1 kHz at -23 dBFS in both channels is at -23 LUFS; its peaks between samples are found. */
static void check_tone(double rate, double frequency, double phase) {
  const int64_t block = fc_loudness_block(rate), shape[FC_AXES] = {1, 1, 5 * (int64_t)rate, 2};
  signal in = signal_new(FC_AUDIO, FC_F64, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  const double level = pow(10, -23. / 20);
  for (int64_t i = 0; i < 2 * shape[2]; i++)
    ((double *)in.view.data)[i] =
        level * sin(2 * 3.14159265358979323846 * (frequency / rate * (double)(i / 2) + phase));
  const fc_loudness l = fc_loudness_of(rate);
  char *blocks = run(&l, &in.view, block, 1, 0);
  measured *r = calloc(1, sizeof *r);
  if (!r) abort();
  /* Without the first block: a sine that begins is no sine, and has higher peaks. */
  take(r, blocks + fc_loudness_block_bytes(2), shape[2] / block - 1, block);
  const double loud = fc_loudness_integrated(&r->m), peak = 20 * log10(r->peaks.true_peak);
  if (frequency == 1000) CHECK(fabs(loud + 23) < 0.02, "%g Hz: %g LUFS, not -23", rate, loud);
  CHECK(peak > -23.3 && peak < -22.8, "%g Hz: a true peak of %g dBTP, not -23", rate, peak);
  free(blocks), free(r);
  signal_free(&in);
}

static void check_meter(void) {
  fc_loudness_meter *m = calloc(1, sizeof *m);
  if (!m) abort();
  CHECK(fc_loudness_integrated(m) == -INFINITY && fc_loudness_range(m) == 0, "nothing is not silence");
  for (int i = 0; i < 100; i++) fc_loudness_add(m, 0, 4800, 4800);
  CHECK(fc_loudness_integrated(m) == -INFINITY && fc_loudness_range(m) == 0, "silence is loud");
  for (int i = 0; i < 360000; i++) fc_loudness_add(m, 4800 * 0.01, 4800, 4800); /* ten hours */
  CHECK(fabs(fc_loudness_integrated(m) - fc_loudness_level(0.01)) < 1e-3, "%g LUFS",
        fc_loudness_integrated(m));
  for (int i = 0; i < 3600; i++) fc_loudness_add(m, 4800 * 0.001, 4800, 4800);
  fc_loudness_add(m, NAN, 4800, 4800);
  CHECK(isfinite(fc_loudness_integrated(m)), "a NaN has spoilt it");
  free(m);
}

static void check_weights(void) {
  const uint64_t surround = 0x3f, side = 0x60f, eight = 0x63f; /* 5.1 at the back, at the side, 7.1 */
  CHECK(fc_loudness_weight(0, 2, 1) == 1 && fc_loudness_weight(0, 6, 3) == 0, "stereo and 5.1");
  CHECK(fc_loudness_weight(surround, 6, 4) == 1.41 && fc_loudness_weight(side, 6, 5) == 1.41, "surround");
  CHECK(fc_loudness_weight(eight, 8, 4) == 1 && fc_loudness_weight(eight, 8, 7) == 1.41, "7.1");
  CHECK(fc_loudness_weight(0, 40, 39) == 1, "more channels than speakers");
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  random_start(20261123);
  for (int k = 0; k < 9; k++) check_case(argv[1], k);
  for (int k = 0; k < 3; k++) check_ffmpeg(argv[1], k);
  check_tone(48000, 1000, 0), check_tone(44100, 1000, 0.1), check_tone(8000, 1000, 0.2);
  check_tone(48000, 12000, 0.125), check_tone(44100, 44100 / 6., 0.0833), check_tone(96000, 24000, 0.125);
  check_meter();
  check_weights();
  for (int i = 0; i < 60; i++)
    if (!trial_skipped()) check_trial();
  return check_result();
}
