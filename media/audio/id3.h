/* SPDX-License-Identifier: MIT */
/*
 * id3.h - what an ID3v2 tag ahead of MPEG audio holds beside the texts that libsndfile reads.
 */
#ifndef FC_MEDIA_ID3_H
#define FC_MEDIA_ID3_H

#include "media/file/internal.h"

G_BEGIN_DECLS

/* Adds to `words`, apart by commas and each once, what nothing here reads of the tag with which a seekable
 * input begins, if it does: "picture", or the ids of frames. */
void fc_id3_name_others(fc_input *input, GString *words);

G_END_DECLS

#endif
