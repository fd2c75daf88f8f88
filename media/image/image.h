/* SPDX-License-Identifier: MIT */
/*
 * image.h - what the parts of media/ that deal in images share.
 *
 * An image is read in two steps. First its header is read here, in plain bounded loops: kind,
 * size, orientation, whether the file is cut off (header.c). Then a confined child process
 * decodes it (decode.c, decoders.h, decoder/).
 */
#ifndef FC_MEDIA_IMAGE_H
#define FC_MEDIA_IMAGE_H

#include "media/file/blob.h"

G_BEGIN_DECLS

/* The largest side of an image. */
#define FC_IMAGE_SIDE_MAX (1 << 20)
/* The largest file: decoders count bytes in an int. */
#define FC_IMAGE_FILE_MAX ((gsize)G_MAXINT32)

typedef enum fc_image_kind {
  FC_IMAGE_PNG,
  FC_IMAGE_JPEG,
  FC_IMAGE_WEBP,
  FC_IMAGE_TIFF,
  FC_IMAGE_BMP,
  FC_IMAGE_TGA
} fc_image_kind;

/* ---- headers (header.c) -------------------------------------------------- */

typedef struct fc_image_header {
  fc_image_kind kind;
  gint64 width, height;
  int pixel_bytes; /* of a decoded pixel, at most */
  int channels;    /* of JPEG: 1 or 3 */
  gboolean simple; /* a baseline JPEG of one or three components */
  gboolean inks;   /* a JPEG of four inks, which becomes RGB */
  int orientation; /* EXIF, 1 to 8 */
  gboolean cut;    /* the file ends before the image does */
} fc_image_header;

/* FALSE with an error that starts with `name` for what is damaged, of another kind than `kind`, or of a
 * variety that is not decoded. */
gboolean fc_image_read_header(const char *name, fc_image_kind kind, const guint8 *file, gsize size,
                              fc_image_header *header, GError **error);

/* ---- coded (source.c) ---------------------------------------------------- */

/* A JPEG as it lies in its file. */
typedef struct fc_encoded {
  const guint8 *data;
  gsize size;
} fc_encoded;
/* Whether a source is a whole baseline JPEG that is read as it is stored, upright, and has not been read yet.
 */
gboolean fc_image_encoded(const fc_source *source, fc_encoded *encoded);

/* ---- decoding (decode.c) ------------------------------------------------- */

/* Decoded pixels: rows from the top, channels side by side, u8 or u16. */
typedef struct fc_decoders fc_decoders;

typedef struct fc_picture {
  gint64 width, height;
  int channels; /* 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA */
  int dtype;
  const void *pixels;
  struct fc_decode_memory *memory; /* that they lie in */
  fc_decoders *decoders;           /* whose it is */
} fc_picture;

/* Pixels of the decoded picture, from its top left; of width 0: all of them. */
typedef struct fc_decode_window {
  gint32 left, top, width, height;
} fc_decode_window;

typedef struct fc_decode_wish {
  int scale;               /* 1; of JPEG also 2, 4, 8: a picture of 1/scale of the size, rounded up */
  gboolean lenient;        /* a picture that is not whole is wanted; what is missing is zero */
  fc_decode_window window; /* what is looked at of it; the rest may be anything. Not with lenient */
  const int *cancel;       /* non-zero ends the child; or NULL */
} fc_decode_wish;

/*
 * Decodes a file whose header was read, in a child process without files, network or time. Works from any
 * thread. `*warning` (g_free) is what is wrong with a picture that is not whole, or NULL.
 */
gboolean fc_image_decode(const char *name, const guint8 *file, gsize size, const fc_image_header *header,
                         const fc_decode_wish *wish, fc_decoders *decoders, fc_picture *picture,
                         char **warning, GError **error);
void fc_picture_clear(fc_picture *picture);

/*
 * What the child says, read from the memory shared with it (of at least FC_DECODE_REPORT_SIZE bytes).
 * Nothing in there is believed: it was written by a process that the file may have
 * taken over. TRUE only with a picture of the size expected that lies in that memory.
 * Part of fc_image_decode, by itself for tests that lie to it.
 */
gboolean fc_image_take_report(const char *name, const void *shared, gsize shared_size,
                              const fc_image_header *header, const fc_decode_wish *wish, fc_picture *picture,
                              char **warning, GError **error);

/* ---- encoding ---------------------------------------------------------- */

struct fc_output;

/* What the options behind an output's name say, each for the formats that have it. */
typedef struct fc_encode_settings {
  const char *format; /* its name, static */
  int quality, level, effort;
  gboolean lossless, progressive;
  const char *subsampling, *compression; /* static */
  guint8 background[3];                  /* RGB: what alpha is flattened over */
} fc_encode_settings;

/* Metadata as the format has them (meta.h). Zeroed: none. */
typedef struct fc_encode_metadata {
  fc_blob pieces;                   /* PNG: chunks behind the header; JPEG: segments behind the first */
  fc_blob icc, exif, xmp, comment;  /* WebP, TIFF */
  double per_inch_x, per_inch_y;    /* TIFF; 0: not said */
  guint8 jfif[5];                   /* JPEG: unit and densities; all 0: not said */
  guint32 per_metre_x, per_metre_y; /* BMP; 0: not said */
} fc_encode_metadata;

void fc_encode_metadata_clear(fc_encode_metadata *metadata);
/* FALSE with an error when there was no memory for some of it. */
gboolean fc_encode_metadata_check(const fc_encode_metadata *metadata, const char *name, GError **error);

/* A whole picture of 8 bits (TIFF: or 16) into an output, complete. `name` is for messages. */
typedef gboolean fc_encode_fn(const char *name, struct fc_output *output, const fc_picture *picture,
                              const fc_encode_settings *settings, const fc_encode_metadata *metadata,
                              GError **error);
fc_encode_fn fc_encode_jpeg, fc_encode_webp, fc_encode_tiff, fc_encode_stb;

/*
 * PNG of 8 or 16 bits, some rows at a time. `picture` says what they are together, without pixels; `chunks`
 * go ahead of these. Both name and output must outlive the writer; NULL: it could not begin. `level` is
 * zlib's.
 */
typedef struct fc_png_writer fc_png_writer;
fc_png_writer *fc_png_begin(const char *name, struct fc_output *output, const fc_picture *picture, int level,
                            const fc_blob *chunks, GError **error);
/* The next dense rows; with the last the file is complete. */
gboolean fc_png_write(fc_png_writer *writer, const void *pixels, gint64 rows, GError **error);
/* NULL is allowed. */
void fc_png_free(fc_png_writer *writer);

G_END_DECLS

#endif
