/* SPDX-License-Identifier: MIT */
/* ranges.c - see ranges.h. */
#include "core/compose/ranges.h"

#include <math.h>
#include <stdio.h>

/* What is known of the values at a link: nothing, or that they are finite and in a range. */
typedef struct known {
  gboolean finite;
  double low, high;
} known;

/* Integers hold no NaN, and their real values are bounded. */
static known known_of(int dtype, int kind) {
  static const double least[] = {0, -32768, 0, -2147483648.0}, most[] = {255, 32767, 65535, 2147483647};
  if (fc_dtype_is_float(dtype)) return (known){FALSE, 0, 0};
  const fc_scaling s = fc_scaling_of(kind, dtype);
  return (known){TRUE, (least[dtype] - s.bias) * s.scale, (most[dtype] - s.bias) * s.scale};
}

/* Whether all stages behind stage i only move what it makes, so that it is rounded when it is stored. */
static gboolean is_only_moved(const fc_composition *c, guint i) {
  const guint32 moves = FC_FUNCTION_SELECTS | FC_FUNCTION_KEEPS_ALL;
  for (guint s = i + 1; s < c->n; s++)
    if ((c->stages[s].function->flags & moves) != moves || c->stages[s].dtype != c->stages[i].dtype)
      return FALSE;
  return TRUE;
}

gboolean fc_statistic_read(const fc_device_function *function, fc_statistic_text *statistic) {
  enum { VAR = 3, STD = 4, LEAST = 6 }; /* as in statistic.cuh; from LEAST on, extremes */
  int which = 0, taps = 0, dtype = 0;
  if (function->flags & FC_FUNCTION_AROUND ||
      sscanf(function->entry, "fc_statistic<%d,%d,%d", &which, &taps, &dtype) != 3)
    return FALSE;
  statistic->codes = which < LEAST && !fc_dtype_is_float(dtype);
  statistic->variance = which == VAR || which == STD, statistic->extreme = which >= LEAST;
  statistic->dtype = dtype;
  return TRUE;
}

/* Whether stage i is a statistic of integers, which running.cuh turns into the link's integers itself. */
static gboolean makes_codes(const fc_composition *c, guint i) {
  fc_statistic_text statistic;
  return !fc_dtype_is_float(c->stages[i].dtype) && fc_statistic_read(c->stages[i].function, &statistic) &&
         statistic.codes;
}

gboolean fc_ranges_rounded(const fc_composition *c, guint i, int in_dtype) {
  const int link = c->stages[i].dtype, before = i ? c->stages[i - 1].dtype : in_dtype;
  if (is_only_moved(c, i) || makes_codes(c, i) ||
      (c->stages[i].function->flags & FC_FUNCTION_SELECTS && link == before))
    return FALSE;
  return !fc_dtype_is_float(link) || (link == FC_F32 && c->compute == FC_F64);
}

/* Bounds on rounding errors inside a stage: relative to the largest value, and absolute (TINY) for
 * denormal numbers. Numbers outside the range of f32 are not handled: f32 has no 1e39. */
#define ROUNDED 1e-4
#define ULP     0x1p-24 /* of one sum or product */
#define TINY    1e-30
#define FAR     1e15

/* Of sums of products by their number, with some for the taps themselves: what a mask of weights whose sum is
 * 1 makes of u16 is then known to be u16. */
static double rounded_by(const fc_device_function *f) {
  enum { MORE = 16 };
  if (!g_str_has_prefix(f->entry, "fc_separable<") && !g_str_has_prefix(f->entry, "fc_dense<"))
    return ROUNDED;
  return MIN((MORE + (double)f->window_x * f->window_y) * ULP, ROUNDED);
}

/* Whether results are weighed sums of arguments, so that either end of their range follows from one of theirs
 * if no weight is negative: full scale of 16 bits is -32768 to 32767. */
static gboolean is_weighed_sum(const fc_device_function *f) {
  return f->flags & FC_FUNCTION_NONNEGATIVE && f->offset == 0 &&
         (g_str_equal(f->entry, "fc_scale") || g_str_has_prefix(f->entry, "fc_separable<") ||
          g_str_has_prefix(f->entry, "fc_dense<"));
}

static known known_behind(known k, const fc_device_function *f) {
  if (f->flags & FC_FUNCTION_SELECTS) return k;
  const double most = (f->growth * MAX(fabs(k.low), fabs(k.high)) + f->offset) * (1 + rounded_by(f)) + TINY;
  if (!k.finite || !(f->growth > 1 / FAR && f->growth < FAR && f->offset < FAR) || !(most < 1e30))
    return (known){FALSE, 0, 0};
  if (g_str_equal(f->entry, "fc_clamp"))
    return (known){TRUE, fmin(fmax(k.low, f->low), f->high), fmin(fmax(k.high, f->low), f->high)};
  const double factor = is_weighed_sum(f) ? f->growth * (1 + rounded_by(f)) : 0, high = k.high;
  k.high = factor > 0 ? fmax(high, 0) * factor + TINY : most;
  k.low = f->flags & FC_FUNCTION_NONNEGATIVE && k.low >= 0 ? 0
          : factor > 0                                     ? fmin(k.low, 0) * factor - TINY
                                                           : -most;
  if (f->low <= f->high) k.low = MAX(k.low, f->low), k.high = MIN(k.high, f->high);
  return k;
}

