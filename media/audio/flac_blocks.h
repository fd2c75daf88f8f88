/* SPDX-License-Identifier: MIT */
/*
 * flac_blocks.h - the metadata blocks at the front of a FLAC file: comments, pictures, cue sheets and what
 * other programs keep there. Read from an input, and joined to those of the encoder on the way out.
 */
#ifndef FC_MEDIA_FLAC_BLOCKS_H
#define FC_MEDIA_FLAC_BLOCKS_H

#include "media/audio/audio.h"

G_BEGIN_DECLS

/* Adds what a seekable FLAC file keeps in blocks. FALSE when not all of it is there. */
gboolean fc_flac_blocks_read(fc_tags *tags, fc_input *input);

/* The front of a FLAC file on its way out. */
typedef struct fc_flac_front {
  const fc_audio_spec *spec; /* borrowed */
  fc_blob held;              /* what has come of it */
  gsize before, after;       /* size of the front as it came, and as it is written; 0: not all is there */
} fc_flac_front;

/* Takes the next bytes. TRUE when the front is complete: `held` then has everything so far, with our blocks
 * in it, unless it has failed. */
gboolean fc_flac_front_feed(fc_flac_front *front, const void *from, gsize size);

/* Where a byte of the encoder's file lies in ours. */
gint64 fc_flac_front_place(const fc_flac_front *front, gint64 position);

G_END_DECLS

#endif
