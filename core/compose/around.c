/* SPDX-License-Identifier: MIT */
/* around.c - see around.h. */
#include "core/compose/around.h"

#include "core/base/demand.h"

enum { THREADS = 256, COLUMNS = 32, EACH = 4, SHARED = 48 << 10 };

gboolean fc_around_set(fc_vectors *w, int compute, gboolean line) {
  const gint64 columns = line ? THREADS : COLUMNS * w->step / w->um, size = (gint64)fc_dtype_size(compute);
  w->v = line ? 1 : EACH, w->width = columns, w->threads = THREADS / columns * columns;
  for (;;) {
    const gint64 across = w->width * w->um + ((gint64)w->f->window_x - 1) * w->step,
                 rows = w->threads / w->width * w->v + (gint64)w->f->window_y - 1;
    if (across * rows * size <= SHARED) return TRUE;
    if (!line && w->threads > w->width) { /* half the rows */
      w->threads = w->threads / w->width / 2 * w->width;
      continue;
    }
    w->width /= 2, w->threads = line ? w->width : THREADS / w->width * w->width;
    if (w->width < 32) return FALSE;
  }
}

gboolean fc_window_lies_in_rows(const fc_view *v, gboolean *planar) {
  const gint64 size = (gint64)fc_dtype_size(v->dtype), channels = v->shape[FC_AXIS_C];
  *planar = channels > 1 && v->stride[FC_AXIS_X] == size;
  if (v->shape[FC_AXIS_X] > 1 && v->stride[FC_AXIS_X] != (*planar ? size : size * channels)) return FALSE;
  return *planar || channels == 1 || v->stride[FC_AXIS_C] == size;
}

fc_range fc_window_sees(const fc_view *out, int along, gint64 taps, int border, gint64 extent) {
  const gint64 from = out->origin[along] - taps / 2, to = from + out->shape[along] + taps - 1;
  fc_range seen = {MAX(from, 0), MIN(to, extent)};
  for (gint64 p = from; p < to; p++) { /* positions beyond the ends */
    if (p >= 0 && p < extent) p = extent;
    const gint64 source = p < to ? fc_border_map(border, p, extent) : -1;
    if (source >= 0) seen = (fc_range){MIN(seen.lo, source), MAX(seen.hi, source + 1)};
  }
  return seen;
}

gboolean fc_window_has_all(const fc_view *in, const fc_view *out, int along, gint64 taps, int border) {
  if (in->extent[along] < 0) return FALSE;
  const fc_range seen = fc_window_sees(out, along, taps, border, in->extent[along]);
  return seen.lo >= in->origin[along] && seen.hi <= in->origin[along] + in->shape[along];
}

gboolean fc_around_launch(const fc_vectors *w, const fc_composition *c, const fc_view *in, const fc_view *out,
                          gboolean planar, fc_around_args *args, fc_composed *to) {
  static const int axes[] = {FC_AXIS_X, FC_AXIS_Y};
  const gint64 far = G_MAXINT32 / 4 / w->step, taps[] = {w->f->window_x, w->f->window_y};
  const char *first = fc_view_at(in, 0, out->origin[FC_AXIS_Y] - in->origin[FC_AXIS_Y],
                                 out->origin[FC_AXIS_X] - in->origin[FC_AXIS_X], 0);
  *args = (fc_around_args){.views = fc_window_views_of(first, in, out),
                           .planes = planar ? (gint32)in->shape[FC_AXIS_C] : 1,
                           .constant = c->border_value};
  for (int i = 0; i < 2; i++) {
    const gint64 origin = out->origin[axes[i]], total = out->shape[axes[i]], extent = in->extent[axes[i]];
    if (total > far - taps[i] || (c->border == FC_BORDER_WRAP && extent > far) ||
        !fc_window_has_all(in, out, axes[i], taps[i], c->border))
      return FALSE;
    args->begin[i] = (gint32)MIN(origin, far), args->total[i] = (gint32)total;
    args->extent[i] = (gint32)(MIN(origin, far) + MIN(extent - origin, far));
  }
  const gint64 units = out->shape[FC_AXIS_X] * w->step / w->um, rows = w->threads / w->width * w->v,
               blocks[] = {(units + w->width - 1) / w->width, (out->shape[FC_AXIS_Y] + rows - 1) / rows,
                           in->shape[FC_AXIS_N] * args->planes};
  if (blocks[1] > 65535 || blocks[2] > 65535) return FALSE;
  for (int i = 0; i < 3; i++) to->grid[i] = (guint)blocks[i];
  to->threads = (guint)w->threads;
  return TRUE;
}
