/* SPDX-License-Identifier: MIT */
/*
 * audio_tags.h - what sounds say beside their samples, between tags and the forms that files have: chunks of
 * RIFF, AIFF and CAF (chunk_tags.c), Vorbis comments (comments.c), blocks of FLAC (flac_blocks.c). ID3 is in
 * id3.h, the speaker mask in channel_layout.h.
 */
#ifndef FC_MEDIA_AUDIO_TAGS_H
#define FC_MEDIA_AUDIO_TAGS_H

#include "media/audio/audio.h"
#include "media/audio/chunks.h"

G_BEGIN_DECLS

/* ---- chunks: LIST INFO and bext, NAME, AUTH, "(c) " and ANNO, info -------------- */

/* Reads a chunk that is not about how the samples lie: kept as it is, and its texts by name. FALSE with an
 * error when the front cannot be read. */
gboolean fc_chunk_tags_read(fc_tags *tags, const fc_chunk_layout *layout, const fc_chunk *chunk,
                            gboolean ahead, fc_input *input, GError **error);

/*
 * The chunks for a file of `family`, as tags with nothing but these (fc_tags_unref): those of the input as
 * they are, or the texts in the family's own chunks. What counts samples is left out when the chain has moved
 * them, what counts channels when their number has changed; spec->lost gets the names. NULL with an error
 * that begins with `name` when there is no memory.
 */
fc_tags *fc_chunk_tags_choose(const fc_audio_spec *spec, fc_tag_family family, const char *name,
                              GError **error);

/* Appends the chunks that stand ahead of the samples, or those that do not. */
void fc_chunk_tags_put(const fc_tags *chunks, const fc_chunk_layout *layout, gboolean ahead, fc_blob *to);

/* Appends all of them to a finished file, whose size in the header they make larger. */
gboolean fc_chunk_tags_append(const fc_tags *chunks, const fc_chunk_layout *layout, const char *name,
                              fc_output *output, GError **error);

/* Names the input's chunks that texts do not stand for. */
void fc_chunk_tags_name_lost(const fc_tags *tags, GString *lost);

/* ---- Vorbis comments, as FLAC, Vorbis and Opus have them ------------------------- */

/* Fields of a name, "=" and a text. Two of them are no texts: the speaker mask of FLAC, and in Ogg the
 * pictures, in base 64. */

/* Adds the fields of a body: the encoder's name, how many fields there are, and they. FALSE when not all of
 * them are there. */
gboolean fc_comments_read(fc_tags *tags, const guint8 *body, gsize size);

/* Appends a body of the texts of the spec's tags, and of what else goes into comments in its format, with
 * the encoder's name of another body. Fields that no longer hold are named in spec->lost. */
void fc_comments_put(const fc_audio_spec *spec, const guint8 *like, gsize size, fc_blob *to);

/* Whether the content of a picture block of FLAC is all there: kind, two texts, four numbers, the image. */
gboolean fc_comments_is_picture(const guint8 *content, gsize size);

/* Whether a text is the speaker mask of FLAC, which tags have as such. */
gboolean fc_comments_is_mask(const fc_tag_text *text);

/* ---- blocks at the front of a FLAC file ------------------------------------------- */

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

/* Names the blocks that no other format takes. */
void fc_flac_blocks_name_lost(const fc_tags *tags, GString *lost);

G_END_DECLS

#endif
