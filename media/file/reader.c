/* SPDX-License-Identifier: MIT */
/* reader.c - see reader.h. */
#include "media/file/reader.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static gssize read_some(fc_reader *reader, void *to, gsize size, GError **error) {
  for (;;) {
    if (!fc_input_wait(reader->input, error)) return -1;
    gssize got = read(reader->input->fd, to, MIN(size, (gsize)1 << 30));
    if (got >= 0) return got;
    if (fc_try_again(reader->input->fd, POLLIN)) continue;
    fc_fail(error, FC_IO, "%s: reading failed at byte %" G_GINT64_FORMAT ": %s", reader->input->name,
            reader->position, g_strerror(errno));
    return -1;
  }
}

gssize fc_reader_read(fc_reader *reader, void *to, gsize size, GError **error) {
  gsize done = 0;
  while (done < size) {
    gsize held = MIN(reader->end - reader->start, size - done);
    if (held) {
      memcpy((char *)to + done, reader->block + reader->start, held);
      reader->start += held;
      reader->position += (gint64)held;
      done += held;
      continue;
    }
    gboolean whole = size - done >= FC_READER_BLOCK;
    gssize got = whole ? read_some(reader, (char *)to + done, size - done, error)
                       : read_some(reader, reader->block, FC_READER_BLOCK, error);
    if (got < 0) return -1;
    if (got == 0) break;
    if (whole) {
      done += (gsize)got;
      reader->position += got;
    } else
      reader->start = 0, reader->end = (gsize)got;
  }
  return (gssize)done;
}

gboolean fc_reader_is_ready(const fc_reader *reader, int patience) {
  struct pollfd coming = {reader->input->fd, POLLIN, 0};
  return reader->start < reader->end || poll(&coming, 1, patience) > 0;
}

gboolean fc_reader_spool(fc_reader *reader, gint64 most, GError **error) {
  const guint8 *taken = reader->block + reader->start;
  if (!fc_input_spool(reader->input, taken, reader->end - reader->start, most, error)) return FALSE;
  reader->position = 0;
  reader->start = reader->end = 0;
  return TRUE;
}
