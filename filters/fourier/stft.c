/* SPDX-License-Identifier: MIT */
/*
 * stft.c - the forward transform: the reference, and the CPU version, which processes as many frames of one
 * channel at a time as a vector has lanes.
 */
#include <math.h>
#include <string.h>

#include "filters/base/integers.h"
#include "filters/fourier/stft.h"
#include "filters/fourier/stft_kernels.h"
#include "filters/base/turn.h"

static double element(const void *from, int compute, int64_t at) {
  return compute == FC_F64 ? ((const double *)from)[at] : (double)((const float *)from)[at];
}

static int64_t bins_of(const fc_stft *s) {
  return s->size / 2 + 1;
}

static int64_t values_of(const fc_stft *s) {
  return s->bands.count ? s->bands.count : bins_of(s);
}

fc_status fc_stft_check(const fc_stft *s, const fc_view *in, const fc_view *out) {
  if (s->frame < 1 || s->frame > s->size || s->hop < 1 || s->components < 1 || s->components > FC_COMPONENTS)
    return FC_INVALID;
  for (int i = 0; i < s->components; i++) {
    int c = s->component[i];
    if (c < 0 || c >= FC_COMPONENTS) return FC_INVALID;
    if (s->bands.count && c != FC_MAG && c != FC_POWER && c != FC_DB) return FC_INVALID;
  }
  if (in->shape[FC_AXIS_N] != out->shape[FC_AXIS_N] || in->shape[FC_AXIS_Y] != out->shape[FC_AXIS_Y])
    return FC_INVALID;
  return out->shape[FC_AXIS_C] == in->shape[FC_AXIS_C] * fc_stft_width(s) ? FC_OK : FC_INVALID;
}

/* ---- reference -------------------------------------------------------------- */

size_t fc_stft_ref_scratch(const fc_stft *s) {
  return (size_t)(2 * s->size) * sizeof(double);
}

/* A frame of one channel, and the cosines and sines of i / size turns. */
typedef struct reference {
  const fc_stft *s;
  const fc_view *in;
  const char *frame;
  double *turns;
} reference;

static void reference_bin(const reference *r, int64_t k, double *re, double *im) {
  const fc_stft *s = r->s;
  *re = *im = 0;
  for (int64_t i = 0; i < s->frame; i++) {
    const double *turn = r->turns + 2 * (k * i % s->size);
    double x;
    fc_load_f64(&x, r->frame + i * r->in->stride[FC_AXIS_X], 0, 1, r->in->kind, r->in->dtype);
    x *= element(s->window, s->compute, i);
    *re += x * turn[0] + 0 * x;
    *im -= x * turn[1] + 0 * x;
  }
}

/* One component of a bin, before bands. */
static double reference_value(const reference *r, int component, int64_t k) {
  double re, im;
  reference_bin(r, k, &re, &im);
  switch (component) {
  case FC_RE: return re;
  case FC_IM: return im;
  case FC_MAG: return sqrt(re * re + im * im);
  default: return re * re + im * im;
  }
}

static double reference_sum(const reference *r, int component, int64_t v) {
  const fc_bands *b = &r->s->bands;
  double sum = 0;
  if (!b->count)
    sum = reference_value(r, component, v);
  else
    for (int64_t i = b->first[v]; i < b->first[v + 1]; i++)
      sum +=
          element(b->weights, r->s->compute, i) * reference_value(r, component, b->bin[v] + i - b->first[v]);
  if (component != FC_DB) return sum;
  return 10 * log10(sum < FC_DB_FLOOR ? FC_DB_FLOOR : sum);
}

/* All values of the frame; `to` is the first of them. */
static void reference_frame(const reference *r, const fc_view *out, char *to, uint32_t *notes) {
  const fc_stft *s = r->s;
  for (int c = 0; c < s->components; c++)
    for (int64_t v = 0; v < values_of(s); v++) {
      double value = reference_sum(r, s->component[c], v);
      fc_store_f64(to + (c * values_of(s) + v) * out->stride[FC_AXIS_C], 0, &value, 1, out->kind, out->dtype,
                   notes);
    }
}

fc_status fc_stft_ref(const fc_stft *s, const fc_view *in, const fc_view *out, void *scratch,
                      uint32_t *notes) {
  fc_status status = fc_stft_check(s, in, out);
  if (status != FC_OK) return status;
  reference r = {s, in, NULL, scratch};
  for (int64_t i = 0; i < s->size; i++) fc_turn(i, s->size, &r.turns[2 * i], &r.turns[2 * i + 1]);
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
      for (int64_t f = 0; f < out->shape[FC_AXIS_X]; f++)
        for (int64_t c = 0; c < in->shape[FC_AXIS_C]; c++) {
          r.frame = fc_view_at(in, n, y, f * s->hop - s->before, c);
          reference_frame(&r, out, fc_view_at(out, n, y, f, c * fc_stft_width(s)), notes);
        }
  return FC_OK;
}

/* ---- the CPU ------------------------------------------------------------------ */

/* Pointers into scratch. Planes are `size` + 2 rows of lanes. */
typedef struct tile {
  const fc_stft *s;
  const fc_stft_kernels *k;
  int64_t lanes, distance;
  char *span; /* samples of the lanes' frames, `distance` apart */
  char *x, *re, *im, *value, *banded, *turned, *taint, *rest;
  int64_t bytes;
} tile;

