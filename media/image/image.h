/* SPDX-License-Identifier: MIT */
/*
 * image.h - what the parts of media/ that deal in images share.
 *
 * An image passes two gates. The first reads the structure of the file here, in plain
 * bounded loops: its size, its kind, whether it is whole, its checksums, the way it is
 * to be turned. The second, stb_image, runs in a child that can do nothing but decode.
 */
#ifndef FC_MEDIA_IMAGE_H
#define FC_MEDIA_IMAGE_H

#include "media/file/internal.h"

G_BEGIN_DECLS

/* The largest side of an image. */
#define FC_IMAGE_SIDE_MAX (1 << 20)
/* The largest file: stb_image counts bytes in an int. */
#define FC_IMAGE_FILE_MAX ((gsize)G_MAXINT32)

/* ---- the first gate (image_check.c, png_check.c, jpeg_check.c) ---------- */

typedef struct fc_image_check {
  gint64 width, height;
  int orientation;   /* EXIF, 1 to 8 */
  gboolean oriented; /* the file has said so: only the first time counts */
  gboolean cut;      /* the file ends before the image does */
  gsize end; /* of a file that is cut off: of what is to be decoded, which of JPEG is coded data; 0: all */
} fc_image_check;

/* FALSE with an error that starts with `name` for what is damaged, of another kind, or
 * of a kind that stb_image does not decode. */
typedef gboolean (*fc_image_checker)(const char *name, const guint8 *file, gsize size, fc_image_check *check,
                                     GError **error);
gboolean fc_png_check(const char *, const guint8 *, gsize, fc_image_check *, GError **);
gboolean fc_jpeg_check(const char *, const guint8 *, gsize, fc_image_check *, GError **);
gboolean fc_bmp_check(const char *, const guint8 *, gsize, fc_image_check *, GError **);
gboolean fc_tga_check(const char *, const guint8 *, gsize, fc_image_check *, GError **);

/* The orientation in a TIFF structure, as EXIF has it; 1 when it says none (image_exif.c). */
int fc_exif_orientation(const guint8 *tiff, gsize size);
/* Makes it say 1. */
void fc_exif_set_upright(guint8 *tiff, gsize size);

/* ---- the second gate (image_decode.c) ---------------------------------- */

/* Decoded pixels: rows from the top, channels side by side, u8 or u16. */
typedef struct fc_picture {
  gint64 width, height;
  int channels; /* 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA */
  int dtype;
  const void *pixels;
  void *arena;
  gsize arena_size;
} fc_picture;

typedef struct fc_decoders fc_decoders;

/*
 * Decodes a file that has passed the first gate, in a child process without files,
 * network or time: `check` says what size to expect, and a result of another size is
 * an error. Works from any thread. Costs half a millisecond with `decoders` (decoders.h); with NULL a
 * fork of this process, which is as much in a small one and some 50 ms for each GiB in a large one.
 */
gboolean fc_image_decode(const char *name, const guint8 *file, gsize size, const fc_image_check *check,
                         fc_decoders *decoders, fc_picture *picture, GError **error);
void fc_picture_clear(fc_picture *picture);

/*
 * What the child says, read from the memory shared with it (of at least 256 bytes).
 * Nothing in there is believed: it was written by a process that the file may have
 * taken over. TRUE only with a picture of the size expected that lies in that memory;
 * it has no arena. Part of fc_image_decode, by itself for tests that lie to it.
 */
gboolean fc_image_take_report(const char *name, const void *shared, gsize shared_size,
                              const fc_image_check *check, fc_picture *picture, GError **error);

/* ---- stb_image, only ever called in the child (image_stb.c) ------------- */

typedef struct fc_stb_result {
  int width, height, channels, bits;
  void *pixels; /* in the arena; NULL: failed */
  const char *reason;
} fc_stb_result;

/* Takes all memory from `arena`. Calls nothing that is not async-signal-safe. `cut`: the
 * file ends early, and what is there is wanted. */
void fc_stb_decode(void *arena, gsize arena_size, const guint8 *file, gsize size, gint64 max_pixels,
                   gboolean cut, fc_stb_result *result);

/* Memory that is not given back; NULL when there is none left. */
typedef void *(*fc_arena_alloc)(gsize size);

/* A PNG file as it is to be decoded, and its size; NULL when there is no memory (png_mend.c). */
const guint8 *fc_png_mend(const guint8 *file, gsize *size, gboolean cut, fc_arena_alloc alloc);
/* Does the checksum at the end of the image data fit what was unpacked of them, as many bytes as the header
 * asks for? Quick, and FALSE also where something stands behind the checksum, or more was packed. */
gboolean fc_png_sum_fits(const guint8 *file, gsize size, const guint8 *unpacked);
/* What is wrong with the image data, or NULL: unpacks all of them. */
const char *fc_png_problem(const guint8 *file, gsize size, fc_arena_alloc alloc);

/* ---- encoding ---------------------------------------------------------- */

struct fc_output;
struct fc_blob;

/*
 * PNG of 8 or 16 bits, some rows at a time. `picture` says what they are together, without pixels; `chunks`
 * go ahead of these. Both name and output must outlive the writer; NULL: it could not begin.
 */
typedef struct fc_png_writer fc_png_writer;
fc_png_writer *fc_png_begin(const char *name, struct fc_output *output, const fc_picture *picture,
                            const struct fc_blob *chunks, GError **error);
/* The next dense rows; with the last the file is complete. */
gboolean fc_png_write(fc_png_writer *writer, const void *pixels, gint64 rows, GError **error);
/* NULL is allowed. */
void fc_png_free(fc_png_writer *writer);

G_END_DECLS

#endif
