/* SPDX-License-Identifier: MIT */
/*
 * memory.h - sources and sinks in host memory.
 */
#ifndef FC_CORE_MEMORY_H
#define FC_CORE_MEMORY_H

#include "core/context/context.h"

G_BEGIN_DECLS

/* Reads from the caller's view, which must outlive the source. */
fc_source *fc_memory_source_new(fc_context *context, const fc_view *view);

/* Writes into the caller's view, with its element type. */
fc_sink *fc_memory_sink_new(fc_context *context, const fc_view *view);

/* Bytes of one element along an axis, including the other axes. */
gint64 fc_element_bytes(const fc_format *format, fc_axis axis);
/* The range [from, from + count) of an axis, of contiguous samples in memory. */
fc_view fc_dense_view(const fc_format *format, void *data, fc_axis axis, gint64 from, gint64 count);

/*
 * Reads a source to its end and returns one of known length that owns the samples; for stages that need the
 * whole signal at once, and for further inputs that are read out of order. The samples count as the
 * context's memory until the new source is freed. Takes ownership of the source, also on failure.
 */
fc_source *fc_source_load(fc_context *context, fc_source *source, GError **error);

/* Copies the part of a source in memory given by the origin of `to`, whether or not it has been read;
 * beyond the ends is the border, with `code` as its value as an element. */
gboolean fc_memory_source_copy(fc_source *source, const fc_view *to, int border, const void *code,
                               GError **error);

/* Reads and drops the next `count` samples of interleaved sound, in pieces of reasonable size. Returns how
 * many there were: fewer only at the end; -1 with an error. */
gint64 fc_source_skip(fc_source *source, gint64 count, GError **error);

G_END_DECLS

#endif
