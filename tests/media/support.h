/* SPDX-License-Identifier: MIT */
/*
 * support.h - what the tests of media/ share: a folder of their own, sound files made
 * with libsndfile, and a copy from any source to any sink in chunks.
 */
#ifndef FC_TESTS_MEDIA_SUPPORT_H
#define FC_TESTS_MEDIA_SUPPORT_H

#include "media/file/media.h"

/* A path in this test's folder, which is removed when the program ends; g_free. */
char *scratch(const char *name);
void scratch_init(void);
void scratch_remove(void);

/* Names in the folder that start with "." (what a failed run may leave); 0 is well. */
guint leftovers(void);

typedef struct bytes {
  guint8 *data;
  gsize size;
} bytes;
bytes load(const char *path);
void store(const char *path, const void *data, gsize size);
void clear_bytes(bytes *b);
void assert_same_bytes(const char *path, const char *other);

/* fc_media_open with helpers for images, which $DECODE_PROGRAM names the program of; `options` may be NULL.
 */
fc_source *open_media(const char *path, const fc_media_options *options, GError **error);
/* The same whole, read to its end: what fails at the latest when samples are asked for. */
gboolean can_read(const char *path, const fc_media_options *options, GError **error);
/* These helpers, of this process. */
struct fc_decoders *test_decoders(void);

/* How a copy goes. `dtype` -1: what the sink would like. */
typedef struct copy_job {
  const char *in, *out;
  fc_media_options options;
  gint64 chunk;
  int dtype;
  gboolean hide_length; /* the sink is told FC_UNKNOWN */
  gboolean rows;        /* of images and arrays, chunks are of rows */
} copy_job;

gboolean copy(const copy_job *job, GError **error);
/* Its input is a pipe, into which `from` is put in pieces of so many bytes. */
gboolean copy_through_pipe(const bytes *from, gsize piece, const copy_job *job, GError **error);
void assert_copies(const char *in, const char *out);
/* The copy fails with this code and message (NULL: any); the output is unchanged, and
 * no temporary is left. */
void assert_copy_fails(const copy_job *job, int code, const char *message);

/* Reads a source to its end as real values (in N, Y, X, C order). */
GArray *read_all(fc_source *source, gint64 chunk, GError **error);

/* The same of a file that can be read, and its format (or NULL). */
GArray *read_file(const char *path, const fc_media_options *options, fc_format *format);

/* Dense view over memory, of so many elements of this axis. */
fc_view view_along(const fc_format *format, fc_axis axis, void *data, gint64 count);
/* ... of the stream axis. */
fc_view view_of(const fc_format *format, void *data, gint64 stream_count);

/* Deterministic bits. */
guint32 noise(guint32 *state);

/* A sound file of noise, written through libsndfile in its own sample type. */
void make_sound(const char *path, int format, int rate, int channels, gint64 frames);

/* Collects warnings: lines of a GPtrArray with g_free. */
void keep_line(fc_log_level level, const char *message, void *data);

#endif
