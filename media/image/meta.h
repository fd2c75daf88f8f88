/* SPDX-License-Identifier: MIT */
/*
 * meta.h - metadata of an image, as tags (media/file/tags.h), and in files that are written.
 *
 * PNG to PNG and JPEG to JPEG chunks and segments are copied byte for byte, except those that are valid for
 * the old pixels only. Between formats colour profile, EXIF, XMP, density and comment are copied, if the
 * other format supports them. The orientation is set to upright, as the pixels are. Everything else is named
 * in a warning.
 */
#ifndef FC_MEDIA_META_H
#define FC_MEDIA_META_H

#include "media/file/tags.h"
#include "media/image/image.h"

G_BEGIN_DECLS

/* For a file whose header was read. Metadata that no format supports are in the tags' `lost`. */
fc_tags *fc_image_tags_read(const guint8 *file, gsize size, const fc_image_header *header);

/* Texts that PNG and EXIF data have both. */
typedef struct fc_image_text {
  const char *keyword, *name; /* of PNG; of the tags */
  guint exif;                 /* the tag in EXIF data; 0: none */
} fc_image_text;

/* That of a text chunk of PNG, by its keyword, or NULL. */
const fc_image_text *fc_image_text_of(const guint8 *chunk, gsize size);
/* That of a name, or NULL. */
const fc_image_text *fc_image_text_named(const char *name);

/* The image that is written, and the properties that the tags were valid for. */
typedef struct fc_meta_form {
  const char *format; /* "png" */
  int channels, dtype;
  int like_channels, like_dtype;
} fc_meta_form;

/* Metadata in the form of a file format; it owns its blobs. Adds the names of what is left out to `lost`. */
void fc_image_tags_write(const fc_tags *tags, const fc_meta_form *form, fc_encode_metadata *to,
                         GString *lost);

/* EXIF data are a TIFF structure of their own (exif.c). */
gboolean fc_exif_is_valid(const guint8 *data, gsize size);
/* Exchanges width and height, for a picture that was rotated by 90 degrees. */
void fc_exif_exchange_sides(guint8 *data, gsize size);
/* The texts of a TIFF file and its EXIF and GPS directories; nothing where there are none. FALSE, and
 * nothing, when they are larger than the file. */
gboolean fc_exif_of_tiff(const guint8 *file, gsize size, fc_blob *to);
#define FC_TIFF_ICC 34675
/* Names the fields of a TIFF file that go nowhere: of those that are registered or private. */
void fc_tiff_name_others(const guint8 *file, gsize size, fc_tags *tags);
/* Adds a text of the first directory, unless there is one of that tag. */
void fc_exif_add_text(fc_blob *exif, guint tag, const char *text);
/* For a TIFF file that begins with these EXIF data, but with a header of its own: makes a first directory
 * that has the fields of both, which is to follow the file, and sets the header so. Nothing without such
 * data. */
void fc_exif_into_tiff(guint8 *file, gsize size, const fc_blob *exif, fc_blob *to);

G_END_DECLS

#endif
