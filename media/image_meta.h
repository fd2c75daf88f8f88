/* SPDX-License-Identifier: MIT */
/*
 * image_meta.h - what an image says beside its pixels, on its way into another: colour
 * profile, EXIF, XMP, texts, resolution.
 *
 * PNG to PNG and JPEG to JPEG goes byte for byte; profile and EXIF go from JPEG to PNG,
 * and EXIF from PNG to JPEG. The orientation is set to upright, as the pixels are.
 */
#ifndef FC_MEDIA_IMAGE_META_H
#define FC_MEDIA_IMAGE_META_H

#include "media/blob.h"
#include "media/image.h"

G_BEGIN_DECLS

typedef struct fc_image_meta fc_image_meta;

/* Of a file that has passed the first gate; NULL when there is no memory. `channels` of the image
 * tell what kind of profile fits it. */
fc_image_meta *fc_image_meta_read(const guint8 *file, gsize size, int channels);
fc_image_meta *fc_image_meta_ref(fc_image_meta *meta); /* NULL is allowed */
void fc_image_meta_unref(fc_image_meta *meta);         /* NULL is allowed */

/* What the sink of `source` may copy, with a reference; NULL when it is no image file. */
fc_image_meta *fc_image_source_meta(fc_source *source);

/* Appends chunks to stand between IHDR and IDAT, or segments to stand behind APP0. A colour
 * profile is left out when grey has become colour, or colour grey. */
void fc_image_meta_for_png(const fc_image_meta *meta, int channels, fc_blob *to);
void fc_image_meta_for_jpeg(const fc_image_meta *meta, int channels, fc_blob *to);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_image_meta, fc_image_meta_unref)

G_END_DECLS

#endif
