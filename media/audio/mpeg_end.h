/* SPDX-License-Identifier: MIT */
/*
 * mpeg_end.h - what stands behind the last frame of MP3 that its first one counts, where libsndfile stops.
 */
#ifndef FC_MEDIA_MPEG_END_H
#define FC_MEDIA_MPEG_END_H

#include "media/file/internal.h"

G_BEGIN_DECLS

/* Whether so many bytes of a seekable file go on behind it, with more than tags. Where the first frame counts
 * nothing libsndfile reads on. */
gboolean fc_mpeg_goes_on(fc_input *input, gint64 at, gint64 size);

/* Whether a seekable file ends with an APE tag, or has one among the tags at its end. Nothing here reads it.
 */
gboolean fc_mpeg_has_ape(fc_input *input);

G_END_DECLS

#endif
