/* SPDX-License-Identifier: MIT */
/* ogg_pipe.c - see ogg_pipe.h. Pages after RFC 3533. */
#include "media/audio/ogg_pipe.h"

#include <string.h>

#include "media/audio/audio_length.h"
#include "media/audio/ogg_watch.h"
#include "media/file/reader.h"

#define BEHIND 4096

struct fc_ogg_pipe {
  fc_reader reader;
  GError *problem;
  fc_ogg_watch watch;
  fc_ogg_headers headers;
};

/* ---- libsndfile's file ----------------------------------------------------- */

/* As of a pipe, by libsndfile's own account. */
static sf_count_t vio_size(void *data) {
  return SF_COUNT_MAX;
}

static sf_count_t vio_tell(void *data) {
  return ((fc_ogg_pipe *)data)->reader.position;
}

/* To where it is, and nowhere else. */
static sf_count_t vio_seek(sf_count_t offset, int whence, void *data) {
  gint64 here = vio_tell(data);
  return (whence == SEEK_SET && offset == here) || (whence == SEEK_CUR && offset == 0) ? here : -1;
}

static sf_count_t vio_read(void *to, sf_count_t size, void *data) {
  fc_ogg_pipe *pipe = data;
  if (pipe->problem || size <= 0) return 0;
  gssize got = fc_reader_read(&pipe->reader, to, (gsize)size, &pipe->problem);
  if (got > 0) fc_ogg_watch_feed(&pipe->watch, to, (gsize)got);
  if (got > 0) fc_ogg_headers_feed(&pipe->headers, to, (gsize)got);
  return MAX(got, 0);
}

static sf_count_t vio_write(const void *from, sf_count_t size, void *data) {
  return 0;
}

SF_VIRTUAL_IO fc_ogg_pipe_vio = {vio_size, vio_seek, vio_read, vio_write, vio_tell};

/* ---- the end --------------------------------------------------------------- */

fc_ogg_pipe *fc_ogg_pipe_new(fc_input *input) {
  fc_ogg_pipe *pipe = g_new0(fc_ogg_pipe, 1);
  pipe->reader.input = input;
  return pipe;
}

void fc_ogg_pipe_free(fc_ogg_pipe *pipe) {
  if (!pipe) return;
  g_clear_error(&pipe->problem);
  fc_ogg_headers_clear(&pipe->headers);
  g_free(pipe);
}

const fc_ogg_headers *fc_ogg_pipe_headers(const fc_ogg_pipe *pipe) {
  return &pipe->headers;
}

/* So much is to be read behind the stream at once: of others that follow, or run still, what comes; of what
 * may be there no more than is. 0: that is the end. */
static gsize wanted_behind(const fc_ogg_pipe *pipe) {
  const fc_ogg_watch *watch = &pipe->watch;
  if (watch->position - watch->ends > FC_INPUT_LOOK_MOST) return 0;
  if (watch->chain || (watch->beside && watch->running)) return BEHIND;
  return watch->over && fc_reader_is_ready(&pipe->reader, FC_INPUT_PATIENCE) ? 1 : 0;
}

gboolean fc_ogg_pipe_check(fc_ogg_pipe *pipe, gboolean *whole, GError **error) {
  gboolean file = pipe->reader.input->seekable; /* which was looked through when it was opened */
  guint8 rest[BEHIND];
  gsize wanted;
  while (!file && (wanted = wanted_behind(pipe)) > 0 && vio_read(rest, (sf_count_t)wanted, pipe)) {
  }
  *whole = file || fc_ogg_watch_is_whole(&pipe->watch);
  if (pipe->problem && error) *error = g_error_copy(pipe->problem);
  return pipe->problem == NULL;
}

/* Moves from where a page begins to where it ends; FALSE: none begins there. */
static gboolean pass_page(fc_input *input, gint64 *at, gboolean *first) {
  guint8 page[FC_OGG_HEADER_MOST];
  gssize got = fc_input_read_at(input, *at, page, sizeof page, NULL);
  if (got < 0 || !fc_ogg_header_is_whole(page, (gsize)got)) return FALSE;
  if (memcmp(page, FC_OGG_MARK, FC_OGG_MARK_SIZE) != 0) return FALSE;
  *first = (page[FC_OGG_FLAGS_AT] & FC_OGG_FIRST) != 0;
  *at += (gint64)fc_ogg_page_size(page);
  return TRUE;
}

/* Streams that run side by side all begin before any of them goes on. */
gboolean fc_ogg_is_chain(fc_input *input) {
  gboolean begun = FALSE, first;
  for (gint64 at = 0; pass_page(input, &at, &first);) {
    if (first && begun) return TRUE;
    begun |= !first;
  }
  return FALSE;
}

static gboolean has_page_behind(fc_input *input, gint64 at) {
  guint8 block[BEHIND + FC_OGG_MARK_SIZE - 1];
  for (gssize got; (got = fc_input_read_at(input, at, block, sizeof block, NULL)) > 0; at += BEHIND)
    if (memmem(block, (gsize)got, FC_OGG_MARK, FC_OGG_MARK_SIZE)) return TRUE;
  return FALSE;
}

gint64 fc_ogg_end(fc_input *input) {
  gint64 end = 0;
  gboolean first;
  while (pass_page(input, &end, &first)) {
  }
  return end > input->size || has_page_behind(input, end) ? input->size : end;
}

const char *fc_ogg_pipe_remark(const fc_ogg_pipe *pipe) {
  return fc_ogg_watch_remark(&pipe->watch);
}

char *fc_ogg_pipe_fault(const fc_ogg_pipe *pipe) {
  return fc_ogg_watch_fault(&pipe->watch);
}
