/* SPDX-License-Identifier: MIT */
/*
 * places.h - positions in a sound that its metadata speak of - cue points, their labels, loops, the time of
 * day at which it begins - moved to where they are in a part of it.
 *
 * What lies outside of the part is left out, and what refers to it with it; how much that was is counted.
 */
#ifndef FC_MEDIA_PLACES_H
#define FC_MEDIA_PLACES_H

#include <sndfile.h>

#include "media/file/blob.h"
#include "media/audio/chunks.h"

G_BEGIN_DECLS

/* One chunk as a RIFF, AIFF or CAF file has it. */
typedef struct fc_meta_chunk {
  guint8 id[4];
  gboolean before; /* it stood ahead of the samples */
  gsize size;
  guint8 *data;
} fc_meta_chunk;

typedef struct fc_places {
  gint64 lead, frames; /* the part begins with frame `lead`, and has so many; FC_UNKNOWN: to the end */
  double stretch;      /* how many frames one has become: then only the time of day has a meaning */
  gboolean nowhere;    /* no frame is one of the whole sound's, at this rate or another */
  guint cues, loops;   /* that were left out */
  guint timers;        /* likewise, of a cart */
  fc_blob gone;        /* their ids, of 4 bytes each, in rising order */
  fc_blob kept;        /* RIFF: ids of the others, each with its new place behind it, likewise */
} fc_places;

/* Looks for what will be left out; ahead of moving the chunks of `family`, of which `chunks` are all. FALSE
 * when there is no memory. */
gboolean fc_places_find(fc_places *places, fc_family family, const GArray *chunks);
/* Moves what a chunk says, in place: it does not become larger. */
void fc_places_move(fc_places *places, fc_family family, fc_meta_chunk *chunk);
void fc_places_clear(fc_places *places);

/* The same of what libsndfile has read. */
void fc_places_move_cues(fc_places *places, SF_CUE_POINT *points, guint32 *count);
void fc_places_move_loops(fc_places *places, SF_INSTRUMENT *instrument);
/* Samples since midnight, in the lower and the upper 32 bits. */
void fc_places_move_clock(const fc_places *places, guint32 *low, guint32 *high);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(fc_places, fc_places_clear)

G_END_DECLS

#endif
