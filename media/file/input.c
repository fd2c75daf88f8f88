/* SPDX-License-Identifier: MIT */
/*
 * input.c - a file opened for reading: its first bytes, its size, and whether it is seekable. The probed part
 * of a pipe is kept, so that a streaming decoder sees it from the start.
 */
#include "media/file/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Enough bytes to recognise a format; a pipe is read until it has delivered these. */
#define HEAD_WANTED 64
/* A file can be read anywhere later. */
#define HEAD_OF_FILE 512
/* The most that is kept of a pipe's beginning: all metadata that are read, and what is between them. */
#define TAKEN_MAX ((gsize)65 << 20)

char *fc_display_name(const char *path, const char *standard) {
  return g_strdup(strcmp(path, "-") == 0 ? standard : path);
}

gboolean fc_input_check(const fc_input *input, GError **error) {
  return !input->problem || fc_fail(error, FC_IO, "%s: reading failed at byte %" G_GINT64_FORMAT ": %s",
                                    input->name, input->problem_at, g_strerror(input->problem));
}

static gssize read_some(fc_input *input, void *to, gsize size, GError **error) {
  for (;;) {
    if (!fc_input_wait(input, error)) return -1;
    gssize got = read(input->fd, to, MIN(size, (gsize)1 << 30));
    if (got >= 0) return got;
    if (fc_try_again(input->fd, POLLIN)) continue;
    fc_fail(error, FC_IO, "%s: reading failed at byte %" G_GINT64_FORMAT ": %s", input->name, input->position,
            g_strerror(errno));
    return -1;
  }
}

/* Reads up to so many bytes from a pipe's start; not many more, since the writer may be waiting. */
static gboolean take(fc_input *input, gsize size, GError **error) {
  fc_blob *taken = &input->taken;
  if (size > TAKEN_MAX)
    return fc_fail(error, FC_UNSUPPORTED,
                   "%s: holds more than %" G_GSIZE_FORMAT " bytes ahead of its samples", input->name,
                   TAKEN_MAX);
  for (gssize got = 1; got > 0 && taken->size < size;) {
    const gsize room = MAX(size - taken->size, FC_INPUT_HEAD);
    guint8 *to = fc_blob_grow(taken, room);
    if (!to) return fc_blob_check(taken, input->name, error);
    got = read_some(input, to, room, error);
    taken->size -= room - (gsize)MAX(got, 0);
    if (got < 0) return FALSE;
  }
  return TRUE;
}

static gssize read_taken(fc_input *input, gint64 offset, void *to, gsize size, GError **error) {
  if (!take(input, (guint64)offset > TAKEN_MAX ? G_MAXSIZE : (gsize)offset + size, error)) return -1;
  if ((gsize)offset >= input->taken.size) return 0;
  const gsize some = MIN(size, input->taken.size - (gsize)offset);
  memcpy(to, input->taken.data + offset, some);
  return (gssize)some;
}

