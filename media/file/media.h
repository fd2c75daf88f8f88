/* SPDX-License-Identifier: MIT */
/*
 * media.h - opens files for reading and writing; used by the rest of the engine.
 *
 * The format of a file is determined by its content, then by its name; that of an output by `out_format`, or
 * by its name. "-" is standard input or output.
 *
 * Conversion:
 *   sound    kind audio, integers as they lie in the file (8 and 16 bits as i16, 24
 *            and 32 as i32, left-justified), float as f32, double as f64, lossy
 *            codecs as f32.
 *   images   kind image, N = 1, u8 or u16, 1 to 4 channels, turned upright as the
 *            EXIF orientation says.
 *   .npy     kind array: (X), (Y,X), (Y,X,C) or (N,Y,X,C).
 *   raw      audio or image, as `in_raw` says; little-endian, interleaved.
 *
 * Errors are of domain FC_ERROR: FC_INVALID for an error in the request, such as an output in a format that
 * cannot hold the data, FC_UNSUPPORTED for inputs that cannot be read, FC_IO for files and their content. The
 * message is one line that names the file, the place and what to do.
 */
#ifndef FC_MEDIA_H
#define FC_MEDIA_H

#include "core/base/error.h"
#include "core/context/stream.h"

G_BEGIN_DECLS

/* Strings are borrowed for the call; `log` must stay valid for the life of what was opened. */
typedef struct fc_media_options {
  const char *in_format;  /* name of a format, or NULL: determined by content and name */
  const char *out_format; /* likewise by name */
  const char *in_raw;     /* layout of a raw input, see fc_options */
  const struct fc_given_options *in_options, *out_options; /* options of the files (options.h), or NULL */
  gboolean allow_truncated; /* a truncated input gives a warning, not an error */
  gboolean no_clobber;
  gboolean sync;
  gboolean live;                /* data for a pipe are written at once */
  GBytes *in_bytes;             /* the input's content, instead of a file; or NULL */
  GBytes **out_bytes;           /* where the output's go, instead of a file; or NULL */
  struct fc_blocks *blocks;     /* memory for these (blocks.h), or NULL */
  gint64 max_pixels;            /* 0 is FC_PIXELS_MOST */
  const int *cancel;            /* read while waiting for a pipe; or NULL */
  struct fc_decoders *decoders; /* helpers for images (decoders.h), or NULL */
  fc_log_fn log;                /* NULL: warnings are dropped */
  void *log_data;
} fc_media_options;

/* `options` may be NULL. Sources and sinks are freed with their own `free`. */
fc_source *fc_media_open(const char *path, const fc_media_options *options, GError **error);

/*
 * Nothing is created on disk before `begin`; a target that cannot be written, or must not be replaced, is an
 * error now. `like` is the source of the samples, or NULL: its sample format is kept if the chain and the
 * container allow it, and its metadata are copied during this call, so that it need not outlive it.
 */
fc_sink *fc_media_create(const char *path, const fc_media_options *options, fc_source *like, GError **error);

/*
 * A mask or matrix from a text file, .npy, or sound file; fc_table_free. A mono sound is one row, several
 * channels are one column each. `ragged` as in fc_table_parse. Sizes are limited to FC_TABLE_MAX.
 */
fc_table *fc_media_load_table(const char *path, gboolean ragged, GError **error);

G_END_DECLS

#endif
