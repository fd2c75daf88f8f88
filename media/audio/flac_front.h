/* SPDX-License-Identifier: MIT */
/*
 * flac_front.h - the metadata blocks at the front of a FLAC file: tags, pictures, cue
 * sheets and what other programs keep there. libsndfile carries ten tags.
 */
#ifndef FC_MEDIA_FLAC_FRONT_H
#define FC_MEDIA_FLAC_FRONT_H

#include "media/audio/comments.h"

G_BEGIN_DECLS

/* Kinds of them, the bytes ahead of each, and what one can hold. */
enum fc_flac_kinds {
  FC_FLAC_APPLICATION = 2,
  FC_FLAC_COMMENTS = 4,
  FC_FLAC_CUESHEET = 5,
  FC_FLAC_PICTURE = 6
};
#define FC_FLAC_BLOCK_HEAD 4
#define FC_FLAC_BLOCK_MAX  ((gsize)0xffffff)

/* Appends what a seekable FLAC file keeps in blocks, one after the other as they lie in it, and the fields of
 * all of its blocks of comments; nothing of any other. FALSE when not all of them are there, or they are more
 * than what is kept. */
gboolean fc_flac_front_read(fc_input *input, fc_blob *blocks, fc_comments *comments);
/* Appends those of them that do not count samples. */
void fc_flac_blocks_without_places(const fc_blob *blocks, fc_blob *to);
/* The block at *at, and the size of its content, which is behind its head; NULL behind the last one. */
const guint8 *fc_flac_block_next(const fc_blob *blocks, gsize *at, gsize *size);
/* Writes the head of one. */
void fc_flac_block_head(guint8 *to, int kind, gsize size);

/* Appends the same blocks as they are of a part of the sound: the frames from `lead` on. `left_out` grows by
 * what cue sheets have beyond it, or ahead. */
void fc_flac_blocks_of_part(const fc_blob *blocks, gint64 lead, gint64 frames, fc_blob *to, guint *left_out);

/* Appends the names of the blocks that no other format of ours takes, apart by commas; `pictures`: of those
 * too, which Ogg takes. */
void fc_flac_blocks_name(const fc_blob *blocks, gboolean pictures, GString *names);

/* A FLAC file on its way out, whose own blocks are to be joined by these. */
typedef struct fc_flac_front {
  const fc_blob *blocks;       /* borrowed; or NULL */
  const fc_comments *comments; /* in the place of the encoder's; the same */
  guint32 mask;                /* of speakers, for a comment behind them; or 0 */
  fc_blob held;                /* what has come of the front */
  gsize before, after;         /* size of the front as it came, and as it is; 0: not all is there */
} fc_flac_front;

/* Whether there is anything to join. */
gboolean fc_flac_front_joins(const fc_flac_front *front);

/* Takes the next bytes. TRUE when the front is complete: `held` then has everything so
 * far, with the blocks in it, unless it has failed. */
gboolean fc_flac_front_feed(fc_flac_front *front, const void *from, gsize size);

/* Where a byte of the encoder's file lies in ours. */
gint64 fc_flac_front_place(const fc_flac_front *front, gint64 position);

G_END_DECLS

#endif
