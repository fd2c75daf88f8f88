/* SPDX-License-Identifier: MIT */
/*
 * image.h - what the parts of media/image share.
 *
 * An image is read in two steps. First its header is read in this process, in bounded loops: format, size,
 * orientation, whether the file is truncated (header.c). Then a confined child process decodes it (decode.c,
 * decoders.h, decoder/).
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

/* FALSE with an error that starts with `name` if it is damaged, of another format than `kind`, or of an
 * unsupported variant. */
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

/* Decoded pixels: rows from the top, interleaved channels, u8 or u16. */
typedef struct fc_decoders fc_decoders;

typedef struct fc_picture {
  gint64 width, height;
  int channels; /* 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA */
  int dtype;
  const void *pixels;
  struct fc_decode_memory *memory; /* that they lie in */
  fc_decoders *decoders;           /* whose it is */
} fc_picture;

/* A rectangle of the decoded image, from its top left; width 0: the whole image. */
typedef struct fc_decode_window {
  gint32 left, top, width, height;
} fc_decode_window;

typedef struct fc_decode_wish {
  int scale;               /* 1; for JPEG also 2, 4, 8: an image of 1/scale of the size, rounded up */
  gboolean lenient;        /* an incomplete image is accepted; missing pixels are zero */
  fc_decode_window window; /* the part that is used; other pixels are unspecified. Not with lenient */
  const int *cancel;       /* non-zero ends the child; or NULL */
} fc_decode_wish;

/*
 * Decodes a file whose header was read, in a child process without files, network or time. Any thread.
 * `*warning` (g_free) says why an image is incomplete, or NULL.
 */
gboolean fc_image_decode(const char *name, const guint8 *file, gsize size, const fc_image_header *header,
                         const fc_decode_wish *wish, fc_decoders *decoders, fc_picture *picture,
                         char **warning, GError **error);
void fc_picture_clear(fc_picture *picture);

/*
 * The child's report, read from the memory shared with it (of at least FC_DECODE_REPORT_SIZE bytes). It is
 * not trusted: the file may have taken control of that process. TRUE only for an image of the expected size
 * within that memory. Part of fc_image_decode, separate for tests with false reports.
 */
gboolean fc_image_take_report(const char *name, const void *shared, gsize shared_size,
                              const fc_image_header *header, const fc_decode_wish *wish, fc_picture *picture,
                              char **warning, GError **error);

/* ---- encoding ---------------------------------------------------------- */

struct fc_output;

/* The options of an output's name, each for the formats that have it. */
typedef struct fc_encode_settings {
  const char *format; /* its name, static */
  int quality, level, effort;
  gboolean lossless, progressive;
  const char *subsampling, *compression; /* static */
  guint8 background[3];                  /* RGB: the background that alpha is flattened over */
} fc_encode_settings;

/* Metadata in the format's form (meta.h). Zeroed: none. */
typedef struct fc_encode_metadata {
  fc_blob pieces;                   /* PNG: chunks after the header; JPEG: segments after the first */
  fc_blob icc, exif, xmp, comment;  /* WebP, TIFF */
  double per_inch_x, per_inch_y;    /* TIFF; 0: not said */
  guint8 jfif[5];                   /* JPEG: unit and densities; all 0: not said */
  guint32 per_metre_x, per_metre_y; /* BMP; 0: not said */
} fc_encode_metadata;

void fc_encode_metadata_clear(fc_encode_metadata *metadata);
/* FALSE with an error if memory was lacking for some. */
gboolean fc_encode_metadata_check(const fc_encode_metadata *metadata, const char *name, GError **error);

/* Writes a whole image of 8 bits (TIFF: or 16) to an output. `name` is for messages. */
typedef gboolean fc_encode_fn(const char *name, struct fc_output *output, const fc_picture *picture,
                              const fc_encode_settings *settings, const fc_encode_metadata *metadata,
                              GError **error);
fc_encode_fn fc_encode_jpeg, fc_encode_webp, fc_encode_tiff, fc_encode_stb;

/*
 * PNG of 8 or 16 bits, some rows at a time. `picture` describes the whole image, without pixels; `chunks`
 * precede the pixels. Name and output must outlive the writer; NULL on failure. `level` is zlib's.
 */
typedef struct fc_png_writer fc_png_writer;
fc_png_writer *fc_png_begin(const char *name, struct fc_output *output, const fc_picture *picture, int level,
                            const fc_blob *chunks, GError **error);
/* Writes the next dense rows; the last ones complete the file. */
gboolean fc_png_write(fc_png_writer *writer, const void *pixels, gint64 rows, GError **error);
/* NULL is allowed. */
void fc_png_free(fc_png_writer *writer);

G_END_DECLS

#endif
