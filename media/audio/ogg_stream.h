/* SPDX-License-Identifier: MIT */
/*
 * ogg_stream.h - the pages of an Ogg stream, through libogg. Pages of an input are verified while they are
 * read, because libsndfile silently skips damaged ones; those of an output get our comments, and serial
 * numbers that do not change from run to run.
 */
#ifndef FC_MEDIA_OGG_STREAM_H
#define FC_MEDIA_OGG_STREAM_H

#include <ogg/ogg.h>

#include "media/audio/audio.h"

G_BEGIN_DECLS

/* ---- reading ------------------------------------------------------------------ */

#define FC_OGG_CUT "is cut off: its last page is not the end of a stream"

/* Empty when zeroed. Follows the stream that begins first. */
typedef struct fc_ogg_verifier {
  ogg_sync_state sync;
  ogg_stream_state headers; /* until the comments are complete */
  gint64 position;          /* bytes processed as pages, or skipped */
  int serial, number;       /* of the stream, and of its last page */
  gboolean any, over;       /* it has begun; it has ended */
  gboolean ended;           /* the last complete page was the last of a stream */
  gboolean beside, chain;   /* another stream is multiplexed with it, or follows it */
  gboolean at_headers;      /* its last page was a header page */
  gboolean damaged, failed; /* some of it was changed after it was written; out of memory */
  gint64 damaged_at;
  int packets; /* complete header packets */
  int mapping; /* Opus: the channel mapping family, else 0 */
  fc_blob comments;
} fc_ogg_verifier;

void fc_ogg_verifier_clear(fc_ogg_verifier *verifier);
/* Processes the next bytes. */
void fc_ogg_verifier_feed(fc_ogg_verifier *verifier, const void *data, gsize size);
/* Processes all of a seekable input, in one pass. FALSE with an error if it cannot be read. */
gboolean fc_ogg_verifier_feed_file(fc_ogg_verifier *verifier, fc_input *input, GError **error);
/* Whether the input ends with a complete page that is the last of a stream, and the first stream has
 * ended. */
gboolean fc_ogg_verifier_is_whole(const fc_ogg_verifier *verifier);
/* The damage found so far ("is damaged: ..."); g_free; NULL: none. */
char *fc_ogg_verifier_fault(const fc_ogg_verifier *verifier);
/* A message that there are further streams, which are not read; or NULL. */
const char *fc_ogg_verifier_remark(const fc_ogg_verifier *verifier);
/* The comments as tags; FALSE if they are incomplete. */
gboolean fc_ogg_verifier_tags(const fc_ogg_verifier *verifier, fc_tags *tags);

/* ---- writing ------------------------------------------------------------------ */

/* Empty when zeroed, except for name, output and spec, which are borrowed. */
typedef struct fc_ogg_writer {
  const char *name;
  fc_output *output;
  const fc_audio_spec *spec;
  ogg_sync_state sync;
  ogg_stream_state headers;    /* as made by the encoder */
  ogg_stream_state rewritten;  /* as they are written */
  int packets, header_packets; /* received so far; number that the codec has */
  int number;
  gint64 position; /* granule position of the last page, in samples of the codec */
  gboolean ended;
} fc_ogg_writer;

void fc_ogg_writer_clear(fc_ogg_writer *writer);
/* Takes the next bytes of the encoder's stream, in pieces of any size, and writes complete pages. */
gboolean fc_ogg_writer_feed(fc_ogg_writer *writer, const void *from, gsize size, GError **error);
/* Whether the stream has ended, completely, and at or after a position. */
gboolean fc_ogg_writer_is_complete(const fc_ogg_writer *writer, gint64 position);

G_END_DECLS

#endif
