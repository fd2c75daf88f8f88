/* SPDX-License-Identifier: MIT */
/* private_files.c - see private_files.h. */
#include "core/base/private_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *fc_private_folder(const char *name) {
  const char *no = g_getenv("FILTERCHAIN_NO_CACHE"), *home = g_get_user_cache_dir();
  if (no && *no && strcmp(no, "0") != 0) return NULL;
  return g_path_is_absolute(home) ? g_build_filename(home, "filterchain", name, NULL) : NULL;
}

static gboolean is_ours_alone(const struct stat *st) {
  return st->st_uid == geteuid() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* A folder, possibly through a symbolic link of this user's own, that nobody else can write. */
gboolean fc_private_is_ours(const char *folder) {
  struct stat link, st;
  return lstat(folder, &link) == 0 && link.st_uid == geteuid() && stat(folder, &st) == 0 &&
         S_ISDIR(st.st_mode) && is_ours_alone(&st);
}

/* Whether a folder may be made here: root, with another user's home, leaves no folders that the owner
 * cannot write. */
static gboolean may_make_within(const char *folder) {
  struct stat st;
  return geteuid() != 0 || (stat(folder, &st) == 0 && st.st_uid == 0);
}

/* Does not create the home folder itself. */
static gboolean make_folder(const char *path, int levels) {
  g_autofree char *parent = g_path_get_dirname(path);
  if (g_file_test(path, G_FILE_TEST_EXISTS)) return TRUE;
  if (levels == 0 || !make_folder(parent, levels - 1) || !may_make_within(parent)) return FALSE;
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* Non-blocking, in case it is a pipe. */
static int open_ours(const char *path, gsize least, gsize most, gsize *size) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return -1;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_ours_alone(&st) && st.st_size >= (off_t)least &&
      st.st_size <= (off_t)most) {
    *size = (gsize)st.st_size;
    return fd;
  }
  close(fd);
  return -1;
}

/* What the content begins with: the SHA-256 of the rest. */
#define DIGEST 32

static void digest_of(const guint8 *data, gsize size, guint8 digest[DIGEST]) {
  gsize length = DIGEST;
  GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
  g_checksum_update(sum, data, (gssize)size);
  g_checksum_get_digest(sum, digest, &length);
  g_checksum_free(sum);
}

GBytes *fc_private_read(const char *folder, const char *name, gsize most) {
  g_autofree char *path = g_build_filename(folder, name, NULL);
  gsize size, done = 0;
  guint8 digest[DIGEST];
  int fd = fc_private_is_ours(folder) ? open_ours(path, DIGEST + 1, DIGEST + most, &size) : -1;
  if (fd < 0) return NULL;
  g_autofree guint8 *data = g_malloc(size);
  while (done < size) {
    gssize got = read(fd, data + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += (gsize)got;
  }
  close(fd);
  if (done < size) return NULL;
  digest_of(data + DIGEST, size - DIGEST, digest);
  return memcmp(digest, data, DIGEST) == 0 ? g_bytes_new(data + DIGEST, size - DIGEST) : NULL;
}

gboolean fc_private_write(const char *folder, int levels, const char *name, gconstpointer data, gsize size) {
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_autofree guint8 *all = g_malloc(DIGEST + size);
  memcpy(all + DIGEST, data, size);
  digest_of(data, size, all);
  return make_folder(folder, levels) && fc_private_is_ours(folder) &&
         g_file_set_contents_full(path, (const char *)all, (gssize)(DIGEST + size),
                                  G_FILE_SET_CONTENTS_CONSISTENT, 0600, NULL);
}