gssize fc_input_read_at(fc_input *input, gint64 offset, void *to, gsize size, GError **error) {
  gsize done = 0;
  if (!input->seekable) return read_taken(input, offset, to, size, error);
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

static gboolean read_head(fc_input *input, GError **error) {
  if (!input->seekable && !take(input, HEAD_WANTED, error)) return FALSE;
  const gsize wanted = input->seekable ? HEAD_OF_FILE : MIN(input->taken.size, FC_INPUT_HEAD);
  const gssize got = fc_input_read_at(input, 0, input->head, wanted, error);
  input->head_size = (gsize)MAX(got, 0);
  return got >= 0;
}

gboolean fc_input_begin_at(fc_input *input, gint64 offset, GError **error) {
  input->begins += offset;
  input->size -= offset;
  input->position -= offset;
  return fc_input_go_to(input, 0, error) && read_head(input, error);
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

/* A temporary file may take nine tenths of the free space: an endless pipe must not fill the disk for
 * everybody else. */
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

/* The bytes of a pipe that were read and not delivered yet; returns their number. */
static gsize held(const fc_input *input, const guint8 **from) {
  const gsize taken = input->taken.size, given = (gsize)input->position;
  *from = given < taken ? input->taken.data + given : input->block + input->start;
  return given < taken ? taken - given : input->end - input->start;
}

static void drop_held(fc_input *input) {
  fc_blob_clear(&input->taken);
  input->start = input->end = 0;
}

gboolean fc_input_spool(fc_input *input, gint64 most, GError **error) {
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
  const guint8 *from;
  most = MIN(most, room);
  const gsize size = (gsize)MIN((gint64)held(input, &from), most);
  if (!fc_write_all(file, from, size) || !fc_copy_all(input->fd, file, most - (gint64)size, &reading) ||
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
  drop_held(input);
  input->fd = file;
  input->seekable = TRUE;
  input->size = info.st_size;
  input->position = 0;
  return read_head(input, error);
}

gboolean fc_input_make_seekable(fc_input *input, GError **error) {
  return input->seekable || fc_input_spool(input, G_MAXINT64, error);
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
  if (input->seekable) input->size = info->st_size;
  if (!input->seekable && isatty(input->fd))
    return fc_fail(error, FC_INVALID, "%s: is a terminal; name a file or pipe one in", input->name);
  if (S_ISCHR(info->st_mode) || S_ISBLK(info->st_mode)) return look_at_device(input, error);
  /* If something was read from it already, it continues from there. */
  if (S_ISREG(info->st_mode) && !fc_input_make_seekable(input, error)) return FALSE;
  return read_head(input, error);
}

static int open_path(const char *path, const char *name, GError **error) {
  int fd =
      strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) fc_fail(error, FC_IO, "%s: cannot be opened: %s", name, g_strerror(errno));
  return fd;
}

/* The longest time before cancellation is noticed, in milliseconds. */
#define CANCEL_LATENCY 50

gboolean fc_input_wait(const fc_input *input, GError **error) {
  struct pollfd there = {input->fd, POLLIN, 0};
  if (!input->cancel || input->size >= 0) return TRUE;
  for (;;) {
    if (g_atomic_int_get(input->cancel)) return fc_fail(error, FC_IO, "interrupted");
    int ready = poll(&there, 1, CANCEL_LATENCY);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return TRUE; /* a signal interrupts it anyway */
  }
}

/* Describes an opened input; takes ownership of the descriptor and the name. */
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

/* An unnamed file, so that everything that reads files can read it. */
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
  fc_blob_clear(&input->taken);
  g_free(input->block);
  g_free(input->name);
  g_free(input->path);
  g_free(input);
}

guint8 *fc_input_load(fc_input *input, gsize limit, gsize *size, GError **error) {
  /* A pipe may be endless: one byte more than the limit suffices. */
  gboolean file = input->seekable;
  if (!file && !fc_input_spool(input, (gint64)limit + 1, error)) return NULL;
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

gssize fc_input_read(fc_input *input, void *to, gsize size, GError **error) {
  gsize done = 0;
  while (done < size) {
    const guint8 *from;
    const gsize some = MIN(held(input, &from), size - done);
    if (some) {
      const gboolean of_block = input->position >= (gint64)input->taken.size;
      memcpy((char *)to + done, from, some);
      if (of_block) input->start += some;
      input->position += (gint64)some;
      if (!of_block && input->position == (gint64)input->taken.size) fc_blob_clear(&input->taken);
      done += some;
      continue;
    }
    const gboolean whole = size - done >= FC_INPUT_BLOCK;
    if (!whole && !input->block) input->block = g_malloc(FC_INPUT_BLOCK);
    const gssize got = whole ? read_some(input, (char *)to + done, size - done, error)
                             : read_some(input, input->block, FC_INPUT_BLOCK, error);
    if (got < 0) return -1;
    if (got == 0) break;
    if (whole) {
      done += (gsize)got;
      input->position += got;
    } else
      input->start = 0, input->end = (gsize)got;
  }
  return (gssize)done;
}

gboolean fc_input_go_to(fc_input *input, gint64 offset, GError **error) {
  const gint64 ahead = offset - input->position;
  if (input->seekable && ahead >= 0 && ahead <= (gint64)(input->end - input->start)) {
    input->start += (gsize)ahead;
    input->position = offset;
    return TRUE;
  }
  if (input->seekable) {
    if (lseek(input->fd, input->begins + offset, SEEK_SET) < 0)
      return fc_fail(error, FC_IO, "%s: reading failed: %s", input->name, g_strerror(errno));
    input->position = offset;
    input->start = input->end = 0;
    return TRUE;
  }
  for (gssize got = 1; got > 0 && input->position < offset;) {
    guint8 skipped[4096];
    got = fc_input_read(input, skipped, (gsize)MIN((gint64)sizeof skipped, offset - input->position), error);
    if (got < 0) return FALSE;
  }
  return TRUE;
}

gboolean fc_input_is_ready(const fc_input *input, int patience) {
  struct pollfd coming = {input->fd, POLLIN, 0};
  const guint8 *from;
  return held(input, &from) || poll(&coming, 1, patience) > 0;
}

/* ---- temporary files and whole writes ------------------------------------- */

/* Bytes copied at a time. */
#define COPIED ((gsize)256 << 10)

static int unlinked_file(const char *dir) {
  int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  g_autofree char *path = g_build_filename(dir, "filterchain-XXXXXX", NULL);
  fd = mkostemp(path, O_CLOEXEC);
  if (fd >= 0) unlink(path);
  return fd;
}

int fc_spool_create(GError **error) {
  const char *named = g_getenv("TMPDIR");
  const char *const dirs[] = {named && *named ? named : "/var/tmp", "/tmp"};
  int fd = -1;
  for (gsize i = 0; i < G_N_ELEMENTS(dirs) && fd < 0; i++) fd = unlinked_file(dirs[i]);
  if (fd < 0)
    fc_fail(error, FC_IO, "no temporary file can be made in %s: %s; set TMPDIR to a folder", dirs[0],
            g_strerror(errno));
  return fd;
}

gboolean fc_try_again(int fd, short events) {
  struct pollfd poll_fd = {fd, events, 0};
  if (errno == EAGAIN) poll(&poll_fd, 1, -1);
  return errno == EINTR || errno == EAGAIN;
}

gboolean fc_write_all(int fd, const void *from, gsize size) {
  const char *at = from;
  while (size) {
    gssize written = write(fd, at, MIN(size, (gsize)1 << 30));
    if (written < 0 && fc_try_again(fd, POLLOUT)) continue;
    if (written < 0) return FALSE;
    at += written;
    size -= (gsize)written;
  }
  return TRUE;
}

gboolean fc_copy_all(int from, int to, gint64 most, gboolean *reading) {
  g_autofree char *block = g_malloc(COPIED);
  for (*reading = FALSE; most > 0;) {
    gssize got = read(from, block, (gsize)MIN((gint64)COPIED, most));
    if (got < 0 && fc_try_again(from, POLLIN)) continue;
    *reading = got < 0;
    if (got <= 0) return got == 0;
    if (!fc_write_all(to, block, (gsize)got)) return FALSE;
    most -= got;
  }
  return TRUE;
}
