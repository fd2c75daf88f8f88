/* SPDX-License-Identifier: MIT */
/*
 * cue_sheet.h - FLAC's cue sheet of a part of the sound that it speaks of.
 */
#ifndef FC_MEDIA_CUE_SHEET_H
#define FC_MEDIA_CUE_SHEET_H

#include "media/file/blob.h"

G_BEGIN_DECLS

/* Appends the block that says of frames `lead` to `lead + frames` what `block`, of `size` bytes with its
 * header, says of all: tracks and their index points where they are there, a track that has begun already
 * from the first frame on. Such a part is no CD. `left_out` grows by the tracks that are not in it. FALSE,
 * and nothing is appended, when the block is none that makes sense or none of its tracks is left. */
gboolean fc_cue_sheet_part(const guint8 *block, gsize size, gint64 lead, gint64 frames, fc_blob *to,
                           guint *left_out);

G_END_DECLS

#endif
