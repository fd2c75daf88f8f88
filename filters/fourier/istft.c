/* SPDX-License-Identifier: MIT */
/*
 * istft.c - the inverse: the frames that cover a range of output are transformed, as many at a time as a
 * vector has lanes, and added in order.
 */
#include <math.h>
#include <string.h>

#include "filters/base/integers.h"
#include "filters/fourier/stft.h"
#include "filters/fourier/stft_kernels.h"
#include "filters/base/turn.h"

/* Blocks of hop samples that are summed at a time. The frames at its ends are transformed again for the
 * next range: so few of many, and the memory must suffice for all. */
#define STRETCH_HOPS 64

/* Sums of squared windows below this fraction of the largest one count as zero. */
#define LEAST_COVERAGE 1e-10

static double element(const void *from, int compute, int64_t at) {
  return compute == FC_F64 ? ((const double *)from)[at] : (double)((const float *)from)[at];
}

static int64_t floor_of(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

/* The sum of squared windows at a position of the hop, over all possible frames. */
static double covered(const double *window, int64_t frame, int64_t hop, int64_t position) {
  double sum = 0;
  for (int64_t i = position; i < frame; i += hop) sum += window[i] * window[i];
  return sum;
}

double fc_stft_coverage(const double *window, int64_t frame, int64_t hop) {
  double least = INFINITY, most = 0;
  for (int64_t i = 0; i < hop; i++) {
    double sum = covered(window, frame, hop, i);
    least = sum < least ? sum : least;
    most = sum > most ? sum : most;
  }
  return most > 0 ? least / most : 0;
}

/* The weight below which a sample counts as not covered. */
static double least_weight(const fc_stft *s) {
  double most = 0;
  for (int64_t i = 0; i < s->frame; i++) {
    double w = element(s->window, s->compute, i);
    most = w * w > most ? w * w : most;
  }
  return most * LEAST_COVERAGE;
}

fc_status fc_istft_check(const fc_stft *s, const fc_view *in, const fc_view *out) {
  if (s->frame < 1 || s->frame > s->size || s->hop < 1) return FC_INVALID;
  if (in->shape[FC_AXIS_N] != out->shape[FC_AXIS_N] || in->shape[FC_AXIS_Y] != out->shape[FC_AXIS_Y])
    return FC_INVALID;
  return in->shape[FC_AXIS_C] == out->shape[FC_AXIS_C] * 2 * (s->size / 2 + 1) ? FC_OK : FC_INVALID;
}

/* Existing frames, counted from the view's first, that cover positions [from, to) of the output view. */
typedef struct frames {
  int64_t first, end;
} frames;

static frames frames_over(const fc_stft *s, const fc_view *in, int64_t from, int64_t to) {
  frames f = {floor_of(from + s->before - s->frame, s->hop) + 1, floor_of(to - 1 + s->before, s->hop) + 1};
  int64_t origin = in->origin[FC_AXIS_X], extent = in->extent[FC_AXIS_X];
  f.first = fc_larger(f.first, -origin);
  if (extent >= 0) f.end = fc_smaller(f.end, extent - origin);
  return f;
}

/* ---- reference -------------------------------------------------------------- */

/* Sample i of the inverse transform of one frame; `bins` is its first real part. */
static double reference_inverse(const fc_stft *s, const fc_view *in, const char *bins, int64_t i,
                                const double *turns) {
  int64_t last = s->size / 2;
  double sum = 0;
  for (int64_t k = 0; k <= last; k++) {
    const double *turn = turns + 2 * (k * i % s->size);
    double re, im;
    fc_load_f64(&re, bins + k * in->stride[FC_AXIS_C], 0, 1, in->kind, in->dtype);
    fc_load_f64(&im, bins + (last + 1 + k) * in->stride[FC_AXIS_C], 0, 1, in->kind, in->dtype);
    int edge = k == 0 || 2 * k == s->size;
    sum += (edge ? 1 : 2) * (re * turn[0] - (edge ? 0 : im * turn[1])) + 0 * re + 0 * im;
  }
  return sum / (double)s->size;
}

static double reference_sample(const fc_stft *s, const fc_view *in, int64_t n, int64_t y, int64_t x,
                               int64_t c, const double *turns) {
  frames f = frames_over(s, in, x, x + 1);
  double sum = 0, weight = 0;
  for (int64_t i = f.first; i < f.end; i++) {
    int64_t at = x + s->before - i * s->hop;
    double w = element(s->window, s->compute, at);
    sum += w * reference_inverse(s, in, fc_view_at(in, n, y, i, c * 2 * (s->size / 2 + 1)), at, turns);
    weight += w * w;
  }
  return weight > least_weight(s) ? sum / weight : 0;
}

fc_status fc_istft_ref(const fc_stft *s, const fc_view *in, const fc_view *out, void *scratch,
                       uint32_t *notes) {
  fc_status status = fc_istft_check(s, in, out);
  if (status != FC_OK) return status;
  double *turns = scratch;
  for (int64_t i = 0; i < s->size; i++) fc_turn(i, s->size, &turns[2 * i], &turns[2 * i + 1]);
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
      for (int64_t x = 0; x < out->shape[FC_AXIS_X]; x++)
        for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c++) {
          double value = reference_sample(s, in, n, y, x, c, turns);
          fc_store_f64(fc_view_at(out, n, y, x, c), 0, &value, 1, out->kind, out->dtype, notes);
        }
  return FC_OK;
}

/* ---- the CPU ------------------------------------------------------------------ */

