/* SPDX-License-Identifier: MIT */
/*
 * output.c - see output.h. Opening chooses how bytes are written:
 *
 *   RENAME  a named temporary beside the target, renamed at the end
 *   INTO    an unlinked temporary, copied into an existing file at the end
 *   PIPE    straight into a descriptor
 *   SPOOL   an unlinked temporary, copied into a descriptor at the end
 *   KEEP    memory, handed to the caller at the end
 */
#include "media/file/output.h"

#include "media/file/blocks.h"
#include "media/file/input.h"
#include "media/file/temporaries.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Small writes are gathered into blocks that are worth a system call. */
#define BLOCK ((gsize)128 << 10)

/* The prefix of temporary files beside their target; twelve digits follow. */
#define TEMPORARY ".filterchain-"

typedef enum way { RENAME, INTO, PIPE, SPOOL, KEEP } way;

struct fc_output {
  char *name;   /* for messages */
  char *target; /* absolute, links followed; NULL for a descriptor */
  char *temporary_path;
  fc_temporary *temporary;
  way way;
  GBytes **kept;            /* KEEP: receives the content */
  fc_blocks *lent, *blocks; /* KEEP: where a block may come from, or NULL; where it is from; NULL: malloc */
  unsigned flags;
  int fd; /* where writes go */
  int to; /* SPOOL: the final destination; else -1 */
  gboolean existed;
  struct stat before; /* the target, if it existed */
  guint8 *block;      /* KEEP: all of it */
  gsize filled, room;
  gint64 written; /* bytes before the block */
};

/* ---- where to ---------------------------------------------------------- */

/* The descriptor that a path refers to, or -1. Opening /dev/stdout again would truncate the file that the
 * shell has opened, and lose its position. */
static int descriptor_of(const char *path) {
  if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0) return STDOUT_FILENO;
  if (strcmp(path, "/dev/stderr") == 0) return STDERR_FILENO;
  const char *const prefixes[] = {"/dev/fd/", "/proc/self/fd/"};
  for (gsize i = 0; i < G_N_ELEMENTS(prefixes); i++) {
    guint64 fd;
    if (g_str_has_prefix(path, prefixes[i]) &&
        g_ascii_string_to_unsigned(path + strlen(prefixes[i]), 10, 0, G_MAXINT, &fd, NULL))
      return (int)fd;
  }
  return -1;
}

/* The absolute path of a file that may be missing, in a folder that must exist. */
static char *absolute(const char *path) {
  g_autofree char *dir = g_path_get_dirname(path);
  g_autofree char *base = g_path_get_basename(path);
  char *real = realpath(dir, NULL);
  if (!real) return NULL;
  char *joined = g_build_filename(real, base, NULL);
  free(real);
  return joined;
}

/* The final target of writing to `path`: links are followed, also dangling ones. NULL with errno set. */
static char *resolve(const char *path) {
  g_autofree char *at = g_strdup(path);
  for (int links = 0; links < 40; links++) {
    struct stat info;
    const gboolean there = lstat(at, &info) == 0;
    if (!there && errno != ENOENT) return NULL;
    g_autofree char *link = there && S_ISLNK(info.st_mode) ? g_file_read_link(at, NULL) : NULL;
    if (!link) return absolute(at);
    g_autofree char *dir = g_path_get_dirname(at);
    char *next = g_path_is_absolute(link) ? g_strdup(link) : g_build_filename(dir, link, NULL);
    g_free(at);
    at = next;
  }
  errno = ELOOP;
  return NULL;
}

/* ---- opening ----------------------------------------------------------- */

static gboolean fail_create(fc_output *output, int problem, GError **error) {
  g_autofree char *dir = g_path_get_dirname(output->name);
  if (problem == ENOENT && !g_file_test(dir, G_FILE_TEST_EXISTS))
    return fc_fail(error, FC_IO, "%s: there is no folder %s", output->name, dir);
  return fc_fail(error, FC_IO, "%s: cannot be created: %s", output->name, g_strerror(problem));
}

static gboolean open_spool(fc_output *output, way by, GError **error) {
  output->way = by;
  output->fd = fc_spool_create(error);
  if (output->fd < 0) g_prefix_error(error, "%s: ", output->name);
  return output->fd >= 0;
}

/* Takes `fd`, which is not seekable. */
static gboolean open_stream(fc_output *output, int fd, GError **error) {
  if (output->flags & FC_OUTPUT_SEEKS) {
    output->to = fd;
    return open_spool(output, SPOOL, error);
  }
  output->way = PIPE;
  output->fd = fd;
  return TRUE;
}

