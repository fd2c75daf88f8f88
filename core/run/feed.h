/* SPDX-License-Identifier: MIT */
/*
 * feed.h - from a source, forwards only, to what chunks look at.
 *
 * Neighbouring chunks look at some of the same elements: the end of what was read is kept, and put ahead of
 * what is read next. The chain's signal has a feed, and so has each further input. One thread at a time uses
 * a feed.
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
  fc_axis axis;   /* that the source moves along */
  gint64 read_to; /* position of its next element */
  gint64 frame;   /* that it lies in, of a batch that goes by rows */
  fc_buffer tail; /* host memory: the elements before read_to, as many as may be looked at again */
  void *memory;   /* of the tail; of malloc */
  gboolean ended;
} fc_feed;

/* For runs of a plan; the source is the caller's. FALSE with FC_NO_MEMORY. */
gboolean fc_feed_init(fc_feed *feed, fc_source *source, int side, const fc_plan *plan, fc_trace *trace,
                      GError **error);
void fc_feed_clear(fc_feed *feed);

/* Fills the slot's input with what its chunk looks at. Sets feed->ended when the source ended before that, of
 * a source that does not say how long it is; else that is an error. */
gboolean fc_feed_fill(fc_feed *feed, fc_slot *slot, GError **error);

/* What has been read stays where it `was`, while the chunk has been cut anew by a plan that knows an end. */
gboolean fc_feed_recut(fc_feed *feed, fc_slot *slot, const fc_chunk_link *was, GError **error);

/* Element by element another type, rounded as an operator would; takes the source over. */
fc_source *fc_source_cast(fc_source *source, int dtype);

G_END_DECLS

#endif
