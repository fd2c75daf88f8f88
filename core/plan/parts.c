/* SPDX-License-Identifier: MIT */
/*
 * parts.c - see parts.h.
 */
#include "core/plan/parts.h"

#include <string.h>

#define LINE 64

fc_lines fc_lines_of(const void *origin, gint64 stride) {
  stride %= LINE; /* with one element on the axis the stride may be anything */
  fc_lines lines = {LINE / fc_common_divisor(LINE, ABS(stride)), 0};
  for (gint64 p = 0; p < lines.step; p++)
    if (((gintptr)origin % LINE + p * stride) % LINE == 0) lines.first = p;
  return lines;
}

/* The part of `all` on one axis that needs no border; FALSE where there is none, or it is not known. */
static gboolean inside_of(const fc_plan_stage *stage, int axis, gint64 extent, fc_lines cuts, fc_range all,
                          fc_range *inside) {
  const fc_reach *r = &stage->reach[axis];
  const fc_range held = fc_reach_need(r, stage->border, all, extent).held;
  *inside = all;
  if (held.lo >= 0 && (extent < 0 || held.hi <= extent)) return TRUE;
  if (r->num != r->den || r->align > G_MAXINT32) return FALSE;
  if (axis != FC_AXIS_X) cuts = (fc_lines){1, 0};
  if (r->align > 1) cuts = (fc_lines){r->align / fc_common_divisor(r->align, cuts.step) * cuts.step, 0};
  if (all.lo < r->before)
    inside->lo = fc_scale_ceil(r->before - cuts.first, 1, cuts.step) * cuts.step + cuts.first;
  if (extent >= 0 && all.hi + r->after > extent)
    inside->hi = fc_scale_floor(extent - r->after - cuts.first, 1, cuts.step) * cuts.step + cuts.first;
  return inside->lo < inside->hi;
}

/* A part of `out`, cut along Y and X; nothing is added if it is empty. */
static guint add(const fc_plan_stage *stage, const fc_format *in, const fc_range out[FC_AXES], fc_range y,
                 fc_range x, fc_part *part) {
  if (fc_range_empty(y) || fc_range_empty(x)) return 0;
  memcpy(part->out, out, sizeof part->out);
  part->out[FC_AXIS_Y] = y, part->out[FC_AXIS_X] = x;
  for (int a = 0; a < FC_AXES; a++) {
    fc_span need = fc_reach_need(&stage->reach[a], stage->border, part->out[a], in->extent[a]);
    part->view[a] = need.view, part->virt[a] = need.virt, part->real[a] = need.real,
    part->held[a] = need.held;
  }
  return 1;
}

guint fc_parts_cut(const fc_plan_stage *stage, const fc_format *in, const fc_range out[FC_AXES],
                   fc_lines lines, fc_part parts[FC_PARTS]) {
  fc_range inside[FC_AXES];
  for (int a = 0; a < FC_AXES; a++) {
    if (fc_range_empty(out[a])) return 0;
    if (!inside_of(stage, a, in->extent[a], lines, out[a], &inside[a])) return 0;
    if (a != FC_AXIS_Y && a != FC_AXIS_X && !fc_range_same(inside[a], out[a])) return 0;
  }
  const fc_range y = inside[FC_AXIS_Y], x = inside[FC_AXIS_X];
  const fc_range all_y = out[FC_AXIS_Y], all_x = out[FC_AXIS_X];
  guint n = add(stage, in, out, y, x, &parts[0]);
  n += add(stage, in, out, (fc_range){all_y.lo, y.lo}, all_x, &parts[n]);
  n += add(stage, in, out, (fc_range){y.hi, all_y.hi}, all_x, &parts[n]);
  n += add(stage, in, out, y, (fc_range){all_x.lo, x.lo}, &parts[n]);
  n += add(stage, in, out, y, (fc_range){x.hi, all_x.hi}, &parts[n]);
  return n;
}
