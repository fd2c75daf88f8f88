/* SPDX-License-Identifier: MIT */
/*
 * test_biquad.c - designs against SciPy's bilinear transform of the cookbook's analogue prototypes and
 * against Butterworth filters, filtered signals against scipy.signal.sosfilt; every instruction set against
 * the reference to the bit, in one piece and in many, state and all; and a long silence, which leaves no
 * denormal numbers.
 */
#include <float.h>

#include "filters/recursive/biquad.h"
#include "tests/filters/golden.h"
#include "tests/filters/views.h"

/* ---- goldens ------------------------------------------------------------------ */

static void check_designs(const char *path) {
  for (int k = 0; k < 56; k++) {
    char name[32];
    snprintf(name, sizeof name, "design_%d", k);
    golden g = golden_read(path, name);
    const double *v = g.values;
    fc_biquad_section s = fc_biquad_design((fc_biquad_form)v[0], v[1], v[2], v[3]);
    const double got[] = {s.b0, s.b1, s.b2, s.a1, s.a2};
    for (int i = 0; i < 5; i++)
      CHECK(fabs(got[i] - v[4 + i]) <= 1e-12 * (1 + fabs(v[4 + i])), "%s: coefficient %d is %.17g, not %.17g",
            name, i, got[i], v[4 + i]);
    CHECK(fc_biquad_is_stable(&s), "%s: taken for unstable", name);
    golden_free(&g);
  }
}

/* |H| of a section at a frequency over the rate. */
static double response(const fc_biquad_section *s, double frequency) {
  double w = 2 * 3.14159265358979323846 * frequency, c1 = cos(w), s1 = sin(w), c2 = cos(2 * w),
         s2 = sin(2 * w);
  double num = hypot(s->b0 + s->b1 * c1 + s->b2 * c2, s->b1 * s1 + s->b2 * s2);
  return num / hypot(1 + s->a1 * c1 + s->a2 * c2, s->a1 * s1 + s->a2 * s2);
}

static void check_butterworth(const char *path) {
  for (int k = 0; k < 8; k++) {
    char name[32];
    snprintf(name, sizeof name, "butter_%d", k);
    golden g = golden_read(path, name);
    int sections = (int)g.values[2];
    for (int i = 0; i < 64; i++) {
      double h = 1;
      for (int j = 0; j < sections; j++) {
        fc_biquad_section s =
            fc_biquad_design((fc_biquad_form)g.values[0], g.values[1], fc_biquad_butterworth(j, sections), 1);
        h *= response(&s, i / 128.0);
      }
      CHECK(fabs(h - g.values[3 + i]) < 1e-10, "%s: |H(%d/128)| is %.15g, not %.15g", name, i, h,
            g.values[3 + i]);
    }
    golden_free(&g);
  }
}

static int read_sections(const golden *g, fc_biquad_section *s) {
  int n = (int)(g->count / 6);
  for (int i = 0; i < n; i++) {
    const double *c = g->values + 6 * i;
    s[i] = (fc_biquad_section){c[0] / c[3], c[1] / c[3], c[2] / c[3], c[4] / c[3], c[5] / c[3]};
  }
  return n;
}

static void check_outputs(const char *path) {
  golden x = golden_read(path, "input");
  for (int k = 0; k < 6; k++) {
    char name[32];
    fc_biquad_section s[16];
    snprintf(name, sizeof name, "sections_%d", k);
    golden sections = golden_read(path, name);
    snprintf(name, sizeof name, "output_%d", k);
    golden want = golden_read(path, name);
    fc_biquad b = {.sections = read_sections(&sections, s), .isa = FC_ISA_BASE, .section = s};
    const int64_t shape[FC_AXES] = {1, 1, x.count, 1};
    signal in = signal_new(FC_AUDIO, FC_F64, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0), out = in;
    double *got = calloc((size_t)x.count, sizeof *got), *state = calloc(32, sizeof *state);
    if (!got || !state) abort();
    memcpy(in.view.data, x.values, (size_t)x.count * sizeof(double));
    out.view.data = got;
    fc_biquad_ref(&b, &in.view, &out.view, state, NULL);
    CHECK(golden_distance(got, &want) < 1e-12, "%s: off by %g", name, golden_distance(got, &want));
    free(got), free(state);
    signal_free(&in);
    golden_free(&sections), golden_free(&want);
  }
  golden_free(&x);
}

/* ---- versions, cuts ----------------------------------------------------------- */

static int64_t differences(const fc_view *a, const fc_view *b) {
  int64_t at[FC_AXES], count = 0;
  FOR_EACH(a, at) {
    double x = view_get(a, at), y = view_get(b, at);
    count += x != y && !(isnan(x) && isnan(y));
  }
  return count;
}

static void run(const fc_biquad *b, const fc_view *in, const fc_view *out, void *state, uint32_t notes[2]) {
  guarded scratch = guarded_new(fc_biquad_scratch());
  CHECK(fc_biquad_cpu(b, in, out, state, scratch.data, notes) == FC_OK, "it fails");
  CHECK(guarded_intact(&scratch), "wrote beyond its scratch");
  guarded_free(&scratch);
}

static void run_cut(const fc_biquad *b, const fc_view *in, const fc_view *out, void *state,
                    uint32_t notes[2]) {
  for (int64_t from = 0, count; from < out->shape[FC_AXIS_X]; from += count) {
    count = random_int(1, random_int(0, 1) ? 20 : out->shape[FC_AXIS_X] - from);
    if (count > out->shape[FC_AXIS_X] - from) count = out->shape[FC_AXIS_X] - from;
    fc_view a = view_cut(in, FC_AXIS_X, from, count), o = view_cut(out, FC_AXIS_X, from, count);
    run(b, &a, &o, state, notes);
  }
}