typedef struct stretch {
  const fc_stft *s;
  const fc_stft_kernels *k;
  int64_t lanes, size;
  double least;
  char *sum, *weight;               /* of the stretch */
  char *turned;                     /* lanes' frames one after the other, in or out */
  char *re, *im, *x, *taint, *rest; /* planes of lanes */
  int64_t bytes;
} stretch;

/* At most as many lanes as there are frames that reach into the output. */
static stretch stretch_of(const fc_stft *s, const fc_view *out, char *scratch) {
  stretch t = {.s = s, .k = fc_stft_kernels_of(s->isa, s->compute)};
  t.lanes = fc_smaller(fc_rfft_lanes(s->plan), (out->shape[FC_AXIS_X] + s->frame - 1) / s->hop + 1);
  t.size = (int64_t)fc_dtype_size(s->compute);
  t.least = least_weight(s);
  int64_t samples = fc_align64(STRETCH_HOPS * s->hop * t.size),
          plane = fc_align64((s->size + 2) * t.lanes * t.size);
  t.sum = scratch;
  t.weight = t.sum + samples;
  t.turned = t.weight + samples;
  t.re = t.turned + plane;
  t.im = t.re + plane;
  t.x = t.im + plane;
  t.taint = t.x + plane;
  t.rest = t.taint + fc_align64(t.lanes * t.size);
  t.bytes = t.rest - scratch + (int64_t)fc_rfft_scratch(s->plan, t.lanes);
  return t;
}

size_t fc_istft_scratch(const fc_stft *s, const fc_view *out) {
  return (size_t)stretch_of(s, out, NULL).bytes;
}

/* The real or imaginary parts of `count` frames from `bins` on, into lanes. */
static void load_part(const stretch *t, const fc_view *in, const char *bins, int64_t count, char *plane) {
  int64_t rows = t->s->size / 2 + 1;
  for (int64_t l = 0; l < count; l++)
    fc_load(t->turned + l * rows * t->size, t->s->compute, bins + l * in->stride[FC_AXIS_X],
            in->stride[FC_AXIS_C], rows, in->kind, in->dtype);
  t->k->gather(plane, t->turned, rows, NULL, rows, count, t->lanes);
}

/* NaN or infinity in a lane's bins makes all its samples NaN. */
static void spread_taint(const stretch *t) {
  int64_t bins = t->s->size / 2 + 1;
  int tainted = 0;
  memset(t->taint, 0, (size_t)(t->lanes * t->size));
  t->k->taint(t->taint, t->re, bins, t->lanes);
  t->k->taint(t->taint, t->im, bins, t->lanes);
  for (int64_t l = 0; l < t->lanes; l++) tainted |= isnan(element(t->taint, t->s->compute, l)) != 0;
  if (tainted) t->k->spread(t->x, t->taint, t->s->frame, t->lanes);
}

/* Transforms frames [first, first + count) back, consecutively into `turned`. */
static void invert(const stretch *t, const fc_view *in, const char *channel, int64_t first, int64_t count) {
  const char *bins = channel + first * in->stride[FC_AXIS_X];
  load_part(t, in, bins, count, t->re);
  load_part(t, in, bins + (t->s->size / 2 + 1) * in->stride[FC_AXIS_C], count, t->im);
  fc_rfft_inverse(t->s->plan, t->re, t->im, t->x, t->lanes, t->rest);
  spread_taint(t);
  t->k->scatter(t->turned, t->x, t->s->frame, count, t->lanes);
}

/* Adds frame f, at `y`, to the range of `length` samples that begins at `from`. */
static void add_frame(const stretch *t, const char *y, int64_t f, int64_t from, int64_t length) {
  int64_t start = f * t->s->hop - t->s->before - from;
  int64_t lo = fc_larger(start, 0), hi = fc_smaller(start + t->s->frame, length);
  if (lo >= hi) return;
  t->k->overlap(t->sum + lo * t->size, t->weight + lo * t->size, y + (lo - start) * t->size,
                (const char *)t->s->window + (lo - start) * t->size, hi - lo);
}

static void run_stretch(const stretch *t, const fc_view *in, const char *channel, int64_t from,
                        int64_t length) {
  frames f = frames_over(t->s, in, from, from + length);
  memset(t->sum, 0, (size_t)(length * t->size));
  memset(t->weight, 0, (size_t)(length * t->size));
  for (int64_t first = f.first; first < f.end; first += t->lanes) {
    int64_t count = fc_smaller(t->lanes, f.end - first);
    invert(t, in, channel, first, count);
    for (int64_t l = 0; l < count; l++)
      add_frame(t, t->turned + l * t->s->frame * t->size, first + l, from, length);
  }
  t->k->divide(t->sum, t->weight, t->least, length);
}

fc_status fc_istft_cpu(const fc_stft *s, const fc_view *in, const fc_view *out, void *scratch,
                       uint32_t *notes) {
  fc_status status = fc_istft_check(s, in, out);
  if (status != FC_OK) return status;
  stretch t = stretch_of(s, out, scratch);
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
      for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c++)
        for (int64_t x = 0; x < out->shape[FC_AXIS_X]; x += STRETCH_HOPS * s->hop) {
          int64_t length = fc_smaller(STRETCH_HOPS * s->hop, out->shape[FC_AXIS_X] - x);
          run_stretch(&t, in, fc_view_at(in, n, y, 0, c * 2 * (s->size / 2 + 1)), x, length);
          fc_store(fc_view_at(out, n, y, x, c), out->stride[FC_AXIS_X], t.sum, s->compute, length, out->kind,
                   out->dtype, notes);
        }
  return FC_OK;
}
