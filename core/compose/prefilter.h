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
 * the only one that is counted. `channels`: of the input. */
void fc_prefilter_take(fc_composition *c, int in_dtype, gint64 channels);

/* Whether `in` has what a prefilter looks at, if there is one, to make what outputs look at that lie as those
 * of `out`, along X; `taps`: of the window that looks at them. */
gboolean fc_prefilter_has_all(const fc_composition *c, const fc_view *in, const fc_view *out, gint64 taps);

/* The value that a prefilter sees beyond the ends; 0: there is none. */
float fc_prefilter_constant(const fc_composition *c);

/* Whether something is done between a prefilter and the window, and be it that values are rounded. */
gboolean fc_prefilter_behind(const fc_composition *c, int in_dtype);

/* The text of the struct Pre of a prefilter, after those with the functions ahead of it, Ahead, where there
 * are any, and behind it, Behind. */
void fc_prefilter_append(GString *text, const fc_composition *c, int in_dtype);

G_END_DECLS

#endif
