/* SPDX-License-Identifier: MIT */
/*
 * compare.c - see compare.h.
 */
#include "check/compare.h"

#include <math.h>
#include <string.h>

/* With more codes than this f32 cannot decide which is right: integers are then compared like floats. */
#define MANY_CODES 131072

/* ---- walking --------------------------------------------------------------------- */

typedef struct comparison {
  const expected *e;
  const unsigned char *got;
  verdict *v;
  gsize size;
  gboolean integer;
  double low, high; /* of an integer, without the bias */
  fc_scaling scaling;
  double element_tolerance, l2_tolerance, integer_tolerance;
  gint64 count;  /* elements */
  gint64 beside; /* integers off by one that may be ties: the reference's unrounded values are not known */
  double floor;  /* an absolute error that is always accepted */
} comparison;

static gint64 index_of(const comparison *c, const gint64 at[FC_AXES]) {
  const gint64 *e = c->e->out.extent;
  return ((at[0] * e[1] + at[1]) * e[2] + at[2]) * e[3] + at[3];
}

/* In units of a code, without bias; floats unchanged. */
static double wanted_at(const comparison *c, gint64 index) {
  const expected *e = c->e;
  if (e->reals) return e->reals[index] / c->scaling.scale;
  return element_code(e->codes + (gsize)index * c->size, e->out.dtype) - c->scaling.bias;
}

static double got_at(const comparison *c, gint64 index) {
  return element_code(c->got + (gsize)index * c->size, c->e->out.dtype) - c->scaling.bias;
}

static double scale_at(const comparison *c, gint64 channel) {
  return c->e->scale ? c->e->scale[channel] / c->scaling.scale : 0;
}

static double row_size(const comparison *c, gint64 at[FC_AXES]) {
  double largest = 0;
  for (at[2] = 0; at[2] < c->e->out.extent[2]; at[2]++) {
    double wanted = fabs(wanted_at(c, index_of(c, at)));
    if (isfinite(wanted)) largest = MAX(largest, wanted);
  }
  return MAX(largest, scale_at(c, at[3]));
}

static gboolean differs(const comparison *c, const gint64 at[FC_AXES], double wanted, double got,
                        double allowed) {
  return blame(c->v, FAULT_VALUE,
               "%s: element (%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT
               ") is %.9g, the reference has %.17g (off by %.3g, allowed %.3g)",
               c->e->who, at[0], at[1], at[2], at[3], got, wanted, fabs(got - wanted), allowed);
}

/* ---- one element ------------------------------------------------------------------- */

static double clamped(const comparison *c, double code) {
  return code < c->low ? c->low : code > c->high ? c->high : code;
}

/* Near a tie the neighbouring code is accepted as well. If ties cannot be recognised (no double output)
 * one in twenty is accepted: images have few codes. */
static gboolean integer_fits(comparison *c, const gint64 at[FC_AXES], double wanted, double got, double row) {
  if (c->e->fill == FILL_INF && !isfinite(wanted)) return TRUE;
  double meant = isnan(wanted) ? 0 : clamped(c, wanted), error = fabs(got - meant);
  double relative = row > MANY_CODES ? c->element_tolerance : c->integer_tolerance;
  double allowed = (c->e->reals ? 0.5 : 0) + relative * row;
  if (error <= allowed) return TRUE;
  if (!c->e->reals && error <= 1 + allowed && 20 * c->beside++ <= c->count) return TRUE;
  return differs(c, at, wanted, got, allowed);
}

/* For infinite input both results only have to be finite in the same places: how infinities combine
 * depends on the algorithm. */
static gboolean float_fits(comparison *c, const gint64 at[FC_AXES], double wanted, double got, double row) {
  if (c->e->fill == FILL_INF && !isfinite(wanted)) return !isfinite(got) || differs(c, at, wanted, got, 0);
  if (isnan(wanted) || isnan(got)) return isnan(wanted) == isnan(got) || differs(c, at, wanted, got, 0);
  /* A value too large for a float is infinite. */
  if (c->e->out.dtype == FC_F32 && isinf((float)wanted)) wanted = (double)(float)wanted;
  if (wanted == got) return TRUE;
  double allowed = c->element_tolerance * row + c->floor;
  return fabs(got - wanted) <= allowed || differs(c, at, wanted, got, allowed);
}

