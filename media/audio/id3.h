/* SPDX-License-Identifier: MIT */
/*
 * id3.h - ID3v2 tags: before MP3 data, whose decoder reads them; before any other sound, where they are
 * skipped; and in MP3 files that are written.
 */
#ifndef FC_MEDIA_ID3_H
#define FC_MEDIA_ID3_H

#include <mpg123.h>

#include "media/audio/audio.h"
#include "media/file/blob.h"
#include "media/file/input.h"
#include "media/file/tags.h"

G_BEGIN_DECLS

/* The position after the tags at a position of a seekable input, and after their padding; -1: there are
 * none. */
gint64 fc_id3_skip(fc_input *input, gint64 at);

/* Whether a seekable input begins with a frame of MPEG audio, or with tags before one. */
gboolean fc_id3_is_mpeg(fc_input *input);

/* Skips the ID3 tags at the beginning of a sound, except for MP3, whose decoder reads them. FALSE with an
 * error if nothing follows them. */
gboolean fc_id3_pass(fc_input *input, GError **error);

/* Adds the tags that libmpg123 has found, and the names of frames in a leading tag that it does not read. */
void fc_id3_read(fc_tags *tags, mpg123_handle *decoder);
void fc_id3_name_others(fc_tags *tags, fc_input *input);

/* Appends a tag (2.4) with the texts and pictures; nothing if there are none. */
void fc_id3_put(const fc_audio_spec *spec, fc_blob *to);

G_END_DECLS

#endif
