/* SPDX-License-Identifier: MIT */
/*
 * comments.h - Vorbis comments: what FLAC, Vorbis and Opus say in words, as fields of a name, "=" and a text.
 * Of names there are as many as people like, each as often; libsndfile knows ten, and one field of each.
 *
 * The name of the encoder's library ahead of the fields is about the samples as they are packed, and is
 * always that of the file that is written. What a field says of loudness (ReplayGain) goes over as it is, as
 * it does in bext: it is said of the input, and nobody here can tell what of it a chain leaves true.
 */
#ifndef FC_MEDIA_COMMENTS_H
#define FC_MEDIA_COMMENTS_H

#include "media/file/blob.h"
#include "media/audio/texts.h"

G_BEGIN_DECLS

/* Empty when zeroed. */
typedef struct fc_comments {
  fc_blob fields; /* each behind its length, as they lie in a file */
  guint32 count;
  fc_blob behind; /* what Opus has behind them, that is to be kept there */
} fc_comments;

/* Appends the fields of a body: the library's name, how many there are, and they. FALSE when not all of them
 * are there. */
gboolean fc_comments_read(fc_comments *comments, const guint8 *body, gsize size);
/* Of a body of Opus whose fields are all that was read: takes what stands behind them, if its first bit says
 * that it is to be kept, and is not padding. */
void fc_comments_read_behind(fc_comments *comments, const guint8 *body, gsize size);
void fc_comments_clear(fc_comments *comments);

/* Appends a body of these fields and of the name in another one. */
void fc_comments_put(const fc_comments *comments, const guint8 *like, gsize size, fc_blob *to);

/* Every field that is not empty; but for libsndfile's own name, which is of the library and not of a program
 * that somebody used. */
void fc_comments_find(const fc_comments *comments, fc_text_found found, void *data);

/* The mask of speakers that FLAC has for a comment, as seats.h has it. FALSE: there is none that says
 * something.
 */
#define FC_COMMENTS_MASK "WAVEFORMATEXTENSIBLE_CHANNEL_MASK"
gboolean fc_comments_get_mask(const fc_comments *comments, guint32 *mask);
void fc_comments_put_mask(fc_comments *comments, guint32 mask);

/* What a copy has no room for, or what is not true in it. */
typedef struct fc_comments_rules {
  gboolean places, seats; /* fields that count time, or channels, still hold */
  gsize room, most;       /* bytes for all of them, and how many they may be */
  GString *stale, *large; /* names of what is left out for the one reason or the other */
} fc_comments_rules;

/* Appends to others what holds and fits. */
void fc_comments_choose(const fc_comments *comments, const fc_comments_rules *rules, fc_comments *to);

/* Pictures are blocks in FLAC, and in Ogg fields with such a block's content in base 64. Turns the fields
 * that are that into blocks; and blocks into fields, of which the comments have failed when there was no
 * memory. */
void fc_comments_take_pictures(fc_comments *comments, fc_blob *blocks);
void fc_comments_add_picture(fc_comments *comments, const guint8 *content, gsize size);

G_END_DECLS

#endif
