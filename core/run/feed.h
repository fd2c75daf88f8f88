/* SPDX-License-Identifier: MIT */
/*
 * feed.h - delivers the input ranges of chunks from a source that only moves forward.
 *
 * Neighbouring chunks read some of the same elements: the end of what was read is kept, and put before what
 * is read next. The chain's signal has a feed, and so has each further input. A feed is used by one thread at
 * a time.
 */
#ifndef FC_CORE_FEED_H
#define FC_CORE_FEED_H

#include "core/context/stream.h"
#include "core/run/workspace.h"

G_BEGIN_DECLS

typedef struct fc_feed {
  fc_source *source;
  int side; /* -1: the chain's signal */
  fc_trace *trace;
  fc_axis axis;   /* the stream axis of the source */
  gint64 read_to; /* position of its next element */
  gint64 frame;   /* the frame it belongs to, in a batch that is cut by rows */
  fc_buffer tail; /* host memory: the elements before read_to that may be read again */
  void *memory;   /* of the tail; from malloc */
  gboolean ended;
} fc_feed;

/* For runs of a plan; the source belongs to the caller. FALSE with FC_NO_MEMORY. */
gboolean fc_feed_init(fc_feed *feed, fc_source *source, int side, const fc_plan *plan, fc_trace *trace,
                      GError **error);
void fc_feed_clear(fc_feed *feed);

/* Fills the slot's input for its chunk. If the source ends earlier: sets feed->ended if its length was
 * unknown, else that is an error. */
gboolean fc_feed_fill(fc_feed *feed, fc_slot *slot, GError **error);

/* Moves what has been read from where it `was`, after the chunk was cut again by a plan that knows the
 * end. */
gboolean fc_feed_recut(fc_feed *feed, fc_slot *slot, const fc_chunk_link *was, GError **error);

/* Converts the element type, rounding as an operator would; takes ownership of the source. `gaps`: it is also
 * to read frames of sound that are not packed. */
fc_source *fc_source_cast(fc_source *source, int dtype, gboolean gaps);

G_END_DECLS

#endif
