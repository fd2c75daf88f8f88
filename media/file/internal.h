/* SPDX-License-Identifier: MIT */
/*
 * internal.h - what the parts of media/ share: the input file, the table of formats,
 * and one open and one create function a family of formats.
 */
#ifndef FC_MEDIA_INTERNAL_H
#define FC_MEDIA_INTERNAL_H

#include "media/file/media.h"

G_BEGIN_DECLS

/* ---- the input file ---------------------------------------------------- */

/* Enough of a file to tell its kind. */
#define FC_INPUT_HEAD 4096

/* A file opened for reading, at its start. */
typedef struct fc_input {
  char *name; /* for messages: the path, or "standard input" */
  char *path; /* NULL for standard input; its extension is a hint */
  int fd;
  gboolean seekable;
  gint64 begins;     /* of a seekable file so many bytes, a tag, are passed over */
  gint64 size;       /* bytes, without these; -1 for a pipe */
  int problem;       /* errno of the first read at a place that failed; 0 */
  gint64 problem_at; /* and the place */
  const int *cancel; /* the caller's wish to stop, looked at while a pipe is waited for; or NULL */
  gsize head_size;
  guint8 head[FC_INPUT_HEAD]; /* the first bytes, still to be read from fd */
} fc_input;

/* Fails for what is no file to read: a directory, an empty file, a terminal. `cancel` may be NULL. */
fc_input *fc_input_open(const char *path, const int *cancel, GError **error);
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

/* ---- formats ----------------------------------------------------------- */

/* SF_FORMAT_MPEG and the subtypes of layers I and III: libsndfile 1.0 has no names for them. */
#define FC_SF_MPEG           0x230000
#define FC_SF_MPEG_LAYER_I   0x0080
#define FC_SF_MPEG_LAYER_III 0x0082

typedef struct fc_file_format fc_file_format;
struct fc_file_format {
  const char *name;       /* as in --format: "wav" */
  const char *title;      /* for messages: "WAV" */
  const char *extensions; /* without dot, apart by blanks */
  int sndfile;            /* libsndfile's major format; 0 for others */
  /* Takes over the input, also when it fails. */
  fc_source *(*open)(fc_input *input, const fc_file_format *format, const fc_media_options *options,
                     GError **error);
  fc_sink *(*create)(const char *path, const fc_file_format *format, const fc_media_options *options,
                     fc_source *like, GError **error); /* NULL: it is read, not written */
  const char *reader, *writer;                         /* the libraries, with their versions */
  const fc_file_option *reading, *writing;             /* tables of options, or NULL (options.h) */
};

/* ... of image/. */
extern const fc_file_option fc_image_reading[], fc_png_writing[], fc_jpeg_writing[], fc_webp_writing[],
    fc_tiff_writing[];

/* NULL when there is none. */
const fc_file_format *fc_format_by_name(const char *name);
const fc_file_format *fc_format_by_extension(const char *path);

/* The format of an input, or NULL with an error that says what the file is instead. */
const fc_file_format *fc_probe_input(fc_input *input, const fc_media_options *options, GError **error);
/* The format of an output. */
const fc_file_format *fc_probe_output(const char *path, const fc_media_options *options, GError **error);

/* Options of outputs (media/audio/audio_out.c). */
extern const fc_file_option fc_wav_writing[], fc_pcm_writing[], fc_flac_writing[], fc_ogg_writing[],
    fc_opus_writing[], fc_mp3_writing[];
fc_source *fc_audio_open(fc_input *, const fc_file_format *, const fc_media_options *, GError **);
fc_sink *fc_audio_create(const char *, const fc_file_format *, const fc_media_options *, fc_source *,
                         GError **);
fc_source *fc_image_open(fc_input *, const fc_file_format *, const fc_media_options *, GError **);
fc_sink *fc_image_create(const char *, const fc_file_format *, const fc_media_options *, fc_source *,
                         GError **);
fc_source *fc_npy_open(fc_input *, const fc_file_format *, const fc_media_options *, GError **);
fc_source *fc_raw_open(fc_input *, const fc_file_format *, const fc_media_options *, GError **);
fc_sink *fc_array_create(const char *, const fc_file_format *, const fc_media_options *, fc_source *,
                         GError **);

/* ---- small things ------------------------------------------------------ */

/* "standard input" or "standard output" for "-", else the path; g_free. */
char *fc_display_name(const char *path, const char *standard);

G_END_DECLS

#endif
