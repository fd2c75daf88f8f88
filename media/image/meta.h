/* SPDX-License-Identifier: MIT */
/*
 * meta.h - what an image says beside its pixels, as tags (media/file/tags.h), on its way into another.
 *
 * PNG to PNG and JPEG to JPEG chunks and segments go over byte for byte, but for what holds for the old
 * pixels alone. Between kinds of files go colour profile, EXIF, XMP, density and comment, where the other one
 * has a place for them. The orientation is set to upright, as the pixels are. What else there is, is named.
 */
#ifndef FC_MEDIA_META_H
#define FC_MEDIA_META_H

#include "media/file/tags.h"
#include "media/image/image.h"

G_BEGIN_DECLS

/* Of a file whose header was read. What no file takes is among the tags' lost. */
fc_tags *fc_image_tags_read(const guint8 *file, gsize size, const fc_image_header *header);

/* The image that a file is made of; and what the tags were of. */
typedef struct fc_meta_form {
  const char *format; /* "png" */
  int channels, dtype;
  int like_channels, like_dtype;
} fc_meta_form;

/* Metadata as a file of the format has them; their blobs are its own. Adds to `lost` the names of what is
 * left out. */
void fc_image_tags_write(const fc_tags *tags, const fc_meta_form *form, fc_encode_metadata *to,
                         GString *lost);

/* What a TIFF structure says of width and height, for a picture that was turned on its side (exif.c). */
void fc_exif_exchange_sides(guint8 *data, gsize size);

G_END_DECLS

#endif
