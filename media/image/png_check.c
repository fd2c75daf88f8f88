/* SPDX-License-Identifier: MIT */
/*
 * png_check.c - the structure of a PNG file: every chunk in bounds and with the right
 * checksum, which stb_image does not look at.
 */
#include "media/image/image.h"

#include <string.h>
#include <zlib.h>

#include "media/file/bytes.h"

#define SIGNATURE 8
#define HEADER    8 /* length and type */
#define CHUNK_MAX 0x7fffffffu

static gboolean is(const guint8 *chunk, const char *type) {
  return memcmp(chunk + 4, type, 4) == 0;
}

static gboolean fail_chunk(const char *name, const guint8 *file, gsize at, const char *what, GError **error) {
  g_autofree char *type = g_strndup((const char *)file + at + 4, 4);
  for (char *c = type; *c; c++)
    if (!g_ascii_isalpha(*c)) *c = '?';
  return fc_fail(error, FC_IO, "%s: chunk %s at byte %" G_GSIZE_FORMAT " %s", name, type, at, what);
}

static gboolean checksum_right(const guint8 *chunk, guint32 length) {
  return crc32(crc32(0, NULL, 0), chunk + 4, length + 4) == fc_big(chunk + HEADER + length, 4);
}

static gboolean look_at_header(const char *name, const guint8 *header, GError **error) {
  /* Bits a sample may have, a bit each, of grey, RGB, indexes, and the first two with alpha. */
  static const guint depths[] = {0x10116, 0, 0x10100, 0x116, 0x10100, 0, 0x10100};
  guint depth = header[8], type = header[9];
  if (type >= G_N_ELEMENTS(depths) || depth > 16 || !(depths[type] >> depth & 1))
    return fc_fail(error, FC_IO, "%s: is damaged: its header says %u bits of colour type %u", name, depth,
                   type);
  return (!header[10] && !header[11] && header[12] <= 1) ||
         fc_fail(error, FC_IO, "%s: is damaged: its header says compression %d, filters %d and interlace %d",
                 name, header[10], header[11], header[12]);
}

/* The case of a type's first letter is a bit that says that the chunk may be passed over. */
static gboolean is_known(const guint8 *chunk) {
  return (chunk[4] & 32) || is(chunk, "IHDR") || is(chunk, "PLTE") || is(chunk, "IDAT") || is(chunk, "IEND");
}

/* One whole chunk. */
static gboolean look_at(const char *name, const guint8 *file, gsize at, fc_image_check *check,
                        GError **error) {
  const guint8 *chunk = file + at;
  guint32 length = fc_big(chunk, 4);
  if (!checksum_right(chunk, length))
    return fail_chunk(name, file, at, "is damaged: its checksum is wrong", error);
  if (is(chunk, "CgBI"))
    return fc_fail(error, FC_UNSUPPORTED, "%s: is Apple's own kind of PNG (CgBI); convert it to a plain one",
                   name);
  if (at == SIGNATURE && (!is(chunk, "IHDR") || length != 13))
    return fail_chunk(name, file, at, "stands where the header should be", error);
  if (at != SIGNATURE && is(chunk, "IHDR")) return fail_chunk(name, file, at, "is a second header", error);
  if (!is_known(chunk))
    return fail_chunk(name, file, at, "is of a kind not known here, and says that it is needed", error);
  if (at == SIGNATURE) {
    if (!look_at_header(name, chunk + HEADER, error)) return FALSE;
    check->width = fc_big(chunk + HEADER, 4);
    check->height = fc_big(chunk + HEADER + 4, 4);
  }
  if (is(chunk, "eXIf") && !check->oriented) {
    check->orientation = fc_exif_orientation(chunk + HEADER, length);
    check->oriented = TRUE;
  }
  return TRUE;
}

gboolean fc_png_check(const char *name, const guint8 *file, gsize size, fc_image_check *check,
                      GError **error) {
  gsize at = SIGNATURE;
  gboolean data = FALSE;
  if (size < SIGNATURE || memcmp(file, "\x89PNG\r\n\x1a\n", SIGNATURE) != 0)
    return fc_fail(error, FC_IO, "%s: is not a PNG file", name);
  for (;;) {
    gsize left = size - MIN(at, size);
    guint32 length = left >= HEADER ? fc_big(file + at, 4) : 0;
    if (length > CHUNK_MAX) return fail_chunk(name, file, at, "has no sensible length", error);
    check->cut = left < HEADER + 4 || left - HEADER - 4 < length;
    data = data || (left > HEADER && length && is(file + at, "IDAT"));
    if (check->cut) break;
    if (!look_at(name, file, at, check, error)) return FALSE;
    if (is(file + at, "IEND")) break;
    at += HEADER + length + 4;
  }
  if (at == SIGNATURE) return fc_fail(error, FC_IO, "%s: is cut off before it says its size", name);
  return data || fc_fail(error, FC_IO, "%s: %s", name,
                         check->cut ? "is cut off before its image data" : "holds no image data");
}
