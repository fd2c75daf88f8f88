/* SPDX-License-Identifier: MIT */
/*
 * test_stft.c - windows, short-time transforms, their inverse and mel filterbanks: against
 * SciPy (goldens), the references, each other (there and back), and themselves cut
 * anywhere, bit for bit.
 */
#include "filters/fourier/mel.h"
#include "filters/fourier/stft.h"
#include "filters/fourier/window.h"
#include "tests/filters/golden.h"
#include "tests/filters/grid.h"

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

/* ---- transforms as the tests hold them ------------------------------------------ */

typedef struct setup {
  fc_stft s;
  guarded window, plan;
  int64_t *first, *bin;
  void *weights;
} setup;

static setup setup_new(int compute, int isa, int64_t frame, int64_t size, int64_t hop, int64_t before,
                       fc_window kind, double scale) {
  setup t = {
      .s = {.compute = compute, .isa = isa, .frame = frame, .size = size, .hop = hop, .before = before}};
  double *w = malloc((size_t)frame * sizeof *w);
  t.window = guarded_new((size_t)frame * fc_dtype_size(compute));
  t.plan = guarded_new(fc_rfft_bytes(size, compute));
  fc_window_fill(kind, 8.6, 0, frame, w);
  for (int64_t i = 0; i < frame; i++)
    element_set((char *)t.window.data + i * (int64_t)fc_dtype_size(compute), compute, scale * w[i]);
  fc_rfft_init(t.plan.data, size, compute, isa);
  t.s.window = t.window.data;
  t.s.plan = t.plan.data;
  t.s.components = 2;
  t.s.component[0] = FC_RE, t.s.component[1] = FC_IM;
  free(w);
  return t;
}

static void setup_free(setup *t) {
  guarded_free(&t->window), guarded_free(&t->plan);
  free(t->first), free(t->bin), free(t->weights);
}

static void add_bank(setup *t, const fc_mel *mel) {
  t->first = malloc((size_t)(mel->bands + 1) * sizeof *t->first);
  t->bin = malloc((size_t)mel->bands * sizeof *t->bin);
  int64_t count = fc_mel_fill(mel, t->first, t->bin, NULL);
  double *weights = malloc((size_t)(count + 1) * sizeof *weights);
  fc_mel_fill(mel, t->first, t->bin, weights);
  t->weights = malloc((size_t)(count + 1) * sizeof(double));
  for (int64_t i = 0; i < count; i++)
    element_set((char *)t->weights + i * (int64_t)fc_dtype_size(t->s.compute), t->s.compute, weights[i]);
  free(weights);
  t->s.bands = (fc_bands){mel->bands, t->first, t->bin, t->weights};
}

/* A sound with `before` zeros ahead and `after` behind; the view is of the sound. */
static grid sound_new(int dtype, int64_t channels, int64_t length, int64_t before, int64_t after, int order) {
  int64_t shape[FC_AXES] = {1, 1, before + length + after, channels};
  grid g = grid_new(dtype, FC_AUDIO, shape, order, 0);
  double zero = fc_scaling_of(FC_AUDIO, dtype).bias;
  GRID_EACH(&g, n, y, x, c)
  element_set(fc_view_at(&g.view, n, y, x, c), dtype,
              x >= before && x < before + length ? element_random(dtype) : zero);
  g.view = grid_part(&g.view, FC_AXIS_X, before, length);
  g.view.origin[FC_AXIS_X] = 0;
  g.view.extent[FC_AXIS_X] = length;
  return g;
}

static void run_forward(const fc_stft *s, const fc_view *in, const fc_view *out) {
  guarded scratch = guarded_new(fc_stft_scratch(s, out));
  CHECK(fc_stft_cpu(s, in, out, scratch.data, NULL) == FC_OK, "stft");
  CHECK(guarded_intact(&scratch), "stft wrote beyond its scratch");
  guarded_free(&scratch);
}

