/* SPDX-License-Identifier: MIT */
/*
 * audio_tags.h - metadata of sound files, converted between tags and the forms in files: chunks of
 * RIFF, AIFF and CAF (chunk_tags.c), Vorbis comments (comments.c), blocks of FLAC (flac_blocks.c). ID3 is in
 * id3.h, the speaker mask in channel_layout.h.
 */
#ifndef FC_MEDIA_AUDIO_TAGS_H
#define FC_MEDIA_AUDIO_TAGS_H

#include "media/audio/audio.h"
#include "media/audio/chunks.h"

G_BEGIN_DECLS

/* ---- chunks: LIST INFO and bext, NAME, AUTH, "(c) " and ANNO, info -------------- */

/* Reads a chunk that does not describe the samples: it is kept unchanged, and its texts by name. FALSE with
 * an error if its beginning cannot be read. */
gboolean fc_chunk_tags_read(fc_tags *tags, const fc_chunk_layout *layout, const fc_chunk *chunk,
                            gboolean ahead, fc_input *input, GError **error);

/*
 * The chunks for a file of `family`, as tags that have only chunks (fc_tags_unref): those of the input
 * unchanged, or the texts in the family's own chunks. Chunks with sample positions are left out if the chain
 * has moved samples, chunks about channels if their number has changed; their names are added to spec->lost.
 * NULL with an error that begins with `name` if memory is lacking.
 */
fc_tags *fc_chunk_tags_choose(const fc_audio_spec *spec, fc_tag_family family, const char *name,
                              GError **error);

/* Appends the chunks that precede the samples, or those that follow them. */
void fc_chunk_tags_put(const fc_tags *chunks, const fc_chunk_layout *layout, gboolean ahead, fc_blob *to);

/* Appends all of them to a finished file and updates the size in its header. */
gboolean fc_chunk_tags_append(const fc_tags *chunks, const fc_chunk_layout *layout, const char *name,
                              fc_output *output, GError **error);

/* Adds the input's chunks that texts do not replace to the lost ones. */
void fc_chunk_tags_name_lost(const fc_tags *tags, GString *lost);

/* ---- Vorbis comments, as FLAC, Vorbis and Opus have them ------------------------- */

/* Fields of the form NAME=TEXT. Two are not texts: the speaker mask of FLAC, and in Ogg the pictures, in
 * base 64. */

/* Adds the fields of a comment body: the encoder's name, the number of fields, the fields. FALSE if it is
 * incomplete. */
gboolean fc_comments_read(fc_tags *tags, const guint8 *body, gsize size);

/* Appends a comment body with the texts of the spec's tags, and whatever else its format stores in comments,
 * with the encoder's name from another body. Fields that are no longer valid are named in spec->lost. */
void fc_comments_put(const fc_audio_spec *spec, const guint8 *like, gsize size, fc_blob *to);

/* Whether the content of a FLAC picture block is complete: kind, two texts, four numbers, the image. */
gboolean fc_comments_is_picture(const guint8 *content, gsize size);

/* Whether a text is FLAC's speaker mask, for which tags have a field. */
gboolean fc_comments_is_mask(const fc_tag_text *text);

/* ---- blocks at the front of a FLAC file ------------------------------------------- */

/* Adds the metadata blocks of a seekable FLAC file. FALSE if they are incomplete. */
gboolean fc_flac_blocks_read(fc_tags *tags, fc_input *input);

/* The beginning of a FLAC file that is being written. */
typedef struct fc_flac_front {
  const fc_audio_spec *spec; /* borrowed */
  fc_blob held;              /* the part received so far */
  gsize before, after;       /* size of the beginning as received, and as written; 0: not yet complete */
} fc_flac_front;

/* Takes the next bytes. TRUE when the beginning is complete: `held` then has all bytes so far, with our
 * blocks inserted, unless that has failed. */
gboolean fc_flac_front_feed(fc_flac_front *front, const void *from, gsize size);

/* The position in our file of a byte of the encoder's file. */
gint64 fc_flac_front_place(const fc_flac_front *front, gint64 position);

/* Adds the blocks that no other format can hold to the lost ones. */
void fc_flac_blocks_name_lost(const fc_tags *tags, GString *lost);

G_END_DECLS

#endif
