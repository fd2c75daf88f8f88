/* SPDX-License-Identifier: MIT */
/* webp.c - still WebP, lossy and lossless, by libwebp. */
#include <webp/decode.h>

#include "media/image/decoder/codec.h"

/* For a truncated file, decodes the available rows. */
static VP8StatusCode decode_partly(const fc_decode_task *task, gsize row, gboolean alpha) {
  WebPIDecoder *decoder = WebPINewRGB(alpha ? MODE_RGBA : MODE_RGB, task->pixels, task->room, (int)row);
  if (!decoder) return VP8_STATUS_OUT_OF_MEMORY;
  VP8StatusCode status = WebPIAppend(decoder, task->file, task->size);
  WebPIDelete(decoder);
  return status;
}

static gboolean fail(fc_decode_report *report, VP8StatusCode status) {
  switch (status) {
  case VP8_STATUS_NOT_ENOUGH_DATA:
  case VP8_STATUS_SUSPENDED: return fc_decode_fail(report, FC_CUT_OFF, "its data end early");
  case VP8_STATUS_OUT_OF_MEMORY: return fc_decode_fail(report, FC_CORRUPTED, "out of memory");
  case VP8_STATUS_UNSUPPORTED_FEATURE:
    return fc_decode_fail(report, FC_CORRUPTED, "it has an unsupported feature");
  default: return fc_decode_fail(report, FC_CORRUPTED, "its data make no sense");
  }
}

gboolean fc_decode_webp(const fc_decode_task *task, fc_decode_report *report) {
  WebPBitstreamFeatures features;
  VP8StatusCode status = WebPGetFeatures(task->file, task->size, &features);
  if (status != VP8_STATUS_OK) return fail(report, status);
  const gboolean alpha = features.has_alpha != 0;
  const gsize row = (gsize)features.width * (alpha ? 4 : 3);
  if (!fc_decode_shape(task, report, features.width, features.height, alpha ? 4 : 3, 8)) return FALSE;
  if (alpha ? WebPDecodeRGBAInto(task->file, task->size, task->pixels, task->room, (int)row) != NULL
            : WebPDecodeRGBInto(task->file, task->size, task->pixels, task->room, (int)row) != NULL)
    return TRUE;
  status = decode_partly(task, row, alpha); /* which also gives the error */
  if (status == VP8_STATUS_OK) return TRUE;
  fail(report, status);
  return task->lenient && status == VP8_STATUS_SUSPENDED;
}
