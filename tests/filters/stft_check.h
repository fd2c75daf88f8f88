/* SPDX-License-Identifier: MIT */
/*
 * stft_check.h - what is asked of short-time transforms, their inverse and mel bands, wherever they are
 * computed: the references' answers, sound that comes back, and pieces, bit for bit.
 *
 * The file that includes this says, before, what filters the views, which are parts of these grids:
 *     void run_forward(const fc_stft *, const grid *from, const fc_view *in, const grid *to, const fc_view
 * *out) void run_back(the same)
 */
#ifndef FC_TESTS_STFT_CHECK_H
#define FC_TESTS_STFT_CHECK_H

#include "filters/fourier/mel.h"
#include "filters/fourier/stft.h"
#include "filters/fourier/window.h"
#include "tests/filters/grid.h"

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
  run_forward(&t.s, &x, &x.view, &got, &got.view);
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

/* ---- back ------------------------------------------------------------------------- */

static void check_round_trip(int compute, int isa, int64_t frame, int64_t size, int64_t hop, fc_window kind) {
  int64_t length = random_int(1, 300), frames = 1 + (length + hop - 1) / hop, channels = random_int(1, 2);
  setup t = setup_new(compute, isa, frame, size, hop, frame / 2, kind, random_int(0, 1) ? 1 : 0.01);
  grid x = sound_new(compute, channels, length, frame, frames * hop + frame, 0);
  grid y = frames_new(&t.s, compute, frames, channels, (int)random_int(0, 1));
  run_forward(&t.s, &x, &x.view, &y, &y.view);
  int64_t shape[FC_AXES] = {1, 1, (frames - 1) * hop, channels};
  grid back = grid_new(compute, FC_AUDIO, shape, 0, 0), slow = grid_new(compute, FC_AUDIO, shape, 0, 0);
  run_back(&t.s, &y, &y.view, &back, &back.view);
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
  run_back(&t.s, &y, &in, &got, &got.view);
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
  run_forward(&t.s, &x, &x.view, &whole, &whole.view);
  for (int half = 0; half < 2; half++) {
    int64_t first = half ? at : 0, count = half ? frames - at : at;
    fc_view in = grid_part(&x.view, FC_AXIS_X, first * hop, count * hop);
    fc_view out = grid_part(&parts.view, FC_AXIS_X, first, count);
    run_forward(&t.s, &x, &in, &parts, &out);
  }
  CHECK(grid_equal(&whole, &parts), "stft cut at %" PRId64 " of %" PRId64, at, frames);

  int64_t shape[FC_AXES] = {1, 1, (frames - 1) * hop, 2};
  grid back = grid_new(FC_F32, FC_AUDIO, shape, 0, 0), pieces = grid_new(FC_F32, FC_AUDIO, shape, 0, 0);
  run_back(&t.s, &whole, &whole.view, &back, &back.view);
  for (int half = 0; half < 2; half++) {
    int64_t first = half ? at : 0, end = half ? frames - 1 : at < frames ? at : frames - 1;
    if (first >= end) continue;
    fc_view in = grid_part(&whole.view, FC_AXIS_X, first, end - first);
    fc_view out = grid_part(&pieces.view, FC_AXIS_X, first * hop, (end - first) * hop);
    run_back(&t.s, &whole, &in, &pieces, &out);
  }
  CHECK(grid_equal(&back, &pieces), "istft cut at %" PRId64 " of %" PRId64, at, frames);
  grid_free(&x), grid_free(&whole), grid_free(&parts), grid_free(&back), grid_free(&pieces);
  setup_free(&t);
}

/* All of them, on one way to compute: of CPU code, an instruction set. */
static void check_transforms(int compute, int isa) {
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
  for (int round = 0; compute == FC_F32 && round < 10; round++) check_cuts(isa);
}

#endif
