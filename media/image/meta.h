/* SPDX-License-Identifier: MIT */
/*
 * image_meta.h - what an image says beside its pixels, on its way into another: colour
 * profile, EXIF, XMP, comments, resolution.
 *
 * PNG to PNG and JPEG to JPEG goes byte for byte, with chunks and segments that nobody here has heard of, but
 * for chunks that say of themselves that they do not hold for other pixels, and for the resolution, which
 * goes into PNG, JPEG and BMP; between PNG and JPEG (and from a BMP file) go profile, EXIF, XMP and comments.
 * What else there is, is told by name. The orientation is set to upright, as the pixels are.
 */
#ifndef FC_MEDIA_IMAGE_META_H
#define FC_MEDIA_IMAGE_META_H

#include "media/file/blob.h"
#include "media/image/image.h"

G_BEGIN_DECLS

typedef struct fc_image_meta fc_image_meta;

/* Of a file whose header was read, which told the orientation; NULL when there is no memory. */
fc_image_meta *fc_image_meta_read(const guint8 *file, gsize size, int orientation);
fc_image_meta *fc_image_meta_ref(fc_image_meta *meta); /* NULL is allowed */
void fc_image_meta_unref(fc_image_meta *meta);         /* NULL is allowed */

/* What the sink of `source` may copy, with a reference; NULL when it is no image file. */
fc_image_meta *fc_image_source_meta(fc_source *source);

/* Appends chunks to stand between IHDR and IDAT, or segments to stand behind APP0, and to `lost` the names of
 * what is left out. A colour profile is, when grey has become colour, or colour grey. */
void fc_image_meta_for_png(const fc_image_meta *meta, int channels, int bits, fc_blob *to, GString *lost);
void fc_image_meta_for_jpeg(const fc_image_meta *meta, int channels, fc_blob *to, GString *lost);
/* What BMP, which keeps the density, and TGA have no place for. */
void fc_image_meta_for_neither(const fc_image_meta *meta, gboolean keeps_density, GString *lost);

/* ---- resolution -------------------------------------------------------- */

/* Pixels a metre, or else only their ratio; 0: not said. */
typedef struct fc_density {
  guint32 x, y;
  gboolean metres;
} fc_density;

fc_density fc_image_meta_density(const fc_image_meta *meta);
/* The unit, and both densities with the high byte first, as a JFIF segment says them; FALSE when it cannot.
 */
gboolean fc_density_for_jpeg(const fc_density *density, guint8 to[5]);
/* As each format has it. */
void fc_image_meta_density_for(const fc_image_meta *meta, fc_encode_metadata *to);

/* ---- the parts (image_meta.c, image_carry.c) ------------------------------ */

typedef enum fc_image_family { FC_IMAGES_OTHER, FC_IMAGES_PNG, FC_IMAGES_JPEG } fc_image_family;

struct fc_image_meta {
  gatomicrefcount references;
  fc_image_family family;
  gboolean grey, turned;
  int depth; /* bits of a PNG file's samples; 0: of another one, or of a palette */
  fc_density density;
  fc_blob exif; /* a TIFF structure */
  fc_blob icc;  /* the profile of a BMP file */
  /* Chunks or segments, whole and in bounds, that a file of the same family takes as they are; those with
   * the profile apart. */
  fc_blob pieces, profile;
  fc_blob background; /* such a chunk, which holds for samples of the same kind */
  GString *lost;      /* names of what no file takes */
};

/* What XMP in a JPEG file begins with, and what pieces of more of it do. */
#define FC_XMP     "http://ns.adobe.com/xap/1.0/\0"
#define FC_XMP_ALL "http://ns.adobe.com/xmp/extension/\0"

gboolean fc_image_begins(const guint8 *body, gsize size, const char *with, gsize with_size);
/* Of four letters, in a row of such. */
gboolean fc_image_is_one_of(const guint8 *type, const char *types);
/* The type of a chunk is a name as well. */
void fc_image_add_type(GString *lost, const guint8 *type);

/* What a TIFF structure says of width and height, for a picture that was turned on its side (image_exif.c).
 */
void fc_exif_exchange_sides(guint8 *data, gsize size);

/* The content of such pieces, whatever the family. */
typedef struct fc_image_words {
  fc_blob icc, xmp, comment;
  gsize unpacked; /* bytes so far, good or not */
} fc_image_words;

void fc_image_words_of(const fc_image_meta *meta, fc_image_words *words, GString *lost);
void fc_image_words_clear(fc_image_words *words);

/* The next of the pieces from `*at` on, which is moved behind it: its content, and the chunk's type or
 * the segment's marker; NULL at the end. */
const guint8 *fc_image_next_chunk(const fc_blob *pieces, gsize *at, const guint8 **type, gsize *size);
const guint8 *fc_image_next_segment(const fc_blob *pieces, gsize *at, int *marker, gsize *size);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_image_meta, fc_image_meta_unref)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(fc_image_words, fc_image_words_clear)

G_END_DECLS

#endif