static gboolean open_descriptor(fc_output *output, int descriptor, GError **error) {
  int fd = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return fail_create(output, errno, error);
  return open_stream(output, fd, error);
}

static gboolean open_special(fc_output *output, GError **error) {
  int fd = open(output->target, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return fail_create(output, errno, error);
  return open_stream(output, fd, error);
}

/* Locked while it is written, so that fc_output_sweep recognises files in use; if a sweep has just removed
 * it: FALSE. Where locks are not supported, nothing is swept either. */
static gboolean hold(int fd) {
  struct stat info;
  while (flock(fd, LOCK_EX) != 0 && errno == EINTR) continue;
  return fstat(fd, &info) != 0 || info.st_nlink > 0;
}

void fc_output_sweep(const char *folder) {
  g_autoptr(GDir) dir = g_dir_open(*folder ? folder : ".", 0, NULL);
  for (const char *name; dir && (name = g_dir_read_name(dir));) {
    if (!g_str_has_prefix(name, TEMPORARY) || strlen(name) != strlen(TEMPORARY) + 12 ||
        strspn(name + strlen(TEMPORARY), "0123456789abcdef") != 12)
      continue;
    g_autofree char *path = g_build_filename(folder, name, NULL);
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) unlink(path);
    if (fd >= 0) close(fd);
  }
}

/* Created with its final mode, or fewer permissions, so that a private file is never readable under its
 * temporary name. */
static int create_temporary(fc_output *output) {
  g_autofree char *dir = g_path_get_dirname(output->target);
  mode_t mode = output->existed ? output->before.st_mode & 0666 : 0666;
  for (int attempt = 0; attempt < 100; attempt++) {
    g_autofree char *base = g_strdup_printf(TEMPORARY "%08x%04x", g_random_int(), g_random_int() & 0xffff);
    g_autofree char *path = g_build_filename(dir, base, NULL);
    fc_temporary *listed = fc_temporary_add(path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd >= 0 && !hold(fd)) {
      close(fd);
      fc_temporary_drop(listed);
      continue;
    }
    if (fd >= 0) {
      output->temporary = listed;
      output->temporary_path = g_steal_pointer(&path);
      return fd;
    }
    int problem = errno;
    fc_temporary_drop(listed);
    errno = problem;
    if (problem != EEXIST) return -1;
  }
  return -1;
}

static gboolean open_beside(fc_output *output, GError **error) {
  if (output->existed && faccessat(AT_FDCWD, output->target, W_OK, AT_EACCESS) != 0)
    return fc_fail(error, FC_IO, "%s: cannot be written: %s", output->name, g_strerror(errno));
  output->way = RENAME;
  output->fd = create_temporary(output);
  if (output->fd >= 0) return TRUE;
  gboolean closed_folder = errno == EACCES || errno == EPERM || errno == EROFS;
  if (output->existed && closed_folder) return open_spool(output, INTO, error);
  return fail_create(output, errno, error);
}

/* Finds the target, and checks whether it can be written. */
static gboolean find_target(fc_output *output, const char *path, GError **error) {
  if (!*path || g_str_has_suffix(path, "/"))
    return fc_fail(error, FC_INVALID, "%s: names a folder; name a file in it", output->name);
  output->target = resolve(path);
  if (!output->target) return fail_create(output, errno, error);
  output->existed = stat(output->target, &output->before) == 0;
  if (!output->existed && errno != ENOENT) return fail_create(output, errno, error);
  if (output->existed && S_ISDIR(output->before.st_mode))
    return fc_fail(error, FC_IO, "%s: is a directory; name a file in it", output->name);
  if (output->existed && S_ISREG(output->before.st_mode) && (output->flags & FC_OUTPUT_NO_CLOBBER))
    return fc_fail(error, FC_IO, "%s: exists already; name another file or leave out --no-clobber",
                   output->name);
  return TRUE;
}

static gboolean open_target(fc_output *output, const char *path, GError **error) {
  if (!find_target(output, path, error)) return FALSE;
  gboolean special = output->existed && !S_ISREG(output->before.st_mode);
  return special ? open_special(output, error) : open_beside(output, error);
}

