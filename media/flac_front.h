/* SPDX-License-Identifier: MIT */
/*
 * flac_front.h - the metadata blocks at the front of a FLAC file: tags, pictures, cue
 * sheets and what other programs keep there. libsndfile carries ten tags.
 */
#ifndef FC_MEDIA_FLAC_FRONT_H
#define FC_MEDIA_FLAC_FRONT_H

#include "media/blob.h"

G_BEGIN_DECLS

/* The blocks worth keeping of a seekable FLAC file, one after the other as they lie in
 * it; nothing of any other. `places`: also those that count samples. */
void fc_flac_blocks_read(fc_input *input, gboolean places, fc_blob *blocks);

/* Appends the same blocks as they are of a part of the sound: the frames from `lead` on. `left_out` grows by
 * what cue sheets have beyond it, or ahead. */
void fc_flac_blocks_of_part(const fc_blob *blocks, gint64 lead, gint64 frames, fc_blob *to, guint *left_out);

/* Appends the names of the blocks that no other format of ours takes, apart by commas. */
void fc_flac_blocks_name(const fc_blob *blocks, GString *names);

/* A FLAC file on its way out, whose own blocks are to be joined by these. */
typedef struct fc_flac_front {
  const fc_blob *blocks; /* borrowed; or NULL */
  fc_blob held;          /* what has come of the front */
  gsize before, after;   /* size of the front as it came, and as it is; 0: not all is there */
} fc_flac_front;

/* Takes the next bytes. TRUE when the front is complete: `held` then has everything so
 * far, with the blocks in it, unless it has failed. */
gboolean fc_flac_front_feed(fc_flac_front *front, const void *from, gsize size);

/* Where a byte of the encoder's file lies in ours. */
gint64 fc_flac_front_place(const fc_flac_front *front, gint64 position);

G_END_DECLS

#endif
