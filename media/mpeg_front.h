/* SPDX-License-Identifier: MIT */
/*
 * mpeg_front.h - what MP3 says of itself in its first frame, as far as libsndfile does not tell.
 */
#ifndef FC_MEDIA_MPEG_FRONT_H
#define FC_MEDIA_MPEG_FRONT_H

#include "media/internal.h"

G_BEGIN_DECLS

/* Whether a seekable file goes on where its header says it ends, as when others were joined to it. Libsndfile
 * delivers what the header counts. */
gboolean fc_mpeg_goes_on(fc_input *input);

/* Whether behind the tags that a seekable file begins with, as libsndfile passes them by, there is MP3 or
 * FLAC: anything else it reads as well, as it is. */
gboolean fc_mpeg_tags_are_right(fc_input *input);

G_END_DECLS

#endif
