/* SPDX-License-Identifier: MIT */
/*
 * demand.c - which range of inputs a range of outputs needs; see demand.h.
 */
#include "core/base/demand.h"

fc_range fc_range_hull(fc_range a, fc_range b) {
  if (fc_range_empty(a)) return b;
  if (fc_range_empty(b)) return a;
  return (fc_range){MIN(a.lo, b.lo), MAX(a.hi, b.hi)};
}

gint64 fc_scale_floor(gint64 a, gint64 num, gint64 den) {
  if (num == den) return a;
  gint64 product = a * num;
  gint64 quotient = product / den;
  return quotient - (product % den < 0);
}

gint64 fc_scale_ceil(gint64 a, gint64 num, gint64 den) {
  if (num == den) return a;
  gint64 product = a * num;
  gint64 quotient = product / den;
  return quotient + (product % den > 0);
}

gint64 fc_modulo(gint64 a, gint64 n) {
  gint64 r = a % n;
  return r < 0 ? r + n : r;
}

gint64 fc_common_divisor(gint64 a, gint64 b) {
  while (b) {
    gint64 rest = a % b;
    a = b, b = rest;
  }
  return a;
}

gint64 fc_border_map(int border, gint64 p, gint64 extent) {
  if (p >= 0 && p < extent) return p;
  if (extent <= 0) return -1;
  switch (border) {
  case FC_BORDER_REPLICATE: return p < 0 ? 0 : extent - 1;
  case FC_BORDER_REFLECT: {
    gint64 q = fc_modulo(p, 2 * extent);
    return q < extent ? q : 2 * extent - 1 - q;
  }
  case FC_BORDER_REFLECT101: {
    if (extent == 1) return 0;
    gint64 q = fc_modulo(p, 2 * extent - 2);
    return q < extent ? q : 2 * extent - 2 - q;
  }
  case FC_BORDER_WRAP: return fc_modulo(p, extent);
  default: return -1;
  }
}

/* The hull of the images of `outside`, positions that are all beyond the same end. */
static fc_range image_of(int border, fc_range outside, gint64 extent) {
  if (fc_range_empty(outside) || extent <= 0) return (fc_range){0, 0};
  gint64 period = border == FC_BORDER_REFLECT101 ? MAX(extent - 1, 1) : extent;
  gint64 a = fc_border_map(border, outside.lo, extent);
  gint64 b = fc_border_map(border, outside.hi - 1, extent);
  if (a < 0) return (fc_range){0, 0};
  /* Within one period next to the signal the border's map is monotone, so the ends of the range map to the
   * ends of the image; otherwise the whole signal is taken. */
  gint64 reach = outside.lo < 0 ? -outside.lo : outside.hi - extent;
  if (border != FC_BORDER_REPLICATE && reach > period) return (fc_range){0, extent};
  return (fc_range){MIN(a, b), MAX(a, b) + 1};
}

fc_span fc_reach_need(const fc_reach *reach, int border, fc_range out, gint64 in_extent) {
  fc_span need = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
  gint64 extent = in_extent < 0 ? FC_NO_END : in_extent;
  if (reach->before == FC_WHOLE || reach->after == FC_WHOLE) {
    need.view = need.virt = need.real = need.held = (fc_range){0, extent};
    return need;
  }
  if (fc_range_empty(out)) return need;
  need.view = (fc_range){fc_scale_floor(out.lo, reach->num, reach->den),
                         fc_scale_ceil(out.hi, reach->num, reach->den)};
  need.virt = (fc_range){need.view.lo - reach->before, need.view.hi + reach->after};
  need.real = (fc_range){MAX(need.virt.lo, 0), MIN(need.virt.hi, extent)};
  if (fc_range_empty(need.real)) need.real = (fc_range){0, 0};
  fc_range left = {need.virt.lo, MIN(need.virt.hi, 0)};
  fc_range right = {MAX(need.virt.lo, extent), need.virt.hi};
  need.real = fc_range_hull(need.real, image_of(border, left, extent));
  need.real = fc_range_hull(need.real, image_of(border, right, extent));
  need.held = fc_range_hull(need.virt, need.real);
  return need;
}

fc_range fc_reach_align(const fc_reach *reach, fc_range out, gint64 out_extent) {
  if (reach->align <= 1 || fc_range_empty(out)) return out;
  out.lo = fc_scale_floor(out.lo, 1, reach->align) * reach->align;
  out.hi = fc_scale_ceil(out.hi, 1, reach->align) * reach->align;
  if (out_extent >= 0 && out.hi > out_extent) out.hi = out_extent;
  return out;
}

/* Upper bound on a range that covers a view and its images, with what lies between. */
static gint64 most_beside(const fc_reach *reach, gint64 in_extent, gint64 out_extent) {
  if (in_extent < 0 || out_extent < 0) return FC_NO_END;
  gint64 farthest = fc_scale_ceil(out_extent, reach->num, reach->den) - reach->before;
  return in_extent + MAX(-reach->after, 0) + MAX(farthest - in_extent, 0);
}

gint64 fc_reach_beyond(const fc_reach *r, gint64 in_extent, gint64 out_extent) {
  if (in_extent >= 0 && out_extent >= 0)
    return MAX(fc_scale_ceil(out_extent, r->num, r->den) + r->after - in_extent, 0);
  const gboolean blocks = r->align > 1 || r->num != r->den;
  return ABS(r->before) + ABS(r->after) + (blocks ? fc_scale_ceil(r->align, r->num, r->den) : 0);
}

gint64 fc_reach_longest(const fc_reach *reach, int border, gint64 length, gint64 in_extent,
                        gint64 out_extent) {
  if (reach->before == FC_WHOLE || reach->after == FC_WHOLE) return MAX(in_extent, 0);
  gint64 spare = reach->num == reach->den ? 0 : 1; /* a rescaled range may begin and end within an element */
  gint64 virt = fc_scale_ceil(length, reach->num, reach->den) + spare + reach->before + reach->after;
  virt = MAX(virt, 0);
  if (border == FC_BORDER_ZERO || border == FC_BORDER_CONSTANT || border == FC_BORDER_NONE) return virt;
  /* How far a view can extend beyond the signal on either side. Its images lie at most as far inside. */
  gint64 left = MAX(reach->before, 0);
  gint64 right = fc_reach_beyond(reach, in_extent, out_extent);
  if (left + right == 0) return virt; /* it reads nothing outside: no images */
  if (border == FC_BORDER_WRAP) return MAX(in_extent, 0) + virt + left + right;
  return virt + MIN(2 * (left + right) + 1, most_beside(reach, in_extent, out_extent));
}
