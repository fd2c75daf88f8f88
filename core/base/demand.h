/* SPDX-License-Identifier: MIT */
/*
 * demand.h - which range of a stage's input a range of its output needs.
 *
 * Ranges are computed backwards through a chain. For one axis of one stage, output [lo, hi) reads a *virtual*
 * range of input, which may extend beyond the signal; the part outside is border and maps to elements inside.
 * The *real* range is the hull of all elements inside that are read or mapped to. The *held* range is the
 * union of both: a buffer that spans it serves the stage.
 *
 * Pure arithmetic on int64, no state. Extents may be FC_UNKNOWN, which means an end out of reach.
 */
#ifndef FC_CORE_DEMAND_H
#define FC_CORE_DEMAND_H

#include <glib.h>

#include "core/contract/plugin.h"

G_BEGIN_DECLS

/* Positions lo <= p < hi; empty when hi <= lo. */
typedef struct fc_range {
  gint64 lo, hi;
} fc_range;

static inline gint64 fc_range_length(fc_range r) {
  return r.hi > r.lo ? r.hi - r.lo : 0;
}
static inline gboolean fc_range_empty(fc_range r) {
  return r.hi <= r.lo;
}
static inline gboolean fc_range_same(fc_range a, fc_range b) {
  return a.lo == b.lo && a.hi == b.hi;
}
/* Counted from the other end of a signal of `extent` elements. */
static inline fc_range fc_range_turned(fc_range r, gint64 extent) {
  return (fc_range){extent - r.hi, extent - r.lo};
}
/* The elements of a box. */
static inline gint64 fc_ranges_count(const fc_range range[FC_AXES]) {
  gint64 count = 1;
  for (int a = 0; a < FC_AXES; a++) count *= fc_range_length(range[a]);
  return count;
}

/* The end of a signal whose end is not known: large, but adding a halo or scaling by a hop does not
 * overflow. */
#define FC_NO_END (G_MAXINT64 / 4)

/* The smallest range that contains both; empty ones are ignored. */
fc_range fc_range_hull(fc_range a, fc_range b);

/* floor(a*num/den) and ceil(a*num/den) without overflow for |a| < 2^62/num; den > 0. */
gint64 fc_scale_floor(gint64 a, gint64 num, gint64 den);
gint64 fc_scale_ceil(gint64 a, gint64 num, gint64 den);

/* a mod n, from 0 to n - 1; the greatest common divisor. */
gint64 fc_modulo(gint64 a, gint64 n);
gint64 fc_common_divisor(gint64 a, gint64 b);

/*
 * The source of position p of a signal of `extent` elements: p itself inside, its image under the border
 * outside, -1 for a border without an image (zero, constant, none, or an empty signal).
 */
gint64 fc_border_map(int border, gint64 p, gint64 extent);

/* What one axis of one stage's input must provide for output `out`. */
typedef struct fc_span {
  fc_range view; /* what the input view spans: scaled output, without halo */
  fc_range virt; /* with halo; may extend beyond the signal */
  fc_range real; /* the part inside the signal, which the stage before must make */
  fc_range held; /* hull of virt and real: what the buffer spans */
} fc_span;

fc_span fc_reach_need(const fc_reach *reach, int border, fc_range out, gint64 in_extent);

/* The output range that the host requests: extended to multiples of align. */
fc_range fc_reach_align(const fc_reach *reach, fc_range out, gint64 out_extent);

/* How far the output reads beyond the end of the input. For unknown extents an upper bound, which an
 * operator must keep once they are known (negotiate.c). Not for a reach of FC_WHOLE. */
gint64 fc_reach_beyond(const fc_reach *reach, gint64 in_extent, gint64 out_extent);

/* An upper bound on `held` for any output of at most `length` elements. */
gint64 fc_reach_longest(const fc_reach *reach, int border, gint64 length, gint64 in_extent,
                        gint64 out_extent);

G_END_DECLS

#endif
