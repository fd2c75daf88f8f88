/* SPDX-License-Identifier: MIT */
/*
 * around.h - functions of neighbours (filters/gpu/around.cuh): a block's tile, and a launch; and what kernels
 * with windows ask of views. Any thread; nothing is kept; no device is needed.
 */
#ifndef FC_CORE_AROUND_H
#define FC_CORE_AROUND_H

#include "core/base/demand.h"
#include "core/compose/compose.h"
#include "core/compose/vectors.h"

G_BEGIN_DECLS

/* Sets threads, width (columns of a tile, in units) and v (rows of a thread), given the samples per pixel and
 * distances; `line`: for signals of one row. FALSE: shared memory does not suffice. */
gboolean fc_around_set(fc_vectors *w, int compute, gboolean line);

/* The arguments, without notes, and the grid. FALSE: `in` does not have what is read, or positions are more
 * than 32 bits number. */
gboolean fc_around_launch(const fc_vectors *w, const fc_composition *c, const fc_view *in, const fc_view *out,
                          gboolean planar, fc_around_args *args, fc_composed *to);

/* Whether the samples of each row are contiguous; sets whether channels are planes. */
gboolean fc_window_lies_in_rows(const fc_view *v, gboolean *planar);

/* The first and last positions, and all between, that these outputs read of a signal of this extent along an
 * axis, with a window of this many taps; also those that a border is made of. */
fc_range fc_window_sees(const fc_view *out, int along, gint64 taps, int border, gint64 extent);

/* Whether the view has all of the signal that these outputs read along an axis, borders included, with a
 * window of this many taps. */
gboolean fc_window_has_all(const fc_view *in, const fc_view *out, int along, gint64 taps, int border);

G_END_DECLS

#endif
