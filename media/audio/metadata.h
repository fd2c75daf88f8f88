/* SPDX-License-Identifier: MIT */
/*
 * metadata.h - what a sound file says beside its samples, on its way into another.
 *
 * Between files of one family (RIFF, RF64 and W64 are one; AIFF; CAF; FLAC) every chunk that
 * is not about the samples' own layout goes over byte for byte: LIST, bext, iXML, cue,
 * smpl, cart, id3, and what nobody here has heard of; and between FLAC and Ogg every comment and picture.
 * Between families goes what libsndfile knows by name: the ten strings, bext, cart, cue points, loops; and
 * where the channels sit, see seats.h.
 */
#ifndef FC_MEDIA_METADATA_H
#define FC_MEDIA_METADATA_H

#include "media/audio/audio.h"
#include "media/file/blob.h"
#include "media/audio/chunks.h"
#include "media/audio/comments.h"
#include "media/audio/places.h"
#include "media/audio/seats.h"

G_BEGIN_DECLS

typedef struct fc_metadata fc_metadata;

/* Of a sound source; NULL for any other, for NULL, and with an error when there is no memory. What
 * cannot be read is left out, with a warning. */
fc_metadata *fc_metadata_read(fc_source *like, const fc_media_options *options, GError **error);
void fc_metadata_free(fc_metadata *metadata); /* NULL is allowed */

/*
 * The chunks to store in a file of `family`, for sound of so many channels at this
 * rate: an array of fc_meta_chunk, owned by the metadata. What counts samples is moved with them where the
 * sound is a part of the input; it is left out, with a warning, where that cannot be, or their rate has
 * changed, and so is what counts channels where their number has. NULL when the family is another one and
 * libsndfile must do it; but for RIFF, which libsndfile is made to translate into, and NULL with an error
 * when it cannot.
 */
const GArray *fc_metadata_chunks(fc_metadata *metadata, fc_family family, const fc_audio_spec *spec,
                                 const fc_media_options *options, const char *name, GError **error);

/* Gives `file`, opened for writing and still empty, what libsndfile can carry. `name` is for warnings. */
void fc_metadata_apply(const fc_metadata *metadata, SNDFILE *file, const fc_audio_spec *spec,
                       const char *name);

/* Where the channels sit; nothing is said when their number has changed. */
fc_seats fc_metadata_seats(const fc_metadata *metadata, const fc_audio_spec *spec);
/* The mask for FLAC that is not among the comments below; 0: none is needed. */
guint32 fc_metadata_flac_mask(const fc_metadata *metadata, const fc_audio_spec *spec);

/* The blocks of a FLAC file for another, which may begin elsewhere or be at another rate; NULL when there are
 * none. Owned by the metadata. */
const fc_blob *fc_metadata_flac_blocks(fc_metadata *metadata, const fc_audio_spec *spec, const char *name);

/* The comments of FLAC or Ogg for a file of one of them, but for those that no longer hold, which are told
 * of; NULL when there are none, and for any other file. Owned by the metadata. */
const fc_comments *fc_metadata_comments(fc_metadata *metadata, const fc_audio_spec *spec, const char *name);

/* Says in a warning which of the input's chunks a file of another kind, called `title`, has no place for. */
void fc_metadata_warn_lost(const fc_metadata *metadata, const fc_audio_spec *spec, const char *title,
                           const char *name);

/* Appends chunks to a finished file of that family and corrects its size. */
gboolean fc_metadata_append(const GArray *chunks, fc_family family, fc_output *output, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_metadata, fc_metadata_free)

G_END_DECLS

#endif
