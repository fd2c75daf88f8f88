/* SPDX-License-Identifier: MIT */
/*
 * ogg_stream.h - the pages of an Ogg stream, through libogg: those of an input are verified as they go by,
 * for libsndfile leaves out without a word what is damaged; those of an output get our comments, and
 * numbers that are the same from run to run.
 */
#ifndef FC_MEDIA_OGG_STREAM_H
#define FC_MEDIA_OGG_STREAM_H

#include <ogg/ogg.h>

#include "media/audio/audio.h"

G_BEGIN_DECLS

/* ---- reading ------------------------------------------------------------------ */

#define FC_OGG_CUT "is cut off: its last page is not the end of a stream"

/* Empty when zeroed. The stream is the one that begins first. */
typedef struct fc_ogg_verifier {
  ogg_sync_state sync;
  ogg_stream_state headers; /* until the comments are whole */
  gint64 position;          /* bytes that have gone by as pages, or were skipped */
  int serial, number;       /* of the stream, and of its last page */
  gboolean any, over;       /* it has begun, it has ended */
  gboolean ended;           /* the last whole page was the last of a stream */
  gboolean beside, chain;   /* another stream runs beside it, or follows it */
  gboolean at_headers;      /* its last page was one of headers */
  gboolean damaged, failed; /* some of it is not what was written; there was no memory */
  gint64 damaged_at;
  int packets; /* header packets that are whole */
  int mapping; /* Opus: the channel mapping family, else 0 */
  fc_blob comments;
} fc_ogg_verifier;

void fc_ogg_verifier_clear(fc_ogg_verifier *verifier);
/* The next bytes. */
void fc_ogg_verifier_feed(fc_ogg_verifier *verifier, const void *data, gsize size);
/* All of a seekable input, in one pass. FALSE with an error when it cannot be read. */
gboolean fc_ogg_verifier_feed_file(fc_ogg_verifier *verifier, fc_input *input, GError **error);
/* Whether it ends with a whole page that is the last of a stream, and the first stream has ended. */
gboolean fc_ogg_verifier_is_whole(const fc_ogg_verifier *verifier);
/* What is wrong with what has gone by ("is damaged: ..."); g_free; NULL: nothing. */
char *fc_ogg_verifier_fault(const fc_ogg_verifier *verifier);
/* That there are more streams than the one that is read, or NULL. */
const char *fc_ogg_verifier_remark(const fc_ogg_verifier *verifier);
/* The comments as tags; FALSE when they are not all there. */
gboolean fc_ogg_verifier_tags(const fc_ogg_verifier *verifier, fc_tags *tags);

/* ---- writing ------------------------------------------------------------------ */

/* Empty when zeroed but for name, output and spec, which are borrowed. */
typedef struct fc_ogg_writer {
  const char *name;
  fc_output *output;
  const fc_audio_spec *spec;
  ogg_sync_state sync;
  ogg_stream_state headers;    /* as the encoder makes them */
  ogg_stream_state rewritten;  /* and as they are written */
  int packets, header_packets; /* that have come; how many the codec has */
  int number;
  gint64 position; /* that the last page ends at, in samples of the codec */
  gboolean ended;
} fc_ogg_writer;

void fc_ogg_writer_clear(fc_ogg_writer *writer);
/* Takes the next bytes of the encoder's stream, in pieces of any size, and writes whole pages. */
gboolean fc_ogg_writer_feed(fc_ogg_writer *writer, const void *from, gsize size, GError **error);
/* Whether the stream has ended, with nothing left over, and not before a position. */
gboolean fc_ogg_writer_is_complete(const fc_ogg_writer *writer, gint64 position);

G_END_DECLS

#endif
