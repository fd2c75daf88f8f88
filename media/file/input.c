/* SPDX-License-Identifier: MIT */
/*
 * input.c - a file opened for reading: its first bytes, its size, and whether it can
 * be read anywhere. Pipes are looked at without taking anything out of them (tee), so
 * that a decoder which streams sees them from the start.
 */
#include "media/file/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* Enough of a file to tell its kind; a pipe is waited for until it has given these. */
#define HEAD_WANTED 64
/* A file may be looked at anywhere later. */
#define HEAD_OF_FILE 512
/* A pipe is asked again so often. */
#define MOMENT 2000000

char *fc_display_name(const char *path, const char *standard) {
  return g_strdup(strcmp(path, "-") == 0 ? standard : path);
}

gboolean fc_input_check(const fc_input *input, GError **error) {
  return !input->problem || fc_fail(error, FC_IO, "%s: reading failed at byte %" G_GINT64_FORMAT ": %s",
                                    input->name, input->problem_at, g_strerror(input->problem));
}

gssize fc_input_read_at(fc_input *input, gint64 offset, void *to, gsize size, GError **error) {
  gsize done = 0;
  while (done < size) {
    gint64 at = input->begins + offset + (gint64)done;
    gssize got = pread(input->fd, (char *)to + done, size - done, at);
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      input->problem = errno;
      input->problem_at = at;
      fc_input_check(input, error);
      return -1;
    }
    done += (gsize)got;
  }
  return (gssize)done;
}

static gboolean hung_up(int fd) {
  struct pollfd poll_fd = {fd, POLLIN, 0};
  return poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & (POLLHUP | POLLERR));
}

/* Duplicates what waits in the pipe, until that is enough to tell its kind, or all. */
static gboolean peek_through(fc_input *input, const int between[2]) {
  const struct timespec moment = {0, MOMENT};
  for (;;) {
    if (!fc_input_wait(input, NULL)) return FALSE;
    gboolean last = hung_up(input->fd);
    gssize waiting = tee(input->fd, between[1], FC_INPUT_HEAD, 0);
    if (waiting < 0 && errno == EINTR) continue;
    if (waiting < 0) return FALSE;
    gssize got = waiting ? read(between[0], input->head, FC_INPUT_HEAD) : 0;
    if (got < 0) return FALSE;
    input->head_size = (gsize)got;
    if (got == 0 || got >= HEAD_WANTED || last) return TRUE;
    nanosleep(&moment, NULL);
  }
}

/* FALSE where peeking does not work (a socket, a terminal, /dev/zero). */
static gboolean peek(fc_input *input) {
  int between[2];
  if (pipe2(between, O_CLOEXEC) != 0) return FALSE;
  gboolean peeked = peek_through(input, between);
  close(between[0]);
  close(between[1]);
  return peeked;
}

static gboolean read_head(fc_input *input, GError **error) {
  gssize got = fc_input_read_at(input, 0, input->head, HEAD_OF_FILE, error);
  if (got < 0) return FALSE;
  input->head_size = (gsize)got;
  return TRUE;
}

gboolean fc_input_begin_at(fc_input *input, gint64 offset, GError **error) {
  input->begins += offset;
  input->size -= offset;
  if (lseek(input->fd, input->begins, SEEK_SET) < 0)
    return fc_fail(error, FC_IO, "%s: reading failed: %s", input->name, g_strerror(errno));
  return read_head(input, error);
}

gint64 fc_input_skip_zeros(fc_input *input, gint64 from, gint64 to) {
  guint8 block[4096];
  const gint64 most = MIN(to, from + FC_INPUT_LOOK_MOST);
  gssize got = 1;
  for (gint64 at = from; at < most && got > 0; at += got) {
    got = fc_input_read_at(input, at, block, (gsize)MIN((gint64)sizeof block, most - at), NULL);
    for (gssize i = 0; i < got; i++)
      if (block[i]) return at + i;
  }
  return to;
}

