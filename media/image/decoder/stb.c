/* SPDX-License-Identifier: MIT */
/*
 * stb.c - stb_image: BMP and TGA, and in a build without libspng or libjpeg-turbo PNG and JPEG.
 *
 * The packaged version 2.27 has known holes in PNM, PSD, GIF and in the conversion of channels; none of them
 * is compiled or used. It reads colours beyond a palette from uninitialised variables: this file is compiled
 * so that these are zero (-ftrivial-auto-var-init), which makes such pixels black.
 */
#include "media/image/decoder/codec.h"

#include <stdlib.h>
#include <string.h>

/* A failed assertion ends the decoder: the parent sees a child that died. */
#define STBI_ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())
#define STBI_MALLOC(size)      calloc(1, size)
#define STBI_REALLOC           realloc
#define STBI_FREE              free

#ifndef FC_WITH_SPNG
#define STBI_ONLY_PNG
#endif
#ifndef FC_WITH_TURBOJPEG
#define STBI_ONLY_JPEG
#endif
#define STBI_ONLY_BMP
#define STBI_ONLY_TGA
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_MAX_DIMENSIONS FC_IMAGE_SIDE_MAX
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#pragma GCC diagnostic ignored "-Wunused-function" /* stb declares functions that are left out */
/* Coefficients of damaged JPEG files overflow there, which gives wrong pixels. */
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("shift", "signed-integer-overflow"))),               \
                             apply_to = function)
#endif
#include <stb_image.h>
#ifdef __clang__
#pragma clang attribute pop
#endif

#ifndef FC_WITH_SPNG
#include <zlib.h>

#include "media/file/bytes.h"

/* stb_image checks no checksums, and refuses truncated files. */
static fc_damage check_png(const guint8 *file, gsize size) {
  for (gsize at = 8; size - at >= 12;) {
    gsize length = fc_big(file + at, 4);
    if (length > size - at - 12) return FC_CUT_OFF;
    if (crc32(crc32(0, NULL, 0), file + at + 4, (uInt)length + 4) != fc_big(file + at + 8 + length, 4))
      return FC_CORRUPTED;
    if (memcmp(file + at + 4, "IEND", 4) == 0) return FC_UNDAMAGED;
    at += 12 + length;
  }
  return FC_CUT_OFF;
}
#else
static fc_damage check_png(const guint8 *file, gsize size) {
  return FC_UNDAMAGED;
}
#endif

gboolean fc_decode_stb(const fc_decode_task *task, fc_decode_report *report) {
  int width, height, channels, size = (int)task->size;
  const fc_damage damage = task->kind == FC_IMAGE_PNG ? check_png(task->file, task->size) : FC_UNDAMAGED;
  if (damage != FC_UNDAMAGED) return fc_decode_fail(report, damage, "a wrong checksum");
  if (!stbi_info_from_memory(task->file, size, &width, &height, &channels))
    return fc_decode_fail(report, FC_CORRUPTED, stbi_failure_reason());
  const int bits = stbi_is_16_bit_from_memory(task->file, size) ? 16 : 8;
  /* of a BMP from the top down the height is negative */
  if (!fc_decode_shape(task, report, width, ABS((gint64)height), channels, bits)) return FALSE;
  void *pixels = bits == 16
                     ? (void *)stbi_load_16_from_memory(task->file, size, &width, &height, &channels, 0)
                     : (void *)stbi_load_from_memory(task->file, size, &width, &height, &channels, 0);
  if (!pixels) return fc_decode_fail(report, FC_CORRUPTED, stbi_failure_reason());
  memcpy(task->pixels, pixels, (gsize)width * (gsize)height * (gsize)(channels * bits / 8));
  free(pixels);
  return TRUE;
}