/* ---- all of them -------------------------------------------------------------------- */

static gboolean rows_fit(comparison *c) {
  const gint64 *e = c->e->out.extent;
  gint64 at[FC_AXES];
  for (at[0] = 0; at[0] < e[0]; at[0]++)
    for (at[1] = 0; at[1] < e[1]; at[1]++)
      for (at[3] = 0; at[3] < e[3]; at[3]++) {
        double row = row_size(c, at);
        for (at[2] = 0; at[2] < e[2]; at[2]++) {
          gint64 index = index_of(c, at);
          double wanted = wanted_at(c, index), got = got_at(c, index);
          if (!(c->integer ? integer_fits : float_fits)(c, at, wanted, got, row)) return FALSE;
        }
      }
  return TRUE;
}

static gboolean channels_fit(const comparison *c) {
  const gint64 *e = c->e->out.extent;
  gint64 each = e[0] * e[1] * e[2];
  for (gint64 channel = 0; channel < e[3]; channel++) {
    double error = 0, power = 0, scale = scale_at(c, channel);
    for (gint64 i = 0; i < each; i++) {
      double wanted = wanted_at(c, i * e[3] + channel), got = got_at(c, i * e[3] + channel);
      if (!isfinite(wanted) || !isfinite(got)) continue;
      error += (got - wanted) * (got - wanted);
      power += MAX(wanted * wanted, scale * scale);
    }
    if (sqrt(error) > c->l2_tolerance * sqrt(power) + c->floor * sqrt((double)each))
      return blame(c->v, FAULT_VALUE,
                   "%s: channel %" G_GINT64_FORMAT ": relative L2 error %.3g, allowed %.3g", c->e->who,
                   channel, sqrt(error / power), c->l2_tolerance);
  }
  return TRUE;
}

static void begin(comparison *c, const expected *e, const unsigned char *got, verdict *v) {
  gboolean single = e->compute == FC_F32 || e->out.dtype == FC_F32;
  *c = (comparison){.e = e, .got = got, .v = v, .size = fc_dtype_size(e->out.dtype)};
  c->count = 1;
  for (int a = 0; a < FC_AXES; a++) c->count *= e->out.extent[a];
  c->scaling = fc_scaling_of(e->out.kind, e->out.dtype);
  c->integer = element_limits(e->out.dtype, &c->low, &c->high);
  c->low -= c->scaling.bias, c->high -= c->scaling.bias;
  /* the square root of the smallest normal float: squares of smaller values vanish */
  c->floor = single ? 2e-19 : 0;
  c->element_tolerance = single ? 1e-5 : 1e-12;
  /* Equal terms are rounded the same way each time, so errors add up. */
  gboolean alike = e->fill == FILL_CONSTANT || e->fill == FILL_OFFSET;
  c->l2_tolerance = e->compute == FC_F32 ? (alike ? 1e-5 : 1e-6) : single ? 2e-7 : 1e-14;
  c->integer_tolerance = e->compute == FC_F32 ? (alike ? 1e-5 : 3e-6) : 1e-12;
  if (e->tolerance > 0) c->element_tolerance = c->l2_tolerance = c->integer_tolerance = e->tolerance;
}

gboolean compare_bits(const fc_format *out, const unsigned char *a, const unsigned char *b, gint64 *at) {
  gsize size = fc_dtype_size(out->dtype);
  gint64 count = 1;
  for (int axis = 0; axis < FC_AXES; axis++) count *= out->extent[axis];
  for (gint64 i = 0; i < count; i++) {
    const unsigned char *x = a + (gsize)i * size, *y = b + (gsize)i * size;
    if (memcmp(x, y, size) == 0) continue;
    if (isnan(element_code(x, out->dtype)) && isnan(element_code(y, out->dtype))) continue;
    *at = i;
    return FALSE;
  }
  return TRUE;
}

gboolean compare_values(const expected *e, const unsigned char *got, verdict *v) {
  comparison c;
  gint64 at = 0;
  begin(&c, e, got, v);
  if (!e->exact) return rows_fit(&c) && (c.integer || channels_fit(&c));
  if (compare_bits(&e->out, e->codes, got, &at)) return TRUE;
  return blame(v, FAULT_VALUE, "%s: element %" G_GINT64_FORMAT " is %.17g, a copy would be %.17g", e->who, at,
               got_at(&c, at), wanted_at(&c, at));
}

