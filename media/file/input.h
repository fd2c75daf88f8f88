/* SPDX-License-Identifier: MIT */
/*
 * input.h - a file or a pipe for reading: at offsets (of a pipe near its start), or sequentially, with one
 * system call for each block however small the pieces; and temporary files for formats that need seeking.
 */
#ifndef FC_MEDIA_INPUT_H
#define FC_MEDIA_INPUT_H

#include "media/file/blob.h"

G_BEGIN_DECLS

/* Enough of a file to tell its kind. */
#define FC_INPUT_HEAD  4096
#define FC_INPUT_BLOCK 65536

/* A file opened for reading. */
typedef struct fc_input {
  char *name; /* for messages: the path, or "standard input" */
  char *path; /* NULL for standard input; its extension is a hint */
  int fd;
  gboolean seekable;
  gint64 begins;     /* bytes skipped at the start of a seekable file: a tag */
  gint64 size;       /* size without these; -1 for a pipe */
  int problem;       /* errno of the first failed read at an offset; 0 */
  gint64 problem_at; /* and the offset */
  const int *cancel; /* the caller's cancellation flag, checked while waiting for a pipe; or NULL */
  gsize head_size;
  guint8 head[FC_INPUT_HEAD]; /* the first bytes */

  gint64 position; /* bytes delivered sequentially */
  fc_blob taken;   /* of a pipe: the bytes from its start that were read at offsets, until they are delivered
                      sequentially */
  guint8 *block;   /* FC_INPUT_BLOCK bytes, from the first sequential read on: the next bytes */
  gsize start, end;
} fc_input;

/* Fails for what cannot be read as a file: a directory, an empty file, a terminal. `cancel` may be NULL. */
fc_input *fc_input_open(const char *path, const int *cancel, GError **error);
/* The content of a file in memory; it is copied. */
fc_input *fc_input_open_bytes(const char *name, GBytes *bytes, GError **error);
/* Waits until a pipe has data or ends; FALSE with an error if the caller cancels. */
gboolean fc_input_wait(const fc_input *input, GError **error);
void fc_input_free(fc_input *input); /* NULL is allowed */

/* Copies a pipe into an unlinked temporary file, to make it seekable. */
gboolean fc_input_make_seekable(fc_input *input, GError **error);
/* The same for at most `most` further bytes: the current sequential position becomes position 0. */
gboolean fc_input_spool(fc_input *input, gint64 most, GError **error);

/* Makes a seekable input begin so many bytes later. */
gboolean fc_input_begin_at(fc_input *input, gint64 offset, GError **error);

/* The bytes at `offset`: as many as available, up to `size`; -1 with an error. In a pipe only near its start,
 * before sequential reading. Callers that treat a failed read as the end must call fc_input_check later.
 */
gssize fc_input_read_at(fc_input *input, gint64 offset, void *to, gsize size, GError **error);
/* At most so many bytes of zero padding are examined. */
#define FC_INPUT_LOOK_MOST ((gint64)16 << 20)
/* The offset of the first nonzero byte between two offsets; the second one if there is none. */
gint64 fc_input_skip_zeros(fc_input *input, gint64 from, gint64 to);
/* FALSE with an error if any such read has failed. */
gboolean fc_input_check(const fc_input *input, GError **error);

/* The whole file, at most `limit` bytes; g_free. */
guint8 *fc_input_load(fc_input *input, gsize limit, gsize *size, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_input, fc_input_free)

/* "standard input" or "standard output" for "-", else the path; g_free. */
char *fc_display_name(const char *path, const char *standard);

/* ---- in order ------------------------------------------------------------ */

/* The next bytes; fewer than `size` only at the end; -1 with an error. */
gssize fc_input_read(fc_input *input, void *to, gsize size, GError **error);
/* Seeks; in a pipe only forwards. */
gboolean fc_input_go_to(fc_input *input, gint64 offset, GError **error);
/* Whether data or the end arrive within so many milliseconds, so that a read does not block. */
gboolean fc_input_is_ready(const fc_input *input, int patience);

/* ---- temporary files and whole writes --------------------------------------- */

/* An unlinked temporary file, or -1. In $TMPDIR, else /var/tmp (which unlike /tmp is
 * never memory), else /tmp. */
int fc_spool_create(GError **error);
/* After a failed read or write (poll events say which): whether to try again. Waits if an inherited
 * descriptor is non-blocking. */
gboolean fc_try_again(int fd, short events);
/* Writes all of it; FALSE with errno set. */
gboolean fc_write_all(int fd, const void *from, gsize size);
/* Copies the rest of `from`, or its first `most` bytes, to `to`; FALSE with errno set, and *reading says
 * which side failed. */
gboolean fc_copy_all(int from, int to, gint64 most, gboolean *reading);

G_END_DECLS

#endif
