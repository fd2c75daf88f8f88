/* SPDX-License-Identifier: MIT */
/*
 * id3.h - ID3v2 tags: ahead of MP3, whose decoder reads them, and of any other sound, where they are
 * skipped; and one ahead of an MP3 file that is written.
 */
#ifndef FC_MEDIA_ID3_H
#define FC_MEDIA_ID3_H

#include <mpg123.h>

#include "media/file/blob.h"
#include "media/file/input.h"
#include "media/file/tags.h"

G_BEGIN_DECLS

/* Behind the tags at a place of a seekable input, and the zeros that fill them up; -1: there is nothing. */
gint64 fc_id3_skip(fc_input *input, gint64 at);

/* Whether a seekable input begins with a frame of MPEG audio, or tags ahead of one. */
gboolean fc_id3_is_mpeg(fc_input *input);

/* Makes a sound behind ID3 tags begin there; but for MP3, whose decoder reads the tags. FALSE with an error
 * when there is nothing behind them. */
gboolean fc_id3_pass(fc_input *input, GError **error);

/* Adds what libmpg123 has found; and the names of the frames of a tag at the start that it does not read. */
void fc_id3_read(fc_tags *tags, mpg123_handle *decoder);
void fc_id3_name_others(fc_tags *tags, fc_input *input);

/* Appends a tag (2.4) of the texts and pictures; nothing when there are none. */
void fc_id3_put(const fc_tags *tags, fc_blob *to);

G_END_DECLS

#endif
