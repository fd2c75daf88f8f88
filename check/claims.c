/* SPDX-License-Identifier: MIT */
/* claims.c - see claims.h. */
#include "check/claims.h"

#include <math.h>

static double real_at(const void *p, gint64 i, int compute) {
  return compute == FC_F64 ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

static void real_set(void *p, gint64 i, int compute, double value) {
  if (compute == FC_F64)
    ((double *)p)[i] = value;
  else
    ((float *)p)[i] = (float)value;
}

static double finite_or_zero(double value, double most) {
  (void)most;
  return isfinite(value) ? value : 0;
}
static double size_or_zero(double value, double most) {
  return fabs(finite_or_zero(value, most));
}

/* As integers are made: rounded, and clipped; not symmetrical, and so that no f32 is rounded once more. */
static double coded(double value, double most) {
  const double step = ldexp(1, most > 0 ? ilogb(most) - 8 : 0);
  return fmin(fmax(rint(finite_or_zero(value, most) / step), -32), 128) * step;
}

/* Arguments, and what the function makes of them. */
typedef struct made {
  void *from, *to;
  gint64 count; /* results */
} made;

static void made_clear(made *m) {
  g_free(m->from);
  g_free(m->to);
}

static double largest(const function_call *c) {
  double most = 0;
  for (gint64 i = 0; i < c->args; i++)
    most = fmax(most, fabs(finite_or_zero(real_at(c->from, i, c->compute), 0)));
  return most;
}

/* Of arguments changed so that all are finite; `most`: the largest of them. */
static made make(const function_call *c, double (*change)(double, double), double most) {
  const gsize size = fc_dtype_size(c->compute);
  made m = {.count = c->calls * (c->f->out ? c->f->out : 1)};
  m.from = g_malloc0((gsize)c->args * size + 1);
  m.to = g_malloc0((gsize)m.count * size + 1);
  for (gint64 i = 0; i < c->args; i++)
    real_set(m.from, i, c->compute, change(real_at(c->from, i, c->compute), most));
  c->apply(c->f->bytes, m.from, m.to, (long)c->calls, (long)c->channels, (long)c->width, (long)c->height);
  return m;
}

/* Whether argument `value` is among those of the call that made result i; or a result among its results. */
static gboolean is_argument(const function_call *c, const made *m, gint64 i, double value) {
  const gint64 wx = c->f->window_x, wy = c->f->window_y;
  if (!(c->f->flags & FC_FUNCTION_AROUND)) {
    const gint64 in = MAX(c->f->in, 1), first = i / MAX(c->f->out, 1) * in;
    for (gint64 k = 0; k < in; k++)
      if (real_at(m->from, first + k, c->compute) == value) return TRUE;
    return FALSE;
  }
  const gint64 channel = i % c->channels, x = i / c->channels % c->width, y = i / c->channels / c->width,
               row = (c->width + wx - 1) * c->channels,
               first = (y + y / c->height * (wy - 1)) * row + x * c->channels + channel;
  for (gint64 k = 0; k < wy; k++)
    for (gint64 j = 0; j < wx; j++)
      if (real_at(m->from, first + k * row + j * c->channels, c->compute) == value) return TRUE;
  return FALSE;
}

static gboolean keeps_argument(const function_call *c, const made *m, gint64 i) {
  const gint64 out = MAX(c->f->out, 1), first = i / MAX(c->f->in, 1) * out;
  for (gint64 k = 0; k < out; k++)
    if (real_at(m->to, first + k, c->compute) == real_at(m->from, i, c->compute)) return TRUE;
  return FALSE;
}

/* As it is computed with. */
static double computed(double value, int compute) {
  return compute == FC_F64 ? value : (double)(float)value;
}

static gboolean is_range_kept(const function_call *c, const made *m, double most, const char *who,
                              verdict *v) {
  const double low = computed(c->f->low, c->compute), high = computed(c->f->high, c->compute),
               bound = computed((c->f->growth * most + c->f->offset) * (1 + CLAIMS_ROUNDING), c->compute) +
                       CLAIMS_TINY;
  for (gint64 i = 0; i < m->count; i++) {
    const double y = real_at(m->to, i, c->compute);
    if (c->f->low <= c->f->high && !(y >= low && y <= high))
      return blame(v, FAULT_FUNCTION,
                   "%s: the device function makes %.9g, and says that it makes %.9g to %.9g", who, y, low,
                   high);
    if (c->f->growth >= 0 && isfinite(bound) && !(fabs(y) <= bound))
      return blame(v, FAULT_FUNCTION,
                   "%s: the device function makes %.9g, and says that of arguments to %.9g it makes %.9g at "
                   "most",
                   who, y, most, bound);
  }
  return TRUE;
}

static gboolean is_selection(const function_call *c, const made *m, const char *who, verdict *v) {
  for (gint64 i = 0; c->f->flags & FC_FUNCTION_SELECTS && i < m->count; i++)
    if (!is_argument(c, m, i, real_at(m->to, i, c->compute)))
      return blame(v, FAULT_FUNCTION,
                   "%s: the device function says that it selects arguments, and makes %.9g, not one of them",
                   who, real_at(m->to, i, c->compute));
  for (gint64 i = 0; c->f->flags & FC_FUNCTION_KEEPS_ALL && i < c->args; i++)
    if (!keeps_argument(c, m, i))
      return blame(v, FAULT_FUNCTION,
                   "%s: the device function says that it keeps all arguments, and %.9g is not kept", who,
                   real_at(m->from, i, c->compute));
  return TRUE;
}

static gboolean is_not_negative(const function_call *c, double most, const char *who, verdict *v) {
  made m = make(c, size_or_zero, most);
  gboolean ok = TRUE;
  for (gint64 i = 0; i < m.count && ok; i++)
    if (real_at(m.to, i, c->compute) < 0)
      ok = blame(v, FAULT_FUNCTION,
                 "%s: the device function says that of arguments >= 0 it makes none that is negative, and "
                 "makes %.9g",
                 who, real_at(m.to, i, c->compute));
  made_clear(&m);
  return ok;
}

/* Whether it makes no difference if integers are made of what goes in, or of what comes out. */
static gboolean is_rank(const function_call *c, const made *m, double most, const char *who, verdict *v) {
  made codes = make(c, coded, most);
  gboolean ok = TRUE;
  for (gint64 i = 0; i < m->count && ok; i++) {
    const double y = coded(real_at(m->to, i, c->compute), most),
                 z = coded(real_at(codes.to, i, c->compute), most);
    if (y != z)
      ok = blame(v, FAULT_FUNCTION,
                 "%s: the device function says that it only ranks, and it makes a difference whether "
                 "arguments are rounded, to %.9g, or results, to %.9g",
                 who, z, y);
  }
  made_clear(&codes);
  return ok;
}

gboolean claims_hold(const function_call *call, const char *who, verdict *v) {
  const double most = largest(call);
  made m = make(call, finite_or_zero, most);
  const guint32 flags = call->f->flags;
  const gboolean ok = is_range_kept(call, &m, most, who, v) && is_selection(call, &m, who, v) &&
                      (!(flags & FC_FUNCTION_NONNEGATIVE) || is_not_negative(call, most, who, v)) &&
                      (!(flags & FC_FUNCTION_RANKS) || is_rank(call, &m, most, who, v));
  made_clear(&m);
  return ok;
}
