/* SPDX-License-Identifier: MIT */
/*
 * test_stft.c - windows, short-time transforms, their inverse and mel filterbanks: against
 * SciPy (goldens), the references, each other (there and back), and themselves cut
 * anywhere, bit for bit.
 */
#include "filters/fourier/stft.h"
#include "tests/filters/golden.h"
#include "tests/filters/grid.h"

static void run_forward(const fc_stft *s, const grid *from, const fc_view *in, const grid *to,
                        const fc_view *out) {
  (void)from, (void)to;
  guarded scratch = guarded_new(fc_stft_scratch(s, out));
  CHECK(fc_stft_cpu(s, in, out, scratch.data, NULL) == FC_OK, "stft");
  CHECK(guarded_intact(&scratch), "stft wrote beyond its scratch");
  guarded_free(&scratch);
}

static void run_back(const fc_stft *s, const grid *from, const fc_view *in, const grid *to,
                     const fc_view *out) {
  (void)from, (void)to;
  guarded scratch = guarded_new(fc_istft_scratch(s, out));
  CHECK(fc_istft_cpu(s, in, out, scratch.data, NULL) == FC_OK, "istft");
  CHECK(guarded_intact(&scratch), "istft wrote beyond its scratch");
  guarded_free(&scratch);
}

#include "tests/filters/stft_check.h"

static const char *goldens;

/* ---- windows and banks ------------------------------------------------------- */

static void check_window(int kind, int64_t n, int symmetric) {
  char name[80];
  double w[16], worst = 0;
  snprintf(name, sizeof name, "window-%d-%d-%s", kind, (int)n, symmetric ? "symmetric" : "periodic");
  golden want = golden_read(goldens, name);
  fc_window_fill((fc_window)kind, 8.6, symmetric, n, w);
  for (int64_t i = 0; i < n; i++) worst = fmax(worst, fabs(w[i] - want.values[i]));
  CHECK(worst <= 1e-15, "%s: off by %g", name, worst);
  golden_free(&want);
}

static void check_bank(const fc_mel *mel) {
  char name[80];
  snprintf(name, sizeof name, "mel-%d-%d-%d", (int)mel->bands, mel->htk, mel->normalised);
  golden want = golden_read(goldens, name);
  int64_t bins = mel->size / 2 + 1, first[64], bin[64], count = fc_mel_fill(mel, first, bin, NULL);
  double *weights = malloc((size_t)(count + 1) * sizeof *weights),
         *dense = calloc((size_t)want.count, sizeof *dense);
  CHECK(fc_mel_fill(mel, first, bin, weights) == count && first[mel->bands] == count, "%s: its own count",
        name);
  for (int64_t b = 0; b < mel->bands; b++)
    for (int64_t i = first[b]; i < first[b + 1]; i++) dense[b * bins + bin[b] + i - first[b]] = weights[i];
  double off = golden_distance(dense, &want);
  CHECK(off <= 1e-12, "%s: off by %g", name, off);
  free(weights), free(dense);
  golden_free(&want);
}

/* ---- forward ---------------------------------------------------------------------- */

