/* SPDX-License-Identifier: MIT */
/*
 * test_histogram.c - equalisation, Otsu's threshold and counts of samples against what they are by
 * definition: every sample compared with every other one, and every level tried with its classes' means.
 */
#include "filters/histogram/equalize.h"
#include "filters/histogram/histogram.h"
#include "tests/filters/views.h"

#define MOST_SAMPLES 256

/* The samples of one channel of a frame. */
typedef struct plane {
  double v[MOST_SAMPLES];
  int64_t n;
} plane;

static plane plane_of(const fc_view *view, int64_t frame, int64_t channel) {
  plane p = {.n = 0};
  for (int64_t y = 0; y < view->shape[FC_AXIS_Y]; y++)
    for (int64_t x = 0; x < view->shape[FC_AXIS_X]; x++) {
      const int64_t at[FC_AXES] = {frame, y, x, channel};
      p.v[p.n++] = view_get(view, at);
    }
  return p;
}

/* ---- equalisation ------------------------------------------------------------------ */

/* What becomes of `v`: of b samples below it and n that are not of the largest code. */
static double flat(const plane *p, double v, double white) {
  double most = 0, below = 0, spread = 0;
  for (int64_t i = 0; i < p->n; i++) most = p->v[i] > most ? p->v[i] : most;
  for (int64_t i = 0; i < p->n; i++) below += p->v[i] < v, spread += p->v[i] < most;
  const double step = floor(spread / 255);
  if (spread == 0 || (white == 255 && step == 0)) return v;
  const double made =
      white == 255 ? floor((below + floor(step / 2)) / step) : floor(white * below / spread + 0.5);
  return made < white ? made : white;
}

static long double variance(const plane *p, double level) {
  long double n[2] = {0, 0}, sum[2] = {0, 0};
  for (int64_t i = 0; i < p->n; i++) n[p->v[i] > level]++, sum[p->v[i] > level] += (long double)p->v[i];
  if (n[0] == 0 || n[1] == 0) return 0;
  const long double apart = sum[0] / n[0] - sum[1] / n[1];
  return n[0] * n[1] * apart * apart;
}

/* The lowest level of the largest variance: one of the samples; the largest of all where all are alike. */
static double otsu_level(const plane *p) {
  long double best = 0;
  double level = 65535;
  for (int64_t i = 0; i < p->n; i++) {
    const long double v = variance(p, p->v[i]);
    const int alike = fabsl(v - best) <= 1e-12L * best;
    if (v > 0 && ((!alike && v > best) || (alike && p->v[i] < level)))
      best = v > best ? v : best, level = p->v[i];
  }
  return level;
}

static void check_equalize(void) {
  static _Alignas(64) char scratch[65536 * 10];
  const int64_t shape[FC_AXES] = {random_int(1, 2), random_int(1, 16), random_int(1, 16), random_int(1, 4)};
  const int dtype = random_int(0, 1) ? FC_U8 : FC_U16;
  const fc_equalize e = {.white = random_int(0, 1) ? 255
                                  : dtype == FC_U8 ? (uint32_t)random_int(1, 255)
                                                   : 65535,
                         .form = (int32_t)random_int(FC_EQUALIZE_FLAT, FC_EQUALIZE_OTSU_INVERSE)};
  signal in = signal_new(FC_IMAGE, dtype, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  signal out = signal_new(FC_IMAGE, dtype, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  const int64_t low = random_int(0, 200), high = low + (random_int(0, 3) ? random_int(0, 55) : 0);
  int64_t at[FC_AXES], off = 0;
  FOR_EACH(&in.view, at) view_set(&in.view, at, (double)random_int(low, high));
  CHECK(fc_equalize_scratch(&out.view) <= sizeof scratch, "scratch");
  CHECK(fc_equalize_cpu(&e, &in.view, &out.view, scratch) == FC_OK, "it fails");
  for (int64_t n = 0; n < shape[0]; n++)
    for (int64_t c = 0; c < shape[3]; c++) {
      const plane p = plane_of(&in.view, n, c), got = plane_of(&out.view, n, c);
      const double level = otsu_level(&p);
      for (int64_t i = 0; i < p.n; i++) {
        const double above = (p.v[i] > level) == (e.form == FC_EQUALIZE_OTSU) ? e.white : 0;
        off += got.v[i] != (e.form == FC_EQUALIZE_FLAT ? flat(&p, p.v[i], e.white) : above);
      }
    }
  CHECK(off == 0, "form %d, white %u, codes from %" PRId64 " to %" PRId64 ": %" PRId64 " samples are others",
        e.form, e.white, low, high, off);
  CHECK(signal_only_written(&out), "wrote beyond the elements");
  signal_free(&in), signal_free(&out);
}

/* ---- counts -------------------------------------------------------------------------- */

static void check_histogram(void) {
  static _Alignas(64) char made[1 << 20];
  const int64_t shape[FC_AXES] = {random_int(1, 2), random_int(1, 16), random_int(1, 16), random_int(1, 3)};
  /* Widths are powers of two, so that no edge is rounded. */
  const double width = exp2((double)random_int(-2, 4)), low = (double)random_int(-4, 40) * width;
  fc_histogram h = {.bins = random_int(1, 40), .align = random_int(1, 5), .axis = FC_AXIS_Y, .low = low};
  h.high = low + width * (double)h.bins, h.scale = 1 / width;
  signal in = signal_new(FC_IMAGE, FC_F32, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  int64_t at[FC_AXES], off = 0;
  FOR_EACH(&in.view, at) view_set(&in.view, at, random_int(0, 30) ? (double)random_int(-400, 2400) / 4 : NAN);
  const size_t block = fc_histogram_bytes(h.bins, shape[3]);
  const int64_t blocks = (shape[1] + h.align - 1) / h.align, stride = (int64_t)block * blocks;
  CHECK(stride * shape[0] <= (int64_t)sizeof made, "room");
  memset(made, GUARD_PATTERN, sizeof made);
  CHECK(fc_histogram_cpu(&h, &in.view, made, stride) == FC_OK, "it fails");
  for (int64_t n = 0; n < shape[0]; n++)
    for (int64_t b = 0; b < blocks; b++)
      for (int64_t c = 0; c < shape[3]; c++) {
        uint64_t want[64] = {0}, got[64];
        for (int64_t y = b * h.align; y < shape[1] && y < (b + 1) * h.align; y++)
          for (int64_t x = 0; x < shape[2]; x++) {
            const int64_t from[FC_AXES] = {n, y, x, c};
            const double v = view_get(&in.view, from);
            int64_t bin = h.bins + 2; /* NaN */
            if (v < low) bin = h.bins;
            if (v > h.high) bin = h.bins + 1;
            for (int64_t k = 0; k < h.bins; k++)
              if (v >= low + width * (double)k &&
                  (v < low + width * (double)(k + 1) || (k == h.bins - 1 && v == h.high)))
                bin = k;
            want[bin]++;
          }
        const int64_t counters = h.bins + FC_HISTOGRAM_EXTRA;
        memcpy(got,
               made + n * stride + b * (int64_t)block + (int64_t)sizeof(fc_histogram_head) + c * counters * 8,
               (size_t)counters * 8);
        off += memcmp(got, want, (size_t)counters * 8) != 0;
      }
  CHECK(off == 0, "%" PRId64 " bins of %g from %g: counts of %" PRId64 " blocks are others", h.bins, width,
        low, off);
  signal_free(&in);
}

int main(void) {
  random_start(20261126);
  for (int i = 0; i < 600; i += trial_step()) check_equalize();
  for (int i = 0; i < 400; i += trial_step()) check_histogram();
  return check_result();
}