static void run_back(const fc_stft *s, const fc_view *in, const fc_view *out) {
  guarded scratch = guarded_new(fc_istft_scratch(s, out));
  CHECK(fc_istft_cpu(s, in, out, scratch.data, NULL) == FC_OK, "istft");
  CHECK(guarded_intact(&scratch), "istft wrote beyond its scratch");
  guarded_free(&scratch);
}

static fc_status reference(const fc_stft *s, const fc_view *in, const fc_view *out,
                           fc_status (*run)(const fc_stft *, const fc_view *, const fc_view *, void *,
                                            uint32_t *)) {
  guarded scratch = guarded_new(fc_stft_ref_scratch(s));
  fc_status status = run(s, in, out, scratch.data, NULL);
  CHECK(guarded_intact(&scratch), "a reference wrote beyond its scratch");
  guarded_free(&scratch);
  return status;
}

static grid frames_new(const fc_stft *s, int dtype, int64_t frames, int64_t channels, int order) {
  int64_t shape[FC_AXES] = {1, 1, frames, channels * fc_stft_width(s)};
  return grid_new(dtype, FC_AUDIO, shape, order, 0);
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
    run_forward(&t.s, &x.view, &y.view);
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
    run_forward(&t.s, &sound.view, &y.view);
    double off = golden_distance(y.view.data, &want);
    CHECK(off <= (compute == FC_F32 ? 1e-6 : 1e-14), "%s in %s: off by %g", name, fc_dtype_name(compute),
          off);
    grid_free(&sound), grid_free(&y);
    setup_free(&t);
    golden_free(&want);
  }
  golden_free(&x);
}

/* Every component, with or without bands, of every type, against the reference. */
static void check_forward(int dtype, int compute, int isa, int component, int banded) {
  int64_t frame = random_int(1, 40), size = frame + random_int(0, 1) * random_int(0, 30),
          hop = random_int(1, 50);
  int64_t before = random_int(0, 1) * (frame / 2), frames = random_int(0, 40), channels = random_int(1, 3);
  setup t = setup_new(compute, isa, frame, size, hop, before, (fc_window)random_int(0, 7), 1);
  fc_mel mel = {random_int(1, 12), size, 8000, 0, 4000, (int)random_int(0, 1), (int)random_int(0, 1)};
  if (banded) add_bank(&t, &mel);
  t.s.components = 1;
  t.s.component[0] = component;
  grid x = sound_new(dtype, channels, frames * hop, frame, frame, (int)random_int(0, 1));
  grid want = frames_new(&t.s, FC_F64, frames, channels, 0),
       got = frames_new(&t.s, compute, frames, channels, 1);
  CHECK(reference(&t.s, &x.view, &want.view, fc_stft_ref) == FC_OK, "reference");
  run_forward(&t.s, &x.view, &got.view);
  /* Powers are squares of sums over a frame; levels near 0 may be anything. */
  double eps = compute == FC_F32 ? 0x1p-23 : 0x1p-52, slack = 8 * eps * (double)(frame * frame);
  if (component == FC_DB) slack = compute == FC_F32 ? 2e-2 : 1e-7;
  GRID_EACH(&got, n, y, f, c) {
    double a = grid_value(&want, n, y, f, c), b = grid_value(&got, n, y, f, c), off = fabs(a - b);
    if (component == FC_DB && a < -40) continue;
    CHECK(off <= slack, "%s %s component %d, frame %" PRId64 " of %" PRId64 " by %" PRId64 ": %g, not %g",
          fc_isa_name((fc_isa)isa), fc_dtype_name(compute), component, frame, size, hop, b, a);
  }
  CHECK(grid_intact(&got), "stft wrote beyond");
  grid_free(&x), grid_free(&want), grid_free(&got);
  setup_free(&t);
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
  run_forward(&t.s, &x.view, &y.view);
  for (int64_t f = 0; f < 20; f++) {
    double db = grid_value(&y, 0, 0, f, 17 + 5);
    double level = 20 * (double)f - 160 < -100 ? -100 : 20 * (double)f - 160;
    CHECK(fabs(db - level) <= (compute == FC_F32 ? 5e-5 : 1e-12), "level %.17g, not %g", db, level);
  }
  *(double *)fc_view_at(&x.view, 0, 0, 32 * 7 + 3, 0) = NAN;
  *(double *)fc_view_at(&x.view, 0, 0, 32 * 9, 0) = INFINITY;
  run_forward(&t.s, &x.view, &y.view);
  GRID_EACH(&y, n, i, f, c)
  CHECK((isnan(grid_value(&y, n, i, f, c)) != 0) == (f == 7 || f == 9),
        "frame %" PRId64 ", value %" PRId64 ": %g", f, c, grid_value(&y, n, i, f, c));
  grid_free(&x), grid_free(&y);
  setup_free(&t);
}

