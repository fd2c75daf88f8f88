/* SPDX-License-Identifier: MIT */
/*
 * sound_front.h - what the first bytes of a sound tell of how it may be read from a pipe.
 */
#ifndef FC_MEDIA_SOUND_FRONT_H
#define FC_MEDIA_SOUND_FRONT_H

#include "media/file/internal.h"

G_BEGIN_DECLS

/* Whether the samples of WAV, AIFF and AU stand one by one, where and as many as their header says. From a
 * pipe libsndfile reads those that are packed in blocks wrongly, or not at all: where they are cut off it
 * delivers silence, as long as the header says, or MP3 as if it were whole. */
gboolean fc_sound_front_is_plain(const fc_input *input);

/* Where the samples of AU begin, and how many bytes they are; -1: that was never set. FALSE when it is no AU.
 * Whether it was, where it says nothing, a pipe does not tell. */
gboolean fc_sound_front_au(const fc_input *input, gint64 *offset, gint64 *size);

G_END_DECLS

#endif
