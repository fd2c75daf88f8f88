/* SPDX-License-Identifier: MIT */
/*
 * prefilter.h - which short windows are computed as samples are loaded, ahead of a long window in the same
 * kernel (filters/gpu/prefilter.cuh): a few taps, or the least of a few samples, along the lines of a
 * statistic or a transform. That costs a few instructions a sample, where a kernel of its own writes all
 * samples and reads them again.
 *
 * Any thread; nothing is kept; no device is needed.
 */
#ifndef FC_CORE_COMPOSE_PREFILTER_H
#define FC_CORE_COMPOSE_PREFILTER_H

#include "core/compose/compose.h"

G_BEGIN_DECLS

/* If the first of two windows is such a prefilter of the second, makes the second the composition's window,
 * the only one that is counted. `extent`: of the input; a length that is not known is negative. */
void fc_prefilter_take(fc_composition *c, int in_dtype, const gint64 extent[FC_AXES]);

/* Whether `in` has what a prefilter looks at, if there is one, to make what outputs look at that lie as those
 * of `out`, along X; `taps`: of the window that looks at them. */
gboolean fc_prefilter_has_all(const fc_composition *c, const fc_view *in, const fc_view *out, gint64 taps);

/* The value that a prefilter sees beyond the ends; 0: there is none. */
float fc_prefilter_constant(const fc_composition *c);

/* The text of the struct Pre of a prefilter, after those with the functions ahead of it and behind it, Ahead
 * and Behind, where there are any. */
void fc_prefilter_append(GString *text, const fc_composition *c);

G_END_DECLS

#endif