static void check_golden(int64_t length, int64_t frame, int64_t hop, int64_t size) {
  char name[80];
  double *w = malloc((size_t)frame * sizeof *w), sum = 0;
  fc_window_fill(FC_WINDOW_HANN, 0, 0, frame, w);
  for (int64_t i = 0; i < frame; i++) sum += w[i];
  golden part[3];
  for (int i = 0; i < 3; i++) {
    static const char *const parts[] = {"x", "re", "im"};
    snprintf(name, sizeof name, "stft-%d-%d-%d-%d-%s", (int)length, (int)frame, (int)hop, (int)size,
             parts[i]);
    part[i] = golden_read(goldens, name);
  }
  for (int compute = FC_F32; compute <= FC_F64; compute++) {
    setup t = setup_new(compute, fc_isa_best(), frame, size, hop, frame / 2, FC_WINDOW_HANN, 1 / sum);
    int64_t bins = size / 2 + 1, frames = part[1].count / bins;
    grid x = sound_new(FC_F64, 1, length, frame, frames * hop + frame, 0),
         y = frames_new(&t.s, FC_F64, frames, 1, 0);
    memcpy(x.view.data, part[0].values, (size_t)length * sizeof(double));
    run_forward(&t.s, &x, &x.view, &y, &y.view);
    double off = 0, whole = 0;
    for (int64_t f = 0; f < frames; f++)
      for (int64_t k = 0; k < bins; k++) {
        double re = part[1].values[f * bins + k], im = part[2].values[f * bins + k];
        off += pow(grid_value(&y, 0, 0, f, k) - re, 2) + pow(grid_value(&y, 0, 0, f, bins + k) - im, 2);
        whole += re * re + im * im;
      }
    CHECK(sqrt(off / whole) <= (compute == FC_F32 ? 1e-6 : 1e-14), "%s in %s: off by %g", name,
          fc_dtype_name(compute), sqrt(off / whole));
    grid_free(&x), grid_free(&y);
    setup_free(&t);
  }
  for (int i = 0; i < 3; i++) golden_free(&part[i]);
  free(w);
}

/* Frames in mel bands: magnitude, power and level of one sound. */
static void check_mel(int64_t bands, int64_t frame, int64_t hop, int64_t size) {
  static const char *const parts[] = {"mag", "power", "db"};
  static const int components[] = {FC_MAG, FC_POWER, FC_DB};
  char base[60], name[80];
  snprintf(base, sizeof base, "melspec-%d-%d-%d-%d", (int)bands, (int)frame, (int)hop, (int)size);
  snprintf(name, sizeof name, "%s-x", base);
  golden x = golden_read(goldens, name);
  for (int i = 0; i < 6; i++) {
    int compute = i < 3 ? FC_F32 : FC_F64;
    snprintf(name, sizeof name, "%s-%s", base, parts[i % 3]);
    golden want = golden_read(goldens, name);
    setup t = setup_new(compute, fc_isa_best(), frame, size, hop, 0, FC_WINDOW_HANN, 1);
    fc_mel mel = {bands, size, 8000, 0, 4000, 0, 1};
    add_bank(&t, &mel);
    t.s.components = 1;
    t.s.component[0] = components[i % 3];
    int64_t frames = want.count / bands;
    grid sound = sound_new(FC_F64, 1, x.count, 0, 0, 0), y = frames_new(&t.s, FC_F64, frames, 1, 0);
    memcpy(sound.view.data, x.values, (size_t)x.count * sizeof(double));
    run_forward(&t.s, &sound, &sound.view, &y, &y.view);
    double off = golden_distance(y.view.data, &want);
    CHECK(off <= (compute == FC_F32 ? 1e-6 : 1e-14), "%s in %s: off by %g", name, fc_dtype_name(compute),
          off);
    grid_free(&sound), grid_free(&y);
    setup_free(&t);
    golden_free(&want);
  }
  golden_free(&x);
}

