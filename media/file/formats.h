/* SPDX-License-Identifier: MIT */
/*
 * formats.h - the table of formats: for each its names, the library behind it, its options, and the
 * functions of media/ that open and create such files.
 */
#ifndef FC_MEDIA_FORMATS_H
#define FC_MEDIA_FORMATS_H

#include "media/file/input.h"

G_BEGIN_DECLS

/* SF_FORMAT_MPEG and the subtypes of layers I and III: libsndfile 1.0 has no names for them. */
#define FC_SF_MPEG           0x230000
#define FC_SF_MPEG_LAYER_I   0x0080
#define FC_SF_MPEG_LAYER_III 0x0082

typedef struct fc_file_format fc_file_format;
/* Takes over the input, also when it fails. */
typedef fc_source *fc_open_fn(fc_input *input, const fc_file_format *format, const fc_media_options *options,
                              GError **error);
typedef fc_sink *fc_create_fn(const char *path, const fc_file_format *format, const fc_media_options *options,
                              fc_source *like, GError **error);
struct fc_file_format {
  const char *name;       /* as in --format: "wav" */
  const char *title;      /* for messages: "WAV" */
  const char *extensions; /* without dot, separated by blanks */
  int sndfile;            /* libsndfile's major format; 0 for others */
  fc_open_fn *open;
  fc_create_fn *create;
  const char *reader, *writer;             /* the libraries, with their versions */
  const fc_file_option *reading, *writing; /* tables of options, or NULL (options.h) */
};

/* The functions and options of image/, audio/ and array/. */
fc_open_fn fc_image_open, fc_audio_open, fc_npy_open, fc_raw_open;
fc_create_fn fc_image_create, fc_audio_create, fc_array_create;
extern const fc_file_option fc_image_reading[], fc_jpeg_reading[], fc_png_writing[], fc_jpeg_writing[],
    fc_webp_writing[], fc_tiff_writing[], fc_wav_writing[], fc_pcm_writing[], fc_flac_writing[],
    fc_ogg_writing[], fc_opus_writing[], fc_mp3_writing[], fc_raw_reading[];

/* NULL when there is none. */
const fc_file_format *fc_format_by_name(const char *name);
const fc_file_format *fc_format_by_extension(const char *path);

/* The format of an input, or NULL with an error that says what the file is instead. */
const fc_file_format *fc_probe_input(fc_input *input, const fc_media_options *options, GError **error);
/* Whether its first bytes are those of a format that is read. */
gboolean fc_probe_knows(const fc_input *input);
/* Whether its name is that of a picture of a format that is not read. */
gboolean fc_format_is_foreign_picture(const char *path);
/* What an input is that is not read, and what to do; NULL: not known. */
const char *fc_probe_describe(const fc_input *input);
/* The format of an output. */
const fc_file_format *fc_probe_output(const char *path, const fc_media_options *options, GError **error);

/* "wav, rf64, ..., raw"; g_free. */
char *fc_format_names(void);

/* Behind the last dot of the last part of a path; NULL when there is none. */
const char *fc_extension_of(const char *path);

G_END_DECLS

#endif
