/* SPDX-License-Identifier: MIT */
/*
 * winstat_pieces.c - from a row of the input to pieces: see winstat_walk.h.
 */
#include <math.h>
#include <string.h>

#include "filters/base/codes.h"
#include "filters/base/simd.h"
#include "filters/winstat/winstat_walk.h"

/* The strip's input row, or the part of it inside the signal, with zeros around it. */
static void load_inside(fc_winstat_walk *k, int64_t y) {
  const fc_view *v = k->in;
  const int64_t size = k->codes ? 4 : (int64_t)fc_dtype_size(k->result), lanes = k->lanes;
  const int64_t length = k->count + k->window[0] - 1, x = k->x - k->w->before[0];
  fc_winstat_span s = k->inside;
  int64_t cells = (s.hi - s.lo) * lanes, ahead = s.lo * lanes;
  int64_t stride = lanes > 1 ? (int64_t)fc_dtype_size(v->dtype) : v->stride[FC_AXIS_X];
  char *to = (char *)k->base + ahead * size;
  memset(k->base, 0, (size_t)(ahead * size));
  memset(to + cells * size, 0, (size_t)((length * lanes - ahead - cells) * size));
  if (cells == 0) return;
  const void *from = fc_view_at(v, k->n, y, x + s.lo, k->c);
  if (k->codes)
    fc_codes_load((int32_t *)to, from, stride, cells, v->kind, v->dtype);
  else if (v->dtype == k->result && stride == size)
    fc_copy_asking(to, from, cells * size, FC_WINSTAT_AHEAD * v->stride[FC_AXIS_Y]);
  else
    fc_load(to, k->result, from, stride, cells, v->kind, v->dtype);
}

/* A real or integer constant over a range of cells. */
static void fill(const fc_winstat_walk *k, void *cells, int64_t from, int64_t to, double value) {
  for (int64_t i = from; i < to; i++) {
    if (k->codes)
      ((int32_t *)cells)[i] = (int32_t)value;
    else if (k->result == FC_F64)
      ((double *)cells)[i] = value;
    else
      ((float *)cells)[i] = (float)value;
  }
}

/* The row with neutral values in place of those outside the signal. */
static fc_winstat_row start_extreme(fc_winstat_walk *k, const fc_winstat_field *f, int64_t cells, int sign) {
  fc_winstat_row row = {k->base, 0};
  if (!k->w->shrink) return row;
  double never = sign * (double)INFINITY;
  if (k->codes) never = sign > 0 ? INT32_MAX : INT32_MIN;
  memcpy(k->start.cells, k->base, (size_t)(cells * f->size));
  fill(k, k->start.cells, 0, k->inside.lo * k->lanes, never);
  fill(k, k->start.cells, k->inside.hi * k->lanes, cells, never);
  return k->start;
}

/* Single samples: mean p + 0, no deviation - but NaN if p is infinite or NaN. */
static fc_winstat_row start_spread(fc_winstat_walk *k, const fc_winstat_field *f, int64_t cells) {
  fc_winstat_row to = k->start;
  memcpy(to.cells, k->base, (size_t)(cells * f->size));
  memset(to.cells + to.pitch, 0, (size_t)(cells * f->size));
  char *m = to.cells + 2 * to.pitch, *n = to.cells + 3 * to.pitch;
  if (k->result == FC_F64)
    for (int64_t i = 0; i < cells; i++) ((double *)m)[i] = ((double *)k->base)[i] - ((double *)k->base)[i];
  else
    for (int64_t i = 0; i < cells; i++) ((float *)m)[i] = ((float *)k->base)[i] - ((float *)k->base)[i];
  if (f->planes < 4) return to;
  fill(k, n, 0, k->inside.lo * k->lanes, 0);
  fill(k, n, k->inside.lo * k->lanes, k->inside.hi * k->lanes, 1);
  fill(k, n, k->inside.hi * k->lanes, cells, 0);
  return to;
}

static fc_winstat_row start_squares(fc_winstat_walk *k, const fc_winstat_field *f, int64_t cells, int high) {
  void *to = k->start.cells;
  if (!k->codes && k->result == FC_F64)
    k->k->square_f64(to, k->base, cells);
  else if (!k->codes)
    k->k->square_f32(to, k->base, cells);
  else if (f->size == 4)
    k->k->square_i32(to, k->base, cells);
  else
    k->k->square_i64(to, k->base, cells,
                     high                                  ? FC_WINSTAT_HIGH
                     : k->field[FC_WALK_SQUARES_HIGH].used ? FC_WINSTAT_LOW
                                                           : FC_WINSTAT_WHOLE);
  return k->start;
}

fc_winstat_row fc_winstat_start_row(fc_winstat_walk *k, int i) {
  const fc_winstat_field *f = &k->field[i];
  int64_t cells = (k->count + k->window[0] - 1) * k->lanes;
  switch (i) {
  case FC_WALK_SQUARES:
  case FC_WALK_SQUARES_HIGH: return start_squares(k, f, cells, i == FC_WALK_SQUARES_HIGH);
  case FC_WALK_SPREAD: return start_spread(k, f, cells);
  case FC_WALK_LEAST: return start_extreme(k, f, cells, 1);
  case FC_WALK_MOST: return start_extreme(k, f, cells, -1);
  default: break;
  }
  if (!k->codes || f->size == 4) return (fc_winstat_row){k->base, 0};
  k->k->widen_i64((int64_t *)k->start.cells, k->base, cells);
  return k->start;
}

void fc_winstat_load_row(fc_winstat_walk *k, int64_t y) {
  const int64_t length = k->count + k->window[0] - 1, x = k->x - k->w->before[0];
  k->inside = (fc_winstat_span){0, length};
  if (k->w->shrink) {
    fc_winstat_span s = fc_winstat_inside(k->in, FC_AXIS_X, x, x + length);
    fc_winstat_span row = fc_winstat_inside(k->in, FC_AXIS_Y, y, y + 1);
    k->inside =
        row.lo < row.hi && s.lo < s.hi ? (fc_winstat_span){s.lo - x, s.hi - x} : (fc_winstat_span){0, 0};
  }
  load_inside(k, y);
}
