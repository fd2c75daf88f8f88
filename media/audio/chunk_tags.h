/* SPDX-License-Identifier: MIT */
/*
 * chunk_tags.h - between tags and the chunks of RIFF, AIFF and CAF: LIST INFO and bext, NAME, AUTH, "(c) "
 * and ANNO, info.
 */
#ifndef FC_MEDIA_CHUNK_TAGS_H
#define FC_MEDIA_CHUNK_TAGS_H

#include "media/audio/audio.h"
#include "media/audio/chunks.h"

G_BEGIN_DECLS

/* Reads a chunk that is not about how the samples lie: kept as it is, and its texts by name. FALSE with an
 * error when the front cannot be read. */
gboolean fc_chunk_tags_read(fc_tags *tags, const fc_chunk_layout *layout, const fc_chunk *chunk,
                            gboolean ahead, fc_input *input, GError **error);

/*
 * The chunks for a file of `family`, as tags with nothing but these (fc_tags_unref): those of the input as
 * they are, or the texts in the family's own chunks. What counts samples is left out when the chain has moved
 * them, what counts channels when their number has changed; spec->lost gets the names. NULL with an error
 * that begins with `name` when there is no memory.
 */
fc_tags *fc_chunk_tags_choose(const fc_audio_spec *spec, fc_tag_family family, const char *name,
                              GError **error);

/* Appends the chunks that stand ahead of the samples, or those that do not. */
void fc_chunk_tags_put(const fc_tags *chunks, const fc_chunk_layout *layout, gboolean ahead, fc_blob *to);

/* Appends all of them to a finished file, whose size in the header they make larger. */
gboolean fc_chunk_tags_append(const fc_tags *chunks, const fc_chunk_layout *layout, const char *name,
                              fc_output *output, GError **error);

G_END_DECLS

#endif