/* A tone's levels over the whole range; a NaN, which is its whole frame's. */
static void check_tone(int compute) {
  setup t = setup_new(compute, fc_isa_best(), 32, 32, 32, 0, FC_WINDOW_RECT, 1);
  t.s.component[0] = FC_RE, t.s.component[1] = FC_DB;
  grid x = sound_new(FC_F64, 1, 32 * 20, 0, 0, 0), y = frames_new(&t.s, FC_F64, 20, 1, 0);
  for (int64_t f = 0; f < 20; f++)
    for (int64_t i = 0; i < 32; i++)
      *(double *)fc_view_at(&x.view, 0, 0, f * 32 + i, 0) =
          pow(10, (double)f - 8) / 16 * cos(6.283185307179586 * 5 * (double)i / 32 + 0.1 * (double)f);
  run_forward(&t.s, &x, &x.view, &y, &y.view);
  for (int64_t f = 0; f < 20; f++) {
    double db = grid_value(&y, 0, 0, f, 17 + 5);
    double level = 20 * (double)f - 160 < -100 ? -100 : 20 * (double)f - 160;
    CHECK(fabs(db - level) <= (compute == FC_F32 ? 5e-5 : 1e-12), "level %.17g, not %g", db, level);
  }
  *(double *)fc_view_at(&x.view, 0, 0, 32 * 7 + 3, 0) = NAN;
  *(double *)fc_view_at(&x.view, 0, 0, 32 * 9, 0) = INFINITY;
  run_forward(&t.s, &x, &x.view, &y, &y.view);
  GRID_EACH(&y, n, i, f, c)
  CHECK((isnan(grid_value(&y, n, i, f, c)) != 0) == (f == 7 || f == 9),
        "frame %" PRId64 ", value %" PRId64 ": %g", f, c, grid_value(&y, n, i, f, c));
  grid_free(&x), grid_free(&y);
  setup_free(&t);
}

/* A few long frames must not cost the memory of as many as a vector has lanes. */
static void check_scratch(void) {
  setup t = setup_new(FC_F32, FC_ISA_BASE, 1024, 1024, 1024, 512, FC_WINDOW_RECT, 1);
  fc_view one = {.shape = {1, 1, 1, 2 * 513}}, many = {.shape = {1, 1, 1000, 2 * 513}};
  CHECK(2 * fc_stft_scratch(&t.s, &one) < fc_stft_scratch(&t.s, &many), "one frame takes %zu bytes",
        fc_stft_scratch(&t.s, &one));
  one.shape[FC_AXIS_X] = 0, one.shape[FC_AXIS_C] = many.shape[FC_AXIS_C] = 1, many.shape[FC_AXIS_X] = 100000;
  CHECK(fc_istft_scratch(&t.s, &one) < fc_istft_scratch(&t.s, &many), "no sample takes %zu bytes",
        fc_istft_scratch(&t.s, &one));
  setup_free(&t);
}

static void check_coverage(void) {
  double w[64];
  fc_window_fill(FC_WINDOW_HANN, 0, 0, 64, w);
  CHECK(fabs(fc_stft_coverage(w, 64, 16) - 1) < 1e-12, "Hann by quarters covers evenly");
  CHECK(fc_stft_coverage(w, 64, 64) < 1e-10, "Hann without overlap leaves holes");
  CHECK(fc_stft_coverage(w, 64, 70) == 0, "gaps between frames");
  fc_window_fill(FC_WINDOW_RECT, 0, 0, 64, w);
  CHECK(fc_stft_coverage(w, 64, 64) == 1, "frames side by side");
}

int main(int argc, char **argv) {
  static const fc_mel banks[] = {{5, 64, 8000, 0, 4000, 0, 0}, {40, 512, 16000, 20, 7600, 0, 0}};
  static const int64_t window_sizes[] = {1, 2, 9, 16};
  if (argc != 2) return 2;
  goldens = argv[1];
  random_start(8);
  for (int kind = 0; kind <= FC_WINDOW_KAISER; kind++)
    for (int i = 0; i < 8; i++) check_window(kind, window_sizes[i / 2], i % 2);
  for (int i = 0; i < 8; i++) {
    fc_mel mel = banks[i / 4];
    mel.htk = i & 1, mel.normalised = i >> 1 & 1;
    check_bank(&mel);
  }
  check_golden(100, 16, 4, 16);
  check_golden(61, 9, 5, 12);
  check_golden(40, 32, 32, 32);
  check_mel(6, 64, 16, 64);
  check_mel(3, 50, 30, 75);
  check_coverage();
  check_scratch();
  for (int compute = FC_F32; compute <= FC_F64; compute++) {
    check_tone(compute);
    for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++) check_transforms(compute, isa);
  }
  return check_result();
}