/* What a window sees beyond the ends; 0 for stages that read none. */
static double beyond(const fc_composition *c, guint i) {
  if (!(c->stages[i].function->flags & FC_FUNCTION_WINDOW)) return 0;
  return i == c->window && c->windows < 2 ? c->border_value : c->stages[i].border_value;
}

static known with_border(known k, double value) {
  return (known){k.finite && isfinite(value), MIN(k.low, value), MAX(k.high, value)};
}

/* What is known of the input of stage i; n: of the stored values. */
static known known_ahead(const fc_composition *c, guint i, int in_dtype) {
  known k = c->bounded ? (known){TRUE, c->low, c->high} : known_of(in_dtype, c->stages[0].kind);
  for (guint s = 0; s < i; s++) {
    const fc_compose_stage *stage = &c->stages[s];
    if (stage->function->flags & FC_FUNCTION_WINDOW) k = with_border(k, beyond(c, s));
    k = known_behind(k, stage->function);
    if (fc_dtype_is_float(stage->dtype) || !fc_ranges_rounded(c, s, in_dtype)) continue;
    const double unit = fc_scaling_of(stage->kind, stage->dtype).scale;
    const known stored = known_of(stage->dtype, stage->kind);
    if (!k.finite) k = stored;
    k.low = MAX(k.low >= unit || k.low < 0 ? k.low - unit : 0, stored.low);
    k.high = MIN(k.high + unit, stored.high);
  }
  return k;
}

gboolean fc_ranges_nan_free(const fc_composition *c, guint i, int in_dtype) {
  for (guint s = i; s < c->n; s++)
    if (!(c->stages[s].function->growth >= 0) || !isfinite(beyond(c, s)))
      return FALSE; /* not known, as with a division */
  return !fc_dtype_is_float(c->stages[c->n - 1].dtype) && known_ahead(c, i, in_dtype).finite;
}

gboolean fc_ranges_finite(const fc_composition *c, guint i, int in_dtype) {
  const known k = with_border(known_ahead(c, i, in_dtype), beyond(c, i)); /* not rounded to what is stored */
  const double most = MAX(fabs(k.low), fabs(k.high)); /* transforms add what is ahead of small factors */
  return most < 1e30 && known_behind(k, c->stages[i].function).finite;
}

gboolean fc_ranges_stored(const fc_composition *c, int in_dtype, double *low, double *high) {
  const known k = known_ahead(c, c->n, in_dtype);
  *low = k.low, *high = k.high;
  return k.finite;
}

gboolean fc_ranges_quiet(const fc_composition *c, int in_dtype) {
  const fc_compose_stage *last = &c->stages[c->n - 1];
  const known k = known_ahead(c, c->n, in_dtype);
  const known stored = known_of(last->dtype, last->kind);
  if (!k.finite || !stored.finite) return FALSE;
  /* Limits, and selected values of i32, are rounded to f32, where 2147483647 becomes 2147483648. */
  const double half = 0.49 * fc_scaling_of(last->kind, last->dtype).scale,
               rounded = 1e-6 * MAX(fabs(k.low), fabs(k.high));
  return k.low - rounded > stored.low - half && k.high + rounded < stored.high + half;
}

gboolean fc_ranges_near(const fc_composition *c, int in_dtype) {
  const double most = 32000;
  const fc_compose_stage *last = &c->stages[c->n - 1];
  const known k = known_ahead(c, c->n, in_dtype);
  if (last->dtype != FC_U8 || !k.finite) return FALSE;
  const fc_scaling s = fc_scaling_of(last->kind, last->dtype);
  return k.low / s.scale + s.bias > -most && k.high / s.scale + s.bias < most;
}

const char *fc_ranges_none(const fc_composition *c, int in_dtype) {
  return fc_ranges_quiet(c, in_dtype)  ? "fc_none_quiet"
         : fc_ranges_near(c, in_dtype) ? "fc_none_near"
                                       : "fc_none";
}

/* Codes that start from 0, without a bias: 2^23 and half of 2^16 are no power of two. */
gboolean fc_ranges_scales(const fc_composition *c, int in_dtype) {
  const double far = 1e9;
  const fc_device_function *f = c->stages[0].function;
  return (in_dtype == FC_U8 || in_dtype == FC_U16) && c->stages[0].kind != FC_AUDIO && c->compute == FC_F32 &&
         g_str_equal(f->entry, "fc_scale") && f->in == 0 && f->flags & FC_FUNCTION_NONNEGATIVE &&
         f->growth > 1 / far && f->growth < far;
}
