/* SPDX-License-Identifier: MIT */
/*
 * rifx.h - what big-endian WAV says beside its samples, in the order of bytes of WAV.
 */
#ifndef FC_MEDIA_RIFX_H
#define FC_MEDIA_RIFX_H

#include "media/audio/places.h"

G_BEGIN_DECLS

/* Makes of a chunk of RIFX, in place, the same of RIFF. Some programs write part of them as in RIFF, which is
 * told by what makes sense. FALSE when it is not known which bytes of it are numbers. */
gboolean fc_rifx_turn(fc_meta_chunk *chunk);

G_END_DECLS

#endif