/* ---- back ------------------------------------------------------------------------- */

static void check_round_trip(int compute, int isa, int64_t frame, int64_t size, int64_t hop, fc_window kind) {
  int64_t length = random_int(1, 300), frames = 1 + (length + hop - 1) / hop, channels = random_int(1, 2);
  setup t = setup_new(compute, isa, frame, size, hop, frame / 2, kind, random_int(0, 1) ? 1 : 0.01);
  grid x = sound_new(compute, channels, length, frame, frames * hop + frame, 0);
  grid y = frames_new(&t.s, compute, frames, channels, (int)random_int(0, 1));
  run_forward(&t.s, &x.view, &y.view);
  int64_t shape[FC_AXES] = {1, 1, (frames - 1) * hop, channels};
  grid back = grid_new(compute, FC_AUDIO, shape, 0, 0), slow = grid_new(compute, FC_AUDIO, shape, 0, 0);
  run_back(&t.s, &y.view, &back.view);
  CHECK(reference(&t.s, &y.view, &slow.view, fc_istft_ref) == FC_OK, "istft reference");
  double slack = (compute == FC_F32 ? 0x1p-23 : 0x1p-52) * 60;
  GRID_EACH(&back, n, i, s, c) {
    double want = s < length ? grid_value(&x, n, i, s, c) : 0;
    CHECK(fabs(grid_value(&back, n, i, s, c) - want) <= slack &&
              fabs(grid_value(&slow, n, i, s, c) - want) <= slack,
          "frame %" PRId64 " by %" PRId64 " at %" PRId64 " of %" PRId64 ": %g, %g, not %g", frame, hop, s,
          length, grid_value(&back, n, i, s, c), grid_value(&slow, n, i, s, c), want);
  }
  CHECK(grid_intact(&back), "istft wrote beyond");
  grid_free(&x), grid_free(&y), grid_free(&back), grid_free(&slow);
  setup_free(&t);
}

/* Spectra of no sound at all, ends of the signal in view and not, gaps between frames. */
static void check_back(int compute, int isa) {
  int64_t frame = random_int(1, 40), size = frame + random_int(0, 9), hop = random_int(1, 50);
  int64_t before = random_int(0, frame - 1), hops = random_int(1, 90), channels = random_int(1, 2);
  int64_t ahead = (frame - 1 - before) / hop, beyond = (hop - 1 + before) / hop;
  setup t = setup_new(compute, isa, frame, size, hop, before, FC_WINDOW_HAMMING, 1);
  grid y = frames_new(&t.s, FC_F64, ahead + hops + beyond, channels, 0);
  GRID_EACH(&y, n, i, f, c) * (double *)fc_view_at(&y.view, n, i, f, c) = random_real();
  fc_view in = grid_part(&y.view, FC_AXIS_X, ahead, hops);
  in.origin[FC_AXIS_X] = random_int(0, 1) * random_int(0, ahead);
  in.extent[FC_AXIS_X] = random_int(0, 2) ? in.origin[FC_AXIS_X] + hops + random_int(0, beyond) : FC_UNKNOWN;
  int64_t shape[FC_AXES] = {1, 1, hops * hop, channels};
  grid got = grid_new(compute, FC_AUDIO, shape, 1, 0), want = grid_new(FC_F64, FC_AUDIO, shape, 0, 0);
  run_back(&t.s, &in, &got.view);
  CHECK(reference(&t.s, &in, &want.view, fc_istft_ref) == FC_OK, "istft reference");
  GRID_EACH(&got, n, i, s, c) {
    double a = grid_value(&got, n, i, s, c), b = grid_value(&want, n, i, s, c);
    CHECK(fabs(a - b) <= 40 * (compute == FC_F32 ? 0x1p-23 : 0x1p-52),
          "back, frame %" PRId64 " by %" PRId64 " at %" PRId64 ": %g, not %g", frame, hop, s, a, b);
  }
  grid_free(&y), grid_free(&got), grid_free(&want);
  setup_free(&t);
}

