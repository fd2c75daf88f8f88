/* SPDX-License-Identifier: MIT */
/*
 * mpeg_front.h - how MP3 begins, and the tags ahead of it and of other sounds.
 */
#ifndef FC_MEDIA_MPEG_FRONT_H
#define FC_MEDIA_MPEG_FRONT_H

#include "media/file/internal.h"

G_BEGIN_DECLS

/* Whether a seekable file begins with a frame, or tags ahead of one. Of any other libsndfile would try
 * whatever it knows. */
gboolean fc_mpeg_begins(fc_input *input);

/* Behind tags at a place of a seekable file, and zeros behind them; -1: there is nothing. */
gint64 fc_mpeg_skip_tags(fc_input *input, gint64 at);

/* The number of zeros between the `tags` bytes of tags with which a seekable input begins and what is behind
 * them: libsndfile finds no frame there. */
gint64 fc_mpeg_zeros_behind_tags(fc_input *input, gint64 *tags);

/* What stands behind ID3 tags is made to begin there; but for MP3, whose decoder reads the tags. FALSE with
 * an error when there is nothing. */
gboolean fc_mpeg_pass_tags(fc_input *input, GError **error);

G_END_DECLS

#endif
