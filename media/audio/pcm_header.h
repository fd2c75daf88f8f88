/* SPDX-License-Identifier: MIT */
/*
 * pcm_header.h - the header of a WAV, RF64, RIFX, W64, AIFF, CAF or AU file: the format, position and number
 * of the samples, and the tags.
 */
#ifndef FC_MEDIA_PCM_HEADER_H
#define FC_MEDIA_PCM_HEADER_H

#include "media/audio/audio.h"
#include "media/audio/chunks.h"

G_BEGIN_DECLS

typedef struct fc_pcm_header {
  const fc_item *item; /* one sample; NULL: coded, or of an unknown kind */
  gboolean swap;       /* the bytes of an item are not in this machine's order */
  int sndfile;         /* libsndfile's subtype, if there is an item */
  gboolean mpeg;       /* MPEG audio in WAV */
  gboolean unknown;    /* a format that libsndfile would read as integers */
  int channels;
  double rate;
  gint64 flags_at;                  /* in CAF: offset of the format's flags, ... */
  int alac_depth;                   /* ... and ALAC's bits by its own header; 0: not ALAC */
  gint64 block_frames, block_bytes; /* of samples in blocks; 0 */

  gboolean found;      /* the samples' chunk */
  gint64 offset, size; /* of the samples; size -1: to the end of the input */
  gint64 size_at;      /* offset of the size in the header, ... */
  int size_bytes;      /* ... in so many bytes, ... */
  guint64 size_said;   /* ... which is this one */
  gint64 counted;      /* frames by the header; 0: not given */
  gint64 missing;      /* bytes that are missing by the header's size */
  gboolean more;       /* in a pipe: by the file's size, chunks follow the samples */

  fc_tags *tags;
} fc_pcm_header;

/* Reads the header of an input of known kind: of a pipe up to the samples, of a file all chunks. FALSE with
 * an error if reading fails; an invalid header leaves `found` or `channels` unset. */
gboolean fc_pcm_header_read(fc_pcm_header *header, fc_input *input, GError **error);
void fc_pcm_header_clear(fc_pcm_header *header);

G_END_DECLS

#endif