/* ---- cuts --------------------------------------------------------------------------- */

static void check_cuts(int isa) {
  int64_t frame = random_int(8, 64), hop = random_int(1, frame), frames = random_int(2, 300),
          at = random_int(0, frames);
  setup t = setup_new(FC_F32, isa, frame, frame, hop, frame / 2, FC_WINDOW_HANN, 1);
  grid x = sound_new(FC_I16, 2, frames * hop, frame, frame, 0);
  grid whole = frames_new(&t.s, FC_F32, frames, 2, 0), parts = frames_new(&t.s, FC_F32, frames, 2, 0);
  run_forward(&t.s, &x.view, &whole.view);
  for (int half = 0; half < 2; half++) {
    int64_t first = half ? at : 0, count = half ? frames - at : at;
    fc_view in = grid_part(&x.view, FC_AXIS_X, first * hop, count * hop);
    fc_view out = grid_part(&parts.view, FC_AXIS_X, first, count);
    run_forward(&t.s, &in, &out);
  }
  CHECK(grid_equal(&whole, &parts), "stft cut at %" PRId64 " of %" PRId64, at, frames);

  int64_t shape[FC_AXES] = {1, 1, (frames - 1) * hop, 2};
  grid back = grid_new(FC_F32, FC_AUDIO, shape, 0, 0), pieces = grid_new(FC_F32, FC_AUDIO, shape, 0, 0);
  run_back(&t.s, &whole.view, &back.view);
  for (int half = 0; half < 2; half++) {
    int64_t first = half ? at : 0, end = half ? frames - 1 : at < frames ? at : frames - 1;
    if (first >= end) continue;
    fc_view in = grid_part(&whole.view, FC_AXIS_X, first, end - first);
    fc_view out = grid_part(&pieces.view, FC_AXIS_X, first * hop, (end - first) * hop);
    run_back(&t.s, &in, &out);
  }
  CHECK(grid_equal(&back, &pieces), "istft cut at %" PRId64 " of %" PRId64, at, frames);
  grid_free(&x), grid_free(&whole), grid_free(&parts), grid_free(&back), grid_free(&pieces);
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
    for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++) {
      for (int dtype = 0; dtype < FC_DTYPE_COUNT; dtype++)
        for (int component = 0; component < FC_COMPONENTS; component++) {
          check_forward(dtype, compute, isa, component, 0);
          if (component >= FC_MAG && component <= FC_DB) check_forward(dtype, compute, isa, component, 1);
        }
      check_round_trip(compute, isa, 16, 16, 4, FC_WINDOW_HANN);
      check_round_trip(compute, isa, 25, 32, 10, FC_WINDOW_HAMMING);
      check_round_trip(compute, isa, 64, 64, 32, FC_WINDOW_COSINE);
      check_round_trip(compute, isa, 37, 37, 9, FC_WINDOW_BLACKMAN);
      check_round_trip(compute, isa, 10, 10, 10, FC_WINDOW_RECT);
      for (int round = 0; round < 10; round++) check_back(compute, isa);
    }
  }
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++)
    for (int round = 0; round < 10; round++) check_cuts(isa);
  return check_result();
}
