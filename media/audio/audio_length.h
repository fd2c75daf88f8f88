/* SPDX-License-Identifier: MIT */
/*
 * audio_length.h - how long a sound file is, and whether it is all there.
 */
#ifndef FC_MEDIA_AUDIO_LENGTH_H
#define FC_MEDIA_AUDIO_LENGTH_H

#include "media/audio/audio.h"
#include "media/audio/chunks.h"

G_BEGIN_DECLS

/* What is said of an Ogg stream that does not end with its last page. */
#define FC_OGG_CUT "is cut off: its last page is not the end of a stream"
/* And of one that others are joined to, of which libsndfile reads the first. */
#define FC_OGG_CHAIN "holds streams one after another; the first is read, and what follows is left out"
/* Or that others are mixed with. */
#define FC_OGG_BESIDE "holds streams side by side; the first is read, and the others are left out"

/* Of a sound whose header counts less than there is. */
#define FC_AUDIO_GOES_ON "goes on behind its own end; what follows is left out"
/* Which no writer makes any more. */
#define FC_AUDIO_SEVERAL "holds samples in several chunks; those of the first are read"
/* And one of more than its family can count. */
#define FC_AUDIO_TOO_LONG "holds more than the 4 GiB of samples that can be read of such a file"

typedef struct fc_audio_length {
  gint64 frames;      /* FC_UNKNOWN: only the end will tell */
  gboolean certain;   /* so many frames are there, for the bytes were counted */
  char *fault;        /* why the file is not whole ("is cut off: ..."), g_free; or NULL */
  const char *remark; /* worth a warning, or NULL; static */
} fc_audio_length;

/* `info` is what libsndfile found, `chunks` those of a seekable file, else NULL. FALSE only when the file
 * cannot be read. */
gboolean fc_audio_length_find(fc_input *input, const fc_chunks *chunks, const SF_INFO *info,
                              fc_audio_length *length, GError **error);

G_END_DECLS

#endif
