/* SPDX-License-Identifier: MIT */
/*
 * comments.h - Vorbis comments, as FLAC, Vorbis and Opus have them: fields of a name, "=" and a text. Two of
 * them are no texts: the speaker mask of FLAC, and in Ogg the pictures, in base 64.
 */
#ifndef FC_MEDIA_COMMENTS_H
#define FC_MEDIA_COMMENTS_H

#include "media/audio/audio.h"

G_BEGIN_DECLS

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

G_END_DECLS

#endif