gboolean fc_output_check(const char *path, unsigned flags, GError **error) {
  if (descriptor_of(path) >= 0) return TRUE;
  g_autoptr(fc_output) output = g_new0(fc_output, 1);
  output->fd = output->to = -1;
  output->flags = flags;
  output->name = fc_display_name(path, "standard output");
  if (!find_target(output, path, error)) return FALSE;
  if (output->existed)
    return faccessat(AT_FDCWD, output->target, W_OK, AT_EACCESS) == 0 ||
           fc_fail(error, FC_IO, "%s: cannot be written: %s", output->name, g_strerror(errno));
  g_autofree char *dir = g_path_get_dirname(output->target);
  return faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) == 0 || fail_create(output, errno, error);
}

double fc_output_room(const char *path) {
  struct statvfs there;
  g_autoptr(fc_output) output = g_new0(fc_output, 1);
  output->name = fc_display_name(path, "standard output");
  output->fd = output->to = -1;
  if (descriptor_of(path) >= 0 || !find_target(output, path, NULL)) return -1;
  g_autofree char *folder = g_path_get_dirname(output->target);
  gboolean beside = !output->existed || S_ISREG(output->before.st_mode);
  if (!beside || faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) != 0 || statvfs(folder, &there) != 0 ||
      there.f_blocks == 0) /* of a file system that does not report sizes */
    return -1;
  /* Not f_bfree: some of it may be reserved for root. */
  return (double)there.f_frsize * (double)there.f_bavail;
}

unsigned fc_output_flags_of(const fc_media_options *options) {
  return (options->no_clobber ? FC_OUTPUT_NO_CLOBBER : 0) | (options->sync ? FC_OUTPUT_SYNC : 0) |
         (options->live ? FC_OUTPUT_LIVE : 0);
}

fc_output *fc_output_open(const char *path, unsigned flags, GError **error) {
  g_autoptr(fc_output) output = g_new0(fc_output, 1);
  output->fd = output->to = -1;
  output->flags = flags;
  output->name = fc_display_name(path, "standard output");
  output->block = g_malloc(BLOCK), output->room = BLOCK;
  int descriptor = descriptor_of(path);
  gboolean opened =
      descriptor >= 0 ? open_descriptor(output, descriptor, error) : open_target(output, path, error);
  return opened ? g_steal_pointer(&output) : NULL;
}

fc_output *fc_output_open_for(const char *path, unsigned flags, const fc_media_options *options,
                              GError **error) {
  if (!options->out_bytes) return fc_output_open(path, flags, error);
  fc_output *output = g_new0(fc_output, 1);
  output->name = g_strdup(path);
  output->way = KEEP, output->kept = options->out_bytes, output->lent = options->blocks;
  output->fd = output->to = -1;
  return output;
}

/* ---- writing ----------------------------------------------------------- */

static gboolean fail_write(fc_output *output, GError **error) {
  return fc_fail(error, FC_IO, "%s: writing failed after %" G_GINT64_FORMAT " bytes: %s", output->name,
                 output->written, g_strerror(errno));
}

static gboolean flush(fc_output *output, GError **error) {
  if (output->way == KEEP) return TRUE;
  if (output->filled && !fc_write_all(output->fd, output->block, output->filled))
    return fail_write(output, error);
  output->written += (gint64)output->filled;
  output->filled = 0;
  return TRUE;
}

static void free_block(fc_output *output) {
  if (output->blocks)
    fc_blocks_give(output->blocks, output->block, output->room);
  else
    g_free(output->block);
  output->block = NULL, output->blocks = NULL;
}

/* KEEP: the block with another size; NULL, and it is as it was, where there is no memory. */
static guint8 *resize(fc_output *output, gsize room) {
  if (!output->blocks) return g_try_realloc(output->block, room);
  guint8 *block = g_try_malloc(room);
  if (!block) return NULL;
  memcpy(block, output->block, MIN(output->filled, room));
  free_block(output);
  return block;
}

/* KEEP: room for so much more. */
static gboolean grow(fc_output *output, gsize size, GError **error) {
  gsize room = MAX(output->room, BLOCK);
  while (room - output->filled < size && room <= G_MAXSIZE / 2) room *= 2;
  guint8 *block = room - output->filled < size ? NULL : resize(output, room);
  if (!block)
    return fc_fail(error, FC_NO_MEMORY, "%s: no memory for the output's %" G_GSIZE_FORMAT " bytes",
                   output->name, output->filled + size);
  output->block = block, output->room = room;
  return TRUE;
}