/* Poles anywhere inside the unit circle, near it every other time. */
static fc_biquad_section random_section(void) {
  double radius = random_int(0, 1) ? 1 - 1e-3 * fabs(random_real()) : fabs(random_real());
  double angle = 3.14159265358979323846 * random_real();
  return (fc_biquad_section){random_real(), random_real(), random_real(), -2 * radius * cos(angle),
                             radius * radius};
}

static void check_trial(void) {
  static const int64_t lengths[] = {0, 1, 2, 255, 257, 1024, 1025, 3000};
  const int64_t shape[FC_AXES] = {1, 1, lengths[random_int(0, 7)],
                                  random_int(0, 1) ? random_int(1, 2) : random_int(1, 20)};
  fc_biquad_section s[FC_BIQUAD_MOST];
  fc_biquad b = {(int32_t)(random_int(0, 9) ? random_int(1, 12) : FC_BIQUAD_MOST), FC_ISA_BASE, s, NULL};
  for (int i = 0; i < b.sections; i++) s[i] = random_section();
  if (random_int(0, 1)) b.rounded = (uint64_t)random_int(0, INT64_MAX);
  size_t bytes = fc_biquad_state_bytes(&b, shape[FC_AXIS_C]);
  signal in = signal_new(FC_AUDIO, (int)random_int(0, FC_DTYPE_COUNT - 1), shape,
                         (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  int made = (int)random_int(0, FC_DTYPE_COUNT - 1);
  signal want = signal_new(FC_AUDIO, made, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  signal_fill(&in, 0);
  in.view.origin[FC_AXIS_X] = want.view.origin[FC_AXIS_X] = random_int(0, 5000);
  guarded state = guarded_new(bytes);
  memset(state.data, 0, bytes);
  uint32_t notes[2] = {0, 0};
  CHECK(fc_biquad_ref(&b, &in.view, &want.view, state.data, notes) == FC_OK, "the reference fails");
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++)
    for (int cut = 0; cut < 2; cut++) {
      signal got = signal_new(FC_AUDIO, made, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
      guarded mine = guarded_new(bytes);
      uint32_t got_notes[2] = {0, 0};
      got.view.origin[FC_AXIS_X] = want.view.origin[FC_AXIS_X];
      memset(mine.data, 0, bytes);
      b.isa = (fc_isa)isa;
      (cut ? run_cut : run)(&b, &in.view, &got.view, mine.data, got_notes);
      CHECK(differences(&want.view, &got.view) == 0, "%s%s: another result", fc_isa_name(b.isa),
            cut ? ", cut" : "");
      CHECK(memcmp(state.data, mine.data, bytes) == 0, "%s: another state", fc_isa_name(b.isa));
      CHECK(memcmp(notes, got_notes, sizeof notes) == 0, "%s: other notes", fc_isa_name(b.isa));
      CHECK(guarded_intact(&mine) && signal_only_written(&got), "wrote beyond state or elements");
      guarded_free(&mine);
      signal_free(&got);
    }
  guarded_free(&state);
  signal_free(&in);
  signal_free(&want);
}

/* After a click and 200000 samples of silence a resonator's state is 0, and no result on the way was denormal
 * for longer than it takes to the next multiple of FC_BIQUAD_FLUSH. */
static void check_silence(void) {
  enum { LENGTH = 200000 };
  const int64_t shape[FC_AXES] = {1, 1, LENGTH, 1};
  fc_biquad_section s = {1, 0, 0, -1.98, 0.9801};
  fc_biquad b = {1, fc_isa_best(), &s, NULL};
  double *x = calloc(LENGTH, sizeof *x), state[2] = {0, 0};
  if (!x) abort();
  signal in = signal_new(FC_AUDIO, FC_F64, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  memset(in.view.data, 0, LENGTH * sizeof(double));
  *(double *)in.view.data = 1;
  fc_view out = in.view;
  out.data = x;
  run(&b, &in.view, &out, state, NULL);
  int64_t denormal = 0;
  for (int i = 0; i < LENGTH; i++) denormal += x[i] != 0 && fabs(x[i]) < DBL_MIN;
  CHECK(x[LENGTH / 4] != 0 && denormal <= FC_BIQUAD_FLUSH, "%" PRId64 " denormal results", denormal);
  CHECK(state[0] == 0 && state[1] == 0, "a state of %g, %g", state[0], state[1]);
  free(x);
  signal_free(&in);
}

static void check_stability(void) {
  const fc_biquad_section in = {1, 0, 0, -1.9, 0.95}, on = {1, 0, 0, -1, 0}, out = {1, 0, 0, -2.1, 1.05},
                          far = {1, 0, 0, 0, 1.01};
  CHECK(fc_biquad_is_stable(&in) && fc_biquad_is_stable(&on), "stable sections are taken for unstable");
  CHECK(!fc_biquad_is_stable(&out) && !fc_biquad_is_stable(&far), "unstable sections are taken for stable");
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  random_start(20261122);
  check_designs(argv[1]);
  check_butterworth(argv[1]);
  check_outputs(argv[1]);
  check_silence();
  check_stability();
  for (int i = 0; i < 120; i++)
    if (!trial_skipped()) check_trial();
  return check_result();
}
