/* SPDX-License-Identifier: MIT */
/* clipped.c - see clipped.h. One comparison for each value, on one thread. */
#include "core/api/clipped.h"

#include <math.h>

typedef struct clip_sink {
  fc_sink base;
  /* integer values less the bias; comparing with them is equivalent to rounding */
  double inverse, lowest, highest;
  fc_clip_count *count;
} clip_sink;

static gboolean accept(fc_sink *sink, fc_format *format, GError **error) {
  if (!fc_dtype_is_float(format->dtype)) format->dtype = FC_F32;
  format->bits = format->dtype == FC_F64 ? 53 : 24;
  sink->sample_bytes = 0;
  return TRUE;
}

static gboolean begin(fc_sink *sink, const fc_format *format, GError **error) {
  return TRUE;
}

static void count_row(clip_sink *me, const fc_view *v, gint64 n, gint64 y) {
  fc_clip_count *to = me->count;
  for (gint64 x = 0; x < v->shape[FC_AXIS_X]; x++)
    for (gint64 c = 0; c < v->shape[FC_AXIS_C]; c++) {
      const void *at = fc_view_at(v, n, y, x, c);
      const double value = v->dtype == FC_F64 ? *(const double *)at : (double)*(const float *)at;
      const double code = rint(value * me->inverse);
      to->clipped += code < me->lowest || code > me->highest;
      to->low = fmin(to->low, value), to->high = fmax(to->high, value);
    }
}

static gboolean count_values(fc_sink *sink, const fc_view *from, GError **error) {
  clip_sink *me = (clip_sink *)sink;
  if (!fc_dtype_is_float(from->dtype)) return TRUE; /* integers were clipped earlier: nothing to count here */
  for (gint64 n = 0; n < from->shape[FC_AXIS_N]; n++)
    for (gint64 y = 0; y < from->shape[FC_AXIS_Y]; y++) count_row(me, from, n, y);
  me->count->values += fc_view_count(from);
  return TRUE;
}

static gboolean commit(fc_sink *sink, GError **error) {
  return TRUE;
}

static void release(fc_sink *sink) {
  g_free(sink->name);
  g_free(sink);
}

fc_sink *fc_clip_sink_new(int kind, int dtype, fc_clip_count *count) {
  const fc_scaling map = fc_scaling_of(kind, dtype);
  const gboolean is_signed = dtype == FC_I16 || dtype == FC_I32;
  const double codes = ldexp(1, 8 * (int)fc_dtype_size(dtype));
  clip_sink *me = g_new0(clip_sink, 1);
  me->base = (fc_sink){.name = g_strdup("output"),
                       .can_rows = TRUE,
                       .accept = accept,
                       .begin = begin,
                       .write = count_values,
                       .commit = commit,
                       .free = release};
  me->inverse = 1 / map.scale;
  me->lowest = (is_signed ? -codes / 2 : 0) - map.bias;
  me->highest = me->lowest + codes - 1;
  me->count = count;
  *count = (fc_clip_count){.low = INFINITY, .high = -INFINITY};
  return &me->base;
}

char *fc_clip_text(const fc_clip_count *count, int kind, int dtype) {
  const double percent = 100.0 * (double)count->clipped / (double)count->values;
  g_autofree char *head =
      g_strdup_printf("%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                      " values (%.*g %%) exceeded the range of %s and were clipped",
                      count->clipped, count->values, percent < 99.5 ? 2 : 3, percent, fc_dtype_name(dtype));
  if (kind == FC_AUDIO)
    return g_strdup_printf("%s, the peak by %.2g dB", head,
                           fmax(20 * log10(fmax(-count->low, count->high)), 0.01));
  return g_strdup_printf("%s; all values range from %.5g to %.5g", head, count->low, count->high);
}