/* Of what is free where a temporary file lies, nine tenths may be taken: a pipe without an end is not to
 * leave everybody else without a disk. */
static gint64 room_for(int file) {
  struct statvfs disk;
  if (fstatvfs(file, &disk) != 0 || disk.f_frsize == 0) return G_MAXINT64;
  return (gint64)MIN((double)disk.f_bavail * (double)disk.f_frsize * 0.9, 0x1p62);
}

static gboolean fail_room(const fc_input *input, gint64 room, GError **error) {
  g_autofree char *most = fc_size_for_message((double)room);
  return fc_fail(
      error, FC_IO,
      "%s: brings more than the %s that may be kept of it in a temporary file (set TMPDIR to a larger disk)",
      input->name, most);
}

gboolean fc_input_spool(fc_input *input, const void *taken, gsize size, gint64 most, GError **error) {
  if (!fc_input_wait(input, error)) return FALSE;
  int file = fc_spool_create(error);
  if (file < 0) {
    g_prefix_error(error, "%s: ", input->name);
    return FALSE;
  }
  gboolean reading = FALSE;
  struct stat info;
  gint64 room = room_for(file);
  gboolean bounded = room <= most;
  most = MIN(most, room);
  size = (gsize)MIN((gint64)size, most);
  if (!fc_write_all(file, taken, size) || !fc_copy_all(input->fd, file, most - (gint64)size, &reading) ||
      fstat(file, &info) != 0 || lseek(file, 0, SEEK_SET) != 0) {
    fc_fail(error, FC_IO, "%s: %s failed: %s", input->name,
            reading ? "reading" : "keeping it in a temporary file (set TMPDIR to a larger disk)",
            g_strerror(errno));
    close(file);
    return FALSE;
  }
  if (bounded && info.st_size >= room) {
    close(file);
    return fail_room(input, room, error);
  }
  close(input->fd);
  input->fd = file;
  input->seekable = TRUE;
  input->size = info.st_size;
  return read_head(input, error);
}

gboolean fc_input_make_seekable(fc_input *input, GError **error) {
  return input->seekable || fc_input_spool(input, NULL, 0, G_MAXINT64, error);
}

/* /dev/null is empty; /dev/zero would never end. */
static gboolean look_at_device(fc_input *input, GError **error) {
  char byte;
  if (read(input->fd, &byte, 1) <= 0) return TRUE;
  return fc_fail(error, FC_UNSUPPORTED, "%s: is a device; name a file or pipe one in", input->name);
}

static gboolean look_at_file(fc_input *input, const struct stat *info, GError **error) {
  if (S_ISDIR(info->st_mode))
    return fc_fail(error, FC_IO, "%s: is a directory; name a file in it", input->name);
  gint64 start = lseek(input->fd, 0, SEEK_CUR);
  input->seekable = S_ISREG(info->st_mode) && start == 0;
  if (input->seekable) {
    input->size = info->st_size;
    return read_head(input, error);
  }
  if (isatty(input->fd))
    return fc_fail(error, FC_INVALID, "%s: is a terminal; name a file or pipe one in", input->name);
  if (S_ISCHR(info->st_mode) || S_ISBLK(info->st_mode)) return look_at_device(input, error);
  return peek(input) || fc_input_make_seekable(input, error);
}

static int open_path(const char *path, const char *name, GError **error) {
  int fd =
      strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) fc_fail(error, FC_IO, "%s: cannot be opened: %s", name, g_strerror(errno));
  return fd;
}

/* How long a wish to stop may go unheard, in milliseconds. */
#define CANCEL_LATENCY 50

gboolean fc_input_wait(const fc_input *input, GError **error) {
  struct pollfd there = {input->fd, POLLIN, 0};
  if (!input->cancel || input->size >= 0) return TRUE;
  for (;;) {
    if (g_atomic_int_get(input->cancel)) return fc_fail(error, FC_IO, "interrupted");
    int ready = poll(&there, 1, CANCEL_LATENCY);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return TRUE; /* the signal itself interrupts it */
  }
}

