/* SPDX-License-Identifier: MIT */
/*
 * pcm_header.h - what the header of a WAV, RF64, RIFX, W64, AIFF, CAF or AU file says: how the samples are
 * stored, where they lie and how many they are, and the tags.
 */
#ifndef FC_MEDIA_PCM_HEADER_H
#define FC_MEDIA_PCM_HEADER_H

#include "media/audio/audio.h"
#include "media/audio/chunks.h"

G_BEGIN_DECLS

typedef struct fc_pcm_header {
  const fc_item *item; /* of one sample; NULL: it is coded, or of a kind unknown here */
  gboolean swap;       /* the bytes of an item are not in this machine's order */
  int sndfile;         /* libsndfile's subtype, where there is an item */
  gboolean mpeg;       /* MPEG audio in WAV */
  gboolean unknown;    /* a format that libsndfile would take for integers */
  int channels;
  double rate;
  gint64 flags_at;                  /* in CAF: where the format has its flags, ... */
  int alac_depth;                   /* ... and the bits of ALAC by its own header; 0: it is none */
  gint64 block_frames, block_bytes; /* of samples in blocks; 0 */

  gboolean found;      /* the samples' chunk */
  gint64 offset, size; /* of the samples; size -1: to the end of the input */
  gint64 size_at;      /* where the header says the size, ... */
  int size_bytes;      /* ... in so many bytes, ... */
  guint64 size_said;   /* ... which is this one */
  gint64 counted;      /* frames that the header counts; 0: it does not */
  gint64 missing;      /* bytes that the file says it has and has not */
  gboolean more;       /* in a pipe chunks follow the samples, by the file's own size */

  fc_tags *tags;
} fc_pcm_header;

/* Reads the header of an input whose kind is known; of a pipe up to the samples, of a file all chunks. FALSE
 * with an error when it cannot be read; a header that makes no sense leaves `found` or `channels` unset. */
gboolean fc_pcm_header_read(fc_pcm_header *header, fc_input *input, GError **error);
void fc_pcm_header_clear(fc_pcm_header *header);

G_END_DECLS

#endif
