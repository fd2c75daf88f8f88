/* SPDX-License-Identifier: MIT */
/*
 * image_check.c - BMP and TGA: that the bytes of all pixels are there. stb_image takes
 * missing ones for zeros.
 */
#include "media/image.h"

#include <string.h>

static guint32 little(const guint8 *at, int bytes) {
  guint32 value = 0;
  for (int i = 0; i < bytes; i++) value |= (guint32)at[i] << 8 * i;
  return value;
}

/* ---- BMP --------------------------------------------------------------- */

static gboolean is_one_of(guint32 value, const guint8 *set, gsize count) {
  return value < 256 && memchr(set, (int)value, count) != NULL;
}

static gboolean refuse_bmp(const char *name, const char *what, GError **error) {
  return fc_fail(error, FC_UNSUPPORTED, "%s: is a BMP file %s, which is not decoded here; convert it to PNG",
                 name, what);
}

gboolean fc_bmp_check(const char *name, const guint8 *file, gsize size, fc_image_check *check,
                      GError **error) {
  static const guint8 depths[] = {1, 4, 8, 16, 24, 32}, headers[] = {12, 40, 56, 108, 124};
  if (size < 30) return fc_fail(error, FC_IO, "%s: is cut off within its header", name);
  guint32 pixels_at = little(file + 10, 4), header = little(file + 14, 4);
  if (!is_one_of(header, headers, sizeof headers)) return refuse_bmp(name, "of an odd version", error);
  gboolean old = header == 12;
  if (size < 14 + (gsize)header) return fc_fail(error, FC_IO, "%s: is cut off within its header", name);
  check->width = old ? (gint64)little(file + 18, 2) : (gint32)little(file + 18, 4);
  check->height = old ? (gint64)little(file + 20, 2) : ABS((gint64)(gint32)little(file + 22, 4));
  guint32 depth = little(file + (old ? 24 : 28), 2), coding = old ? 0 : little(file + 30, 4);
  if (coding == 1 || coding == 2) return refuse_bmp(name, "with run-length coding", error);
  if (coding != 0 && coding != 3) return refuse_bmp(name, "with an odd coding", error);
  if (!is_one_of(depth, depths, sizeof depths)) return refuse_bmp(name, "of an odd depth", error);
  if (check->width < 1 || check->height < 1) return fc_fail(error, FC_IO, "%s: holds no pixels", name);
  guint64 row = ((guint64)check->width * depth + 31) / 32 * 4;
  /* The padding of the last row may be missing. */
  guint64 needed = row * (guint64)(check->height - 1) + ((guint64)check->width * depth + 7) / 8;
  check->cut = pixels_at > size || needed > size - pixels_at;
  return TRUE;
}

/* ---- TGA --------------------------------------------------------------- */

#define TGA_HEADER 18

/* Does a run-length coded image reach its last pixel? */
static gboolean tga_runs_complete(const guint8 *at, gsize left, guint64 pixels, guint bytes) {
  while (pixels) {
    if (left < 1) return FALSE;
    guint64 run = (at[0] & 127u) + 1;
    gsize packet = 1 + (gsize)bytes * (at[0] & 128 ? 1 : (gsize)run);
    if (left < packet) return FALSE;
    at += packet;
    left -= packet;
    pixels -= MIN(run, pixels);
  }
  return TRUE;
}

/* A TGA file has no mark, so the header must make sense as one. */
static gboolean tga_makes_sense(const guint8 *file, gsize size) {
  static const guint8 depths[] = {8, 15, 16, 24, 32};
  if (size < TGA_HEADER || file[1] > 1) return FALSE;
  int type = file[2] & ~8, depth = file[16];
  gboolean mapped = type == 1;
  if (type < 1 || type > 3 || (file[2] & ~11) || mapped != (file[1] == 1)) return FALSE;
  if (!memchr(depths, depth, sizeof depths) || (mapped && !memchr(depths, file[7], sizeof depths)))
    return FALSE;
  return little(file + 12, 2) > 0 && little(file + 14, 2) > 0 && !(file[17] & 0xc0);
}

gboolean fc_tga_check(const char *name, const guint8 *file, gsize size, fc_image_check *check,
                      GError **error) {
  if (!tga_makes_sense(file, size))
    return fc_fail(error, FC_IO, "%s: is not a TGA file, nor of any other kind known here", name);
  check->width = little(file + 12, 2);
  check->height = little(file + 14, 2);
  guint bytes = (file[16] + 7u) / 8;
  gsize map = file[1] ? (gsize)little(file + 5, 2) * ((file[7] + 7u) / 8) : 0;
  gsize at = TGA_HEADER + file[0] + map;
  guint64 pixels = (guint64)check->width * (guint64)check->height;
  if (at > size)
    check->cut = TRUE;
  else if (file[2] & 8)
    check->cut = !tga_runs_complete(file + at, size - at, pixels, bytes);
  else
    check->cut = pixels * bytes > size - at;
  return TRUE;
}