void fc_output_expect(fc_output *output, gsize size) {
  if (output->way != KEEP || size <= output->room) return;
  const gboolean lend = output->lent && !output->block;
  guint8 *block = lend ? fc_blocks_take(output->lent, &size) : resize(output, size);
  if (!block) return;
  output->block = block, output->room = size;
  if (lend) output->blocks = output->lent;
}

gboolean fc_output_write(fc_output *output, const void *from, gsize size, GError **error) {
  if (size > output->room - output->filled && output->way == KEEP) {
    if (!grow(output, size, error)) return FALSE;
  } else if (size > output->room - output->filled) {
    if (!flush(output, error)) return FALSE;
    if (size >= BLOCK) {
      if (!fc_write_all(output->fd, from, size)) return fail_write(output, error);
      output->written += (gint64)size;
      return TRUE;
    }
  }
  if (size) memcpy(output->block + output->filled, from, size);
  output->filled += size;
  return !(output->flags & FC_OUTPUT_LIVE) || output->way != PIPE || flush(output, error);
}

gboolean fc_output_seekable(const fc_output *output) {
  return output->way != PIPE;
}

gint64 fc_output_size(const fc_output *output) {
  return output->written + (gint64)output->filled;
}

gboolean fc_output_write_at(fc_output *output, gint64 offset, const void *from, gsize size, GError **error) {
  g_assert(fc_output_seekable(output));
  if (!flush(output, error)) return FALSE;
  gsize over = (gsize)CLAMP(fc_output_size(output) - offset, 0, (gint64)size);
  if (output->way == KEEP)
    memcpy(output->block + offset, from, over);
  else if (lseek(output->fd, offset, SEEK_SET) < 0 || !fc_write_all(output->fd, from, over) ||
           lseek(output->fd, output->written, SEEK_SET) < 0)
    return fail_write(output, error);
  return fc_output_write(output, (const char *)from + over, size - over, error);
}

gssize fc_output_read_at(fc_output *output, gint64 offset, void *to, gsize size) {
  if (!flush(output, NULL)) return -1;
  if (output->way == KEEP) {
    const gsize some = (gsize)CLAMP(fc_output_size(output) - offset, 0, (gint64)size);
    if (some) memcpy(to, output->block + offset, some);
    return (gssize)some;
  }
  return pread(output->fd, to, size, offset);
}

/* ---- putting in place -------------------------------------------------- */

/* Sets the owner if permitted, then the mode (chown clears set-id bits). */
static gboolean keep_mode(fc_output *output) {
  if (!output->existed) return TRUE;
  mode_t mode = output->before.st_mode & 07777;
  struct stat now;
  if (fstat(output->fd, &now) != 0) return FALSE;
  gboolean moved = now.st_uid != output->before.st_uid || now.st_gid != output->before.st_gid;
  if (moved && fchown(output->fd, output->before.st_uid, output->before.st_gid) != 0) {
    mode &= 01777;
    if (fchown(output->fd, (uid_t)-1, output->before.st_gid) != 0) mode &= (mode_t)~070 | (mode & 07) << 3;
  }
  return fchmod(output->fd, mode) == 0;
}

/* Reserves the name with an empty file, which is then replaced. */
static int rename_over_own(const char *from, const char *to) {
  int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  close(fd);
  if (rename(from, to) == 0) return 0;
  int problem = errno;
  unlink(to);
  errno = problem;
  return -1;
}

/* renameat2 if the kernel and file system support it, else a hard link, else by reserving the name first:
 * none of these replaces a file that appeared meanwhile. */
static int rename_no_clobber(const char *from, const char *to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  if (link(from, to) == 0) return unlink(from);
  return errno == EEXIST ? -1 : rename_over_own(from, to);
}

/* Space is reserved first: a full disk is detected while the old content still exists. Returns 0 or an
 * errno. */
static int overwrite(fc_output *output, int to) {
  gint64 size = fc_output_size(output);
  int reserved = size ? posix_fallocate(to, 0, size) : 0;
  if (reserved && reserved != EOPNOTSUPP && reserved != EINVAL)
    return ftruncate(to, output->before.st_size) == 0 ? reserved : errno;
  gboolean reading;
  if (lseek(output->fd, 0, SEEK_SET) != 0 || !fc_copy_all(output->fd, to, G_MAXINT64, &reading)) return errno;
  if (ftruncate(to, size) != 0) return errno;
  return (output->flags & FC_OUTPUT_SYNC) && fsync(to) != 0 ? errno : 0;
}

