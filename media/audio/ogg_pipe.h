/* SPDX-License-Identifier: MIT */
/*
 * ogg_pipe.h - an Ogg stream from a pipe, as libsndfile reads it: from front to back, kept nowhere, and
 * without end if that is how it is. Its pages are watched on the way, for libsndfile does not say whether the
 * last one that came ends the stream.
 */
#ifndef FC_MEDIA_OGG_PIPE_H
#define FC_MEDIA_OGG_PIPE_H

#include "media/audio/audio.h"
#include "media/audio/ogg_headers.h"

G_BEGIN_DECLS

typedef struct fc_ogg_pipe fc_ogg_pipe;

/* `input`, which is borrowed, stands at its beginning. */
fc_ogg_pipe *fc_ogg_pipe_new(fc_input *input);
void fc_ogg_pipe_free(fc_ogg_pipe *pipe); /* NULL is allowed */

/* Those that have gone by. */
const fc_ogg_headers *fc_ogg_pipe_headers(const fc_ogg_pipe *pipe);

/* At the end: whether what has been read ends with a whole page that says it is the last. What follows the
 * stream, or runs beside it, is read to its end too. FALSE with an error when the pipe could not be read. */
gboolean fc_ogg_pipe_check(fc_ogg_pipe *pipe, gboolean *whole, GError **error);

/* Whether a file holds streams one after another. Libsndfile, which looks for the length at its end, finds
 * that of another one than it reads: as from a pipe it is read right. */
gboolean fc_ogg_is_chain(fc_input *input);

/* Where the last page of a seekable file ends: behind it libsndfile does not always find it. Where pages
 * stand apart, or the last one is cut off, that is the file's end. */
gint64 fc_ogg_end(fc_input *input);

/* What is to be said of other streams that were seen beside or behind the one that is read, or NULL. */
const char *fc_ogg_pipe_remark(const fc_ogg_pipe *pipe);

/* What is wrong with what has been read, if something is, see ogg_watch.h; g_free. */
char *fc_ogg_pipe_fault(const fc_ogg_pipe *pipe);

/* For sf_open_virtual, with the pipe as its data. */
extern SF_VIRTUAL_IO fc_ogg_pipe_vio;

G_END_DECLS

#endif
