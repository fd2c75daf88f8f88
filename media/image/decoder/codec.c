/* SPDX-License-Identifier: MIT */
/* codec.c - see codec.h: the table of decoders, and their common code. */
#include "media/image/decoder/codec.h"

#include <stddef.h>
#include <string.h>

/* `pixel`: heap bytes for each pixel. PNG keeps a few rows; progressive JPEG the coefficients of three
 * components, 2 bytes each, padded to blocks; lossless WebP the image as ARGB and its transforms; TIFF a
 * strip, which may be the whole image, and a copy as RGBA; stb_image up to three pictures of 8 bytes a pixel.
 */
static const struct {
  fc_decode_fn *decode;
  gsize pixel, file;
} codecs[] = {
#ifdef FC_WITH_SPNG
    [FC_IMAGE_PNG] = {fc_decode_png, 0, 1},
#else
    [FC_IMAGE_PNG] = {fc_decode_stb, 28, 2},
#endif
#ifdef FC_WITH_TURBOJPEG
    [FC_IMAGE_JPEG] = {fc_decode_jpeg, 8, 0},
#else
    [FC_IMAGE_JPEG] = {fc_decode_stb, 28, 2},
#endif
#ifdef FC_WITH_WEBP
    [FC_IMAGE_WEBP] = {fc_decode_webp, 16, 1},
#endif
#ifdef FC_WITH_TIFF
    [FC_IMAGE_TIFF] = {fc_decode_tiff, FC_TIFF_HEAP, 1},
#endif
    [FC_IMAGE_BMP] = {fc_decode_stb, 8, 0},
    [FC_IMAGE_TGA] = {fc_decode_stb, 8, 0},
};

gsize fc_decode_heap(fc_image_kind kind, gsize pixels, gsize file_size) {
  return ((gsize)16 << 20) + codecs[kind].pixel * pixels + codecs[kind].file * file_size;
}

gboolean fc_decode_fail(fc_decode_report *report, fc_damage damage, const char *reason) {
  gsize length = strlen(reason);
  if (length >= sizeof report->reason) length = sizeof report->reason - 1;
  memcpy(report->reason, reason, length);
  report->reason[length] = 0;
  report->damage = (gint32)damage;
  return FALSE;
}

gboolean fc_decode_shape(const fc_decode_task *task, fc_decode_report *report, gint64 width, gint64 height,
                         int channels, int bits) {
  gint64 scale = task->scale;
  if (width != (task->width + scale - 1) / scale || height != (task->height + scale - 1) / scale)
    return fc_decode_fail(report, FC_CORRUPTED, "its header and its content differ");
  report->width = (gint32)width, report->height = (gint32)height;
  report->channels = channels, report->bits = bits;
  guint64 bytes = (guint64)width * (guint64)height * (guint64)channels * (guint64)(bits / 8);
  return bytes <= task->room || fc_decode_fail(report, FC_CORRUPTED, "it holds more than its header says");
}

void fc_decode(const fc_decode_task *task, fc_decode_report *report) {
  fc_decode_fn *decode = (guint)task->kind < G_N_ELEMENTS(codecs) ? codecs[task->kind].decode : NULL;
  report->decoded = decode ? decode(task, report)
                           : fc_decode_fail(report, FC_CORRUPTED, "this build has no decoder for it");
}