/* Copies the temporary into the existing file. */
static gboolean copy_into(fc_output *output) {
  int to = open(output->target, O_WRONLY | O_CLOEXEC);
  if (to < 0) return FALSE;
  int problem = overwrite(output, to);
  if (close(to) != 0 && !problem) problem = errno;
  errno = problem;
  return problem == 0;
}

static gboolean sync_folder(const char *path) {
  g_autofree char *dir = g_path_get_dirname(path);
  int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return TRUE; /* a folder that may be written but not read */
  gboolean done = fsync(fd) == 0 || errno == EINVAL;
  close(fd);
  return done;
}

/* Some file systems (NFS) report only at close that a write was lost. */
static gboolean close_copy(int fd) {
  int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  return copy >= 0 && close(copy) == 0;
}

/* If the folder cannot be synced the rename may not be permanent: it is undone. So the previous file and
 * the temporary are exchanged until then. */
static int rename_synced(const char *from, const char *to, gboolean existed) {
  unsigned flags = existed ? RENAME_EXCHANGE : 0;
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, flags) != 0) {
    if (errno != EINVAL && errno != ENOSYS && errno != ENOENT) return -1;
    if (rename(from, to) != 0) return -1;
    return sync_folder(to) ? 0 : -1; /* a file system that cannot exchange files */
  }
  if (sync_folder(to)) return existed ? unlink(from) : 0;
  int problem = errno;
  renameat2(AT_FDCWD, to, AT_FDCWD, from, flags);
  errno = problem;
  return -1;
}

static int rename_to_target(fc_output *output) {
  const char *from = output->temporary_path, *to = output->target;
  gboolean sync = (output->flags & FC_OUTPUT_SYNC) != 0;
  if (sync && fsync(output->fd) != 0) return -1;
  if (!(output->flags & FC_OUTPUT_NO_CLOBBER))
    return sync ? rename_synced(from, to, output->existed) : rename(from, to);
  if (rename_no_clobber(from, to) != 0) return -1;
  if (!sync || sync_folder(to)) return 0;
  int problem = errno;
  rename(to, from);
  errno = problem;
  return -1;
}

static gboolean rename_into_place(fc_output *output) {
  if (!keep_mode(output) || !close_copy(output->fd)) return FALSE;
  if (rename_to_target(output) != 0) {
    /* A mount point; or a sticky folder, in which only the owner of a file may replace it. */
    gboolean in_the_way = errno == EBUSY || errno == EPERM || errno == EACCES;
    return in_the_way && output->existed && copy_into(output);
  }
  g_clear_pointer(&output->temporary_path, g_free);
  fc_temporary_drop(g_steal_pointer(&output->temporary));
  return TRUE;
}

static gboolean send_spooled(fc_output *output) {
  gboolean reading;
  return lseek(output->fd, 0, SEEK_SET) == 0 && fc_copy_all(output->fd, output->to, G_MAXINT64, &reading) &&
         close_copy(output->to);
}

static gboolean hand_over(fc_output *output) {
  if (output->blocks) {
    *output->kept = fc_blocks_wrap(output->blocks, output->block, output->room, output->filled);
    output->block = NULL, output->blocks = NULL;
    return TRUE;
  }
  guint8 *data = g_try_realloc(output->block, MAX(output->filled, 1)); /* smaller */
  *output->kept = g_bytes_new_take(data ? data : output->block, output->filled);
  output->block = NULL;
  return TRUE;
}

static gboolean put_in_place(fc_output *output) {
  switch (output->way) {
  case RENAME: return rename_into_place(output);
  case INTO: return copy_into(output);
  case SPOOL: return send_spooled(output);
  case PIPE: return close_copy(output->fd);
  case KEEP: return hand_over(output);
  }
  return FALSE;
}

gboolean fc_output_commit(fc_output *output, GError **error) {
  if (!flush(output, error)) return FALSE;
  if (put_in_place(output)) return TRUE;
  if (errno == EEXIST)
    return fc_fail(error, FC_IO,
                   "%s: was created in the meantime; name another file or leave out --no-clobber",
                   output->name);
  return fc_fail(error, FC_IO, "%s: cannot be put in place: %s", output->name, g_strerror(errno));
}

void fc_output_free(fc_output *output) {
  if (!output) return;
  if (output->fd >= 0) close(output->fd);
  if (output->to >= 0) close(output->to);
  if (output->temporary_path) unlink(output->temporary_path);
  fc_temporary_drop(output->temporary);
  g_free(output->temporary_path);
  free_block(output);
  g_free(output->target);
  g_free(output->name);
  g_free(output);
}
