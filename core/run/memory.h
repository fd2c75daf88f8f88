/* SPDX-License-Identifier: MIT */
/*
 * memory.h - sources and sinks in host memory.
 */
#ifndef FC_CORE_MEMORY_H
#define FC_CORE_MEMORY_H

#include "core/base/frame.h"
#include "core/context/stream.h"

G_BEGIN_DECLS

/* Reads from the caller's view, which must outlive the source. */
fc_source *fc_memory_source_new(const fc_view *view);

/* Writes into the caller's view, in its element type. */
fc_sink *fc_memory_sink_new(const fc_view *view);

/* Bytes of one element along an axis, with all that lies there of the others. */
gint64 fc_element_bytes(const fc_format *format, fc_axis axis);
/* What stands at [from, from + count) of an axis, of samples that lie in memory one after another. */
fc_view fc_dense_view(const fc_format *format, void *data, fc_axis axis, gint64 from, gint64 count);

/*
 * Reads a source to its end and returns one of known length in its place, which owns the samples; for stages
 * that need the whole signal at once, and for further inputs that are looked at out of order. The samples
 * count among the pool's until the new source is freed. Takes the source over, also on failure.
 */
fc_source *fc_source_load(fc_source *source, fc_frame_pool *pool, GError **error);

/* Copies the part of a source in memory that `to` says by its origin, of any position, read or not; what lies
 * beyond the ends is the border, `code` its value as an element. */
gboolean fc_memory_source_copy(fc_source *source, const fc_view *to, int border, const void *code,
                               GError **error);

/* Reads and drops the next `count` samples of interleaved sound, in pieces that are worth a call.
 * Returns how many there were: fewer only at the end; -1 with an error. */
gint64 fc_source_skip(fc_source *source, gint64 count, GError **error);

G_END_DECLS

#endif
