/* SPDX-License-Identifier: MIT */
/*
 * spool.c - unlinked temporary files, and writes that are complete or failed.
 */
#include "media/file/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCK ((gsize)256 << 10)

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
  g_autofree char *block = g_malloc(BLOCK);
  for (*reading = FALSE; most > 0;) {
    gssize got = read(from, block, (gsize)MIN((gint64)BLOCK, most));
    if (got < 0 && fc_try_again(from, POLLIN)) continue;
    *reading = got < 0;
    if (got <= 0) return got == 0;
    if (!fc_write_all(to, block, (gsize)got)) return FALSE;
    most -= got;
  }
  return TRUE;
}