/* What is said of an input that has been opened; takes the descriptor and the name over. */
static fc_input *input_of(int fd, char *name, const char *path, const int *cancel, GError **error) {
  g_autoptr(fc_input) input = g_new0(fc_input, 1);
  input->fd = fd;
  input->size = -1;
  input->cancel = cancel;
  input->name = name;
  input->path = g_strdup(path);
  if (fd < 0) return NULL;

  struct stat info;
  if (fstat(input->fd, &info) != 0) {
    fc_fail(error, FC_IO, "%s: cannot be read: %s", input->name, g_strerror(errno));
    return NULL;
  }
  if (!look_at_file(input, &info, error)) return NULL;
  if (input->head_size == 0) {
    fc_fail(error, FC_IO, "%s: is empty", input->name);
    return NULL;
  }
  return g_steal_pointer(&input);
}

fc_input *fc_input_open(const char *path, const int *cancel, GError **error) {
  char *name = fc_display_name(path, "standard input");
  return input_of(open_path(path, name, error), name, strcmp(path, "-") == 0 ? NULL : path, cancel, error);
}

/* A file without a name, so that all that reads files reads it. */
fc_input *fc_input_open_bytes(const char *path, GBytes *content, GError **error) {
  char *name = g_strdup(path);
  gsize size;
  const void *bytes = g_bytes_get_data(content, &size);
  int fd = memfd_create("filterchain", MFD_CLOEXEC);
  if (fd < 0 || !fc_write_all(fd, bytes, size) || lseek(fd, 0, SEEK_SET) != 0) {
    fc_fail(error, FC_NO_MEMORY, "%s: no memory for its %" G_GSIZE_FORMAT " bytes: %s", name, size,
            g_strerror(errno));
    if (fd >= 0) close(fd);
    fd = -1;
  }
  return input_of(fd, name, path, NULL, error);
}

void fc_input_free(fc_input *input) {
  if (!input) return;
  if (input->fd >= 0) close(input->fd);
  g_free(input->name);
  g_free(input->path);
  g_free(input);
}

guint8 *fc_input_load(fc_input *input, gsize limit, gsize *size, GError **error) {
  /* A pipe may have no end: one byte more than the limit tells enough. */
  gboolean file = input->seekable;
  if (!file && !fc_input_spool(input, NULL, 0, (gint64)limit + 1, error)) return NULL;
  if (input->size < 0 || (guint64)input->size > limit) {
    if (file)
      fc_fail(error, FC_UNSUPPORTED, "%s: holds %" G_GINT64_FORMAT " bytes; the limit is %" G_GSIZE_FORMAT,
              input->name, input->size, limit);
    else
      fc_fail(error, FC_UNSUPPORTED, "%s: holds more than the limit of %" G_GSIZE_FORMAT " bytes",
              input->name, limit);
    return NULL;
  }
  g_autofree guint8 *data = g_try_malloc((gsize)input->size + 1);
  if (!data) {
    fc_fail(error, FC_NO_MEMORY, "%s: no memory for its %" G_GINT64_FORMAT " bytes", input->name,
            input->size);
    return NULL;
  }
  gssize got = fc_input_read_at(input, 0, data, (gsize)input->size, error);
  if (got < 0) return NULL;
  data[got] = 0;
  *size = (gsize)got;
  return g_steal_pointer(&data);
}

/* ---- in order ------------------------------------------------------------ */

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

gboolean fc_reader_seek(fc_reader *reader, gint64 position, GError **error) {
  if (lseek(reader->input->fd, (off_t)(reader->input->begins + position), SEEK_SET) < 0)
    return fc_fail(error, FC_IO, "%s: reading failed at byte %" G_GINT64_FORMAT ": %s", reader->input->name,
                   position, g_strerror(errno));
  reader->position = position;
  reader->start = reader->end = 0;
  return TRUE;
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