/* Long frames are few, and must not be transformed for idle lanes too. */
static tile tile_of(const fc_stft *s, const fc_view *out, char *scratch) {
  tile t = {.s = s, .k = fc_stft_kernels_of(s->isa, s->compute)};
  t.lanes = fc_larger(fc_smaller(fc_rfft_lanes(s->plan), out->shape[FC_AXIS_X]), 1);
  int64_t size = (int64_t)fc_dtype_size(s->compute), plane = fc_align64((s->size + 2) * t.lanes * size);
  int64_t banded = fc_align64(values_of(s) * t.lanes * size);
  /* Overlapping frames share their samples; others are consecutive. */
  t.distance = fc_smaller(s->hop, s->frame);
  t.span = scratch;
  t.x = t.span + fc_align64(((t.lanes - 1) * t.distance + s->frame) * size);
  t.re = t.x + plane;
  t.im = t.re + plane;
  t.value = t.im + plane;
  t.banded = t.value + plane;
  t.turned = t.banded + banded;
  t.taint = t.turned + (banded > plane ? banded : plane);
  t.rest = t.taint + fc_align64(t.lanes * size);
  t.bytes = t.rest - scratch + (int64_t)fc_rfft_scratch(s->plan, t.lanes);
  return t;
}

size_t fc_stft_scratch(const fc_stft *s, const fc_view *out) {
  return (size_t)tile_of(s, out, fc_nowhere()).bytes;
}

/* `count` frames from the one at `frame` on, windowed, into lanes. */
static void load_frames(const tile *t, const fc_view *in, const char *frame, int64_t count) {
  const fc_stft *s = t->s;
  int64_t size = (int64_t)fc_dtype_size(s->compute), stride = in->stride[FC_AXIS_X];
  if (s->hop <= s->frame)
    fc_load(t->span, s->compute, frame, stride, (count - 1) * s->hop + s->frame, in->kind, in->dtype);
  else
    for (int64_t l = 0; l < count; l++)
      fc_load(t->span + l * t->distance * size, s->compute, frame + l * s->hop * stride, stride, s->frame,
              in->kind, in->dtype);
  t->k->gather(t->x, t->span, t->distance, s->window, s->frame, count, t->lanes);
  memset(t->x + s->frame * t->lanes * size, 0, (size_t)((s->size - s->frame) * t->lanes * size));
}

static void transform(const tile *t) {
  const fc_stft *s = t->s;
  fc_rfft_forward(s->plan, t->x, t->re, t->im, t->lanes, t->rest);
  memset(t->taint, 0, (size_t)(t->lanes * (int64_t)fc_dtype_size(s->compute)));
  t->k->taint(t->taint, t->x, s->frame, t->lanes);
  int tainted = 0;
  for (int64_t l = 0; l < t->lanes; l++) tainted |= isnan(element(t->taint, s->compute, l)) != 0;
  if (!tainted) return;
  t->k->spread(t->re, t->taint, bins_of(s), t->lanes);
  t->k->spread(t->im, t->taint, bins_of(s), t->lanes);
}

/* One component of all lanes; returns its address. */
static const char *component_of(const tile *t, int component) {
  const fc_stft *s = t->s;
  int64_t count = bins_of(s) * t->lanes;
  switch (component) {
  case FC_RE: return t->re;
  case FC_IM: return t->im;
  case FC_MAG: t->k->magnitude(t->value, t->re, t->im, count); break;
  default: t->k->power(t->value, t->re, t->im, count); break;
  }
  char *value = t->value;
  if (s->bands.count) t->k->bands(value = t->banded, t->rest, t->value, &s->bands, t->lanes);
  if (component == FC_DB) t->k->decibels(value, value, values_of(s) * t->lanes);
  return value;
}

static void store_frames(const tile *t, const fc_view *out, char *to, int64_t count, uint32_t *notes) {
  const fc_stft *s = t->s;
  int64_t values = values_of(s), row = values * (int64_t)fc_dtype_size(s->compute);
  for (int c = 0; c < s->components; c++) {
    t->k->scatter(t->turned, component_of(t, s->component[c]), values, count, t->lanes);
    for (int64_t l = 0; l < count; l++)
      fc_store(to + l * out->stride[FC_AXIS_X] + c * values * out->stride[FC_AXIS_C], out->stride[FC_AXIS_C],
               t->turned + l * row, s->compute, values, out->kind, out->dtype, notes);
  }
}

static void run_channel(const tile *t, const fc_view *in, const char *from, const fc_view *out, char *to,
                        uint32_t *notes) {
  const fc_stft *s = t->s;
  for (int64_t f = 0; f < out->shape[FC_AXIS_X]; f += t->lanes) {
    int64_t count = fc_smaller(t->lanes, out->shape[FC_AXIS_X] - f);
    load_frames(t, in, from + (f * s->hop - s->before) * in->stride[FC_AXIS_X], count);
    transform(t);
    store_frames(t, out, to + f * out->stride[FC_AXIS_X], count, notes);
  }
}

fc_status fc_stft_cpu(const fc_stft *s, const fc_view *in, const fc_view *out, void *scratch,
                      uint32_t *notes) {
  fc_status status = fc_stft_check(s, in, out);
  if (status != FC_OK) return status;
  tile t = tile_of(s, out, scratch);
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
      for (int64_t c = 0; c < in->shape[FC_AXIS_C]; c++)
        run_channel(&t, in, fc_view_at(in, n, y, 0, c), out, fc_view_at(out, n, y, 0, c * fc_stft_width(s)),
                    notes);
  return FC_OK;
}
