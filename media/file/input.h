/* SPDX-License-Identifier: MIT */
/*
 * input.h - a file or a pipe that is read: at places, or one byte after the other with one system call a
 * block however small the pieces (fc_reader); and temporary files for what must be read back and forth.
 */
#ifndef FC_MEDIA_INPUT_H
#define FC_MEDIA_INPUT_H

#include "media/file/media.h"

G_BEGIN_DECLS

/* Enough of a file to tell its kind. */
#define FC_INPUT_HEAD 4096

/* A file opened for reading, at its start. */
typedef struct fc_input {
  char *name; /* for messages: the path, or "standard input" */
  char *path; /* NULL for standard input; its extension is a hint */
  int fd;
  gboolean seekable;
  gint64 begins;     /* of a seekable file so many bytes, a tag, are skipped */
  gint64 size;       /* bytes, without these; -1 for a pipe */
  int problem;       /* errno of the first read at a place that failed; 0 */
  gint64 problem_at; /* and the place */
  const int *cancel; /* the caller's wish to stop, looked at while a pipe is waited for; or NULL */
  gsize head_size;
  guint8 head[FC_INPUT_HEAD]; /* the first bytes, still to be read from fd */
} fc_input;

/* Fails for what is no file to read: a directory, an empty file, a terminal. `cancel` may be NULL. */
fc_input *fc_input_open(const char *path, const int *cancel, GError **error);
/* The content of a file that somebody has in memory; it is copied. */
fc_input *fc_input_open_bytes(const char *name, GBytes *bytes, GError **error);
/* Waits until a pipe has something to read, or ends; FALSE with an error when the caller wants to stop. */
gboolean fc_input_wait(const fc_input *input, GError **error);
void fc_input_free(fc_input *input); /* NULL is allowed */

/* Copies a pipe into an unlinked temporary file, so that it may be read anywhere. */
gboolean fc_input_make_seekable(fc_input *input, GError **error);
/* The same of no more than `most` bytes: those that were taken out of the pipe already, and what
 * follows. The file takes the input's place, and begins with them. */
gboolean fc_input_spool(fc_input *input, const void *taken, gsize size, gint64 most, GError **error);

/* Makes a seekable input begin so many bytes later. */
gboolean fc_input_begin_at(fc_input *input, gint64 offset, GError **error);

/* The bytes at `offset` of a seekable input: as many as there are, up to `size`;
 * -1 with an error. Whoever takes what cannot be read for the end has fc_input_check called later. */
gssize fc_input_read_at(fc_input *input, gint64 offset, void *to, gsize size, GError **error);
/* Of zeros that fill something up so many bytes are looked at. */
#define FC_INPUT_LOOK_MOST ((gint64)16 << 20)
/* The first byte from one place up to another that is not 0; the other one where there is none. */
gint64 fc_input_skip_zeros(fc_input *input, gint64 from, gint64 to);
/* FALSE with an error once such a read has failed, whoever asked for it. */
gboolean fc_input_check(const fc_input *input, GError **error);

/* The whole file, at most `limit` bytes; g_free. */
guint8 *fc_input_load(fc_input *input, gsize limit, gsize *size, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_input, fc_input_free)

/* "standard input" or "standard output" for "-", else the path; g_free. */
char *fc_display_name(const char *path, const char *standard);

/* ---- in order ------------------------------------------------------------ */

#define FC_READER_BLOCK 65536

typedef struct fc_reader {
  fc_input *input; /* borrowed; from its start on */
  gint64 position; /* bytes given out */
  gsize start, end;
  guint8 block[FC_READER_BLOCK];
} fc_reader;

/* Fewer than `size` only at the end; -1 with an error. */
gssize fc_reader_read(fc_reader *reader, void *to, gsize size, GError **error);

/* Goes on at this place of a seekable input. */
gboolean fc_reader_seek(fc_reader *reader, gint64 position, GError **error);

/* Whether bytes or the end come within so many milliseconds, so that reading does not wait. */
gboolean fc_reader_is_ready(const fc_reader *reader, int patience);

/* Keeps what is still to be read from a pipe, `most` bytes of it, in a temporary file, so that its size is
 * known: position 0 of the input is from then on where the reader stands. */
gboolean fc_reader_spool(fc_reader *reader, gint64 most, GError **error);

/* ---- temporary files and whole writes (spool.c) ----------------------------- */

/* An unlinked temporary file, or -1. In $TMPDIR, else /var/tmp (which unlike /tmp is
 * never memory), else /tmp. */
int fc_spool_create(GError **error);
/* After a read or write that failed: is it worth another try (poll events say of what)?
 * Waits where a descriptor that somebody else opened is non-blocking. */
gboolean fc_try_again(int fd, short events);
/* Writes all of it; FALSE with errno set. */
gboolean fc_write_all(int fd, const void *from, gsize size);
/* Copies what is left of `from` to `to`, or its first `most` bytes; FALSE with errno
 * set, *reading telling which side failed. */
gboolean fc_copy_all(int from, int to, gint64 most, gboolean *reading);

G_END_DECLS

#endif
