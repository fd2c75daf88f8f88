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

/* How segments of JPEG begin that hold XMP, or a piece of a profile. */
#define XMP_HEAD "http://ns.adobe.com/xap/1.0/\0"
#define ICC_HEAD "ICC_PROFILE\0"

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

G_END_DECLS

#endif