/* ---- notes -------------------------------------------------------------------------- */

/* Whether a value must, or may, have been clamped or NaN. */
static void notes_of(const comparison *c, gboolean must[FC_NOTES], gboolean may[FC_NOTES]) {
  const gint64 *e = c->e->out.extent;
  gint64 at[FC_AXES];
  for (at[0] = 0; at[0] < e[0]; at[0]++)
    for (at[1] = 0; at[1] < e[1]; at[1]++)
      for (at[3] = 0; at[3] < e[3]; at[3]++) {
        double row = row_size(c, at);
        double slack = (row > MANY_CODES ? c->element_tolerance : c->integer_tolerance) * row;
        for (at[2] = 0; at[2] < e[2]; at[2]++) {
          double wanted = wanted_at(c, index_of(c, at));
          if (isnan(wanted)) must[FC_NOTE_NAN] = may[FC_NOTE_NAN] = TRUE;
          if (wanted >= c->high + 0.5 - slack || wanted <= c->low - 0.5 + slack) may[FC_NOTE_CLIPPED] = TRUE;
          if (wanted > c->high + 0.5 + slack || wanted < c->low - 0.5 - slack) must[FC_NOTE_CLIPPED] = TRUE;
        }
      }
}

gboolean compare_notes(const expected *e, const guint32 wanted[FC_NOTES], const guint32 notes[FC_NOTES],
                       verdict *v) {
  static const char *const names[FC_NOTES] = {"NaN", "clipping"};
  gboolean must[FC_NOTES] = {FALSE}, may[FC_NOTES] = {FALSE};
  comparison c;
  begin(&c, e, NULL, v);
  if (e->fill == FILL_INF) return TRUE;
  if (c.integer && e->reals)
    notes_of(&c, must, may);
  else
    for (int i = 0; i < FC_NOTES; i++) must[i] = may[i] = wanted[i] != 0;
  for (int i = 0; i < FC_NOTES; i++) {
    if (must[i] && !notes[i]) return blame(v, FAULT_NOTES, "%s: %s was not noted", e->who, names[i]);
    if (!may[i] && notes[i])
      return blame(v, FAULT_NOTES, "%s: noted %s, of which there was none", e->who, names[i]);
  }
  return TRUE;
}

/* ---- measurements --------------------------------------------------------------------- */

static gboolean same_value(double a, double b, double tolerance, double size) {
  if (tolerance == 0) return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
  if (isnan(a) || isnan(b) || isinf(a) || isinf(b)) return (isnan(a) && isnan(b)) || a == b;
  return fabs(a - b) <= tolerance * MAX(MAX(fabs(a), fabs(b)), size);
}

gboolean compare_measured(const char *who, const GArray *wanted, const GArray *got, double tolerance,
                          double size, verdict *v) {
  if (wanted->len != got->len)
    return blame(v, FAULT_MEASURE, "%s: %u measurements, expected %u", who, got->len, wanted->len);
  for (guint i = 0; i < got->len; i++) {
    const measured *w = &g_array_index(wanted, measured, i), *g = &g_array_index(got, measured, i);
    if (strcmp(w->name, g->name) || strcmp(w->unit, g->unit) || w->channel != g->channel)
      return blame(v, FAULT_MEASURE, "%s: measured %s [%s] of channel %d, expected %s [%s] of %d", who,
                   g->name, g->unit, g->channel, w->name, w->unit, w->channel);
    if (g_strcmp0(w->exact, g->exact))
      return blame(v, FAULT_MEASURE, "%s: %s of channel %d is exactly %s, expected %s", who, g->name,
                   g->channel, g->exact ? g->exact : "nothing", w->exact ? w->exact : "nothing");
    if (!same_value(w->value, g->value, tolerance, size))
      return blame(v, FAULT_MEASURE, "%s: %s of channel %d is %.17g, expected %.17g", who, g->name,
                   g->channel, g->value, w->value);
  }
  return TRUE;
}
