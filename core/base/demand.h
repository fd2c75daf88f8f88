/* SPDX-License-Identifier: MIT */
/*
 * demand.h - which inputs a stretch of output needs.
 *
 * Demand runs backwards through a chain. For one axis of one stage: output
 * [lo, hi) looks at a *virtual* range of input, which may stick out of the signal;
 * what sticks out is border and maps to elements inside. The *real* range is the
 * hull of everything inside that is looked at or mapped to; a buffer that *holds*
 * the union of both serves the stage.
 *
 * Pure arithmetic on int64, no state. Extents may be FC_UNKNOWN, which counts as
 * "no end within reach".
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

/* Stands for the end of a signal whose end is not known: far, but not so far that
 * adding a halo or scaling by a hop overflows. */
#define FC_NO_END (G_MAXINT64 / 4)

/* The smallest range with both in it; an empty one adds nothing. */
fc_range fc_range_hull(fc_range a, fc_range b);

/* floor(a*num/den) and ceil(a*num/den) without overflow for |a| < 2^62/num; den > 0. */
gint64 fc_scale_floor(gint64 a, gint64 num, gint64 den);
gint64 fc_scale_ceil(gint64 a, gint64 num, gint64 den);

/* a mod n, from 0 to n - 1; the greatest common divisor. */
gint64 fc_modulo(gint64 a, gint64 n);
gint64 fc_common_divisor(gint64 a, gint64 b);

/*
 * Where position p of a signal of `extent` elements comes from: itself inside, its
 * image under the border outside, -1 for a border without an image (zero, constant,
 * none, or an empty signal).
 */
gint64 fc_border_map(int border, gint64 p, gint64 extent);

/* What one axis of one stage's input must offer for output `out`. */
typedef struct fc_span {
  fc_range view; /* what the input view spans: scaled output, without halo */
  fc_range virt; /* with halo, ends sticking out */
  fc_range real; /* inside the signal, to be delivered by the stage before */
  fc_range held; /* hull of virt and real: what the buffer spans */
} fc_span;

fc_span fc_reach_need(const fc_reach *reach, int border, fc_range out, gint64 in_extent);

/* The output range that the host really asks for: cut at multiples of align only. */
fc_range fc_reach_align(const fc_reach *reach, fc_range out, gint64 out_extent);

/* How far all of the output looks beyond the end of the input; of extents that are not known a bound, which
 * an operator keeps to once they are (negotiate.c). Not of a reach that is the whole axis. */
gint64 fc_reach_beyond(const fc_reach *reach, gint64 in_extent, gint64 out_extent);

/* A bound on `held` for any output of at most `length` elements. */
gint64 fc_reach_longest(const fc_reach *reach, int border, gint64 length, gint64 in_extent,
                        gint64 out_extent);

G_END_DECLS

#endif
