/* SPDX-License-Identifier: MIT */
/*
 * image_check.c - BMP and TGA: that they are of a form that is decoded, and that the bytes of
 * all pixels are there. stb_image takes missing ones for zeros.
 */
#include <string.h>

#include "media/image/bmp_tga.h"

static gboolean is_one_of(guint32 value, const guint8 *set, gsize count) {
  return value < 256 && memchr(set, (int)value, count) != NULL;
}

static gboolean refuse(const char *name, const char *kind, const char *what, GError **error) {
  return fc_fail(error, FC_UNSUPPORTED, "%s: is a %s file %s, which is not decoded here; convert it to PNG",
                 name, kind, what);
}

/* ---- BMP --------------------------------------------------------------- */

/* Does each channel have bits of a pixel that adjoin, and that no other has? */
static gboolean are_masks(const fc_bmp *bmp) {
  guint32 taken = bmp->depth < 32 ? ~0u << bmp->depth : 0;
  for (gsize i = 0; i < G_N_ELEMENTS(bmp->masks); i++) {
    guint32 mask = bmp->masks[i], low = mask & (~mask + 1); /* its lowest bit */
    if ((mask & taken) || (mask & (mask + low))) return FALSE;
    taken |= mask;
  }
  return TRUE;
}

/* What of it is not decoded, or NULL. */
static const char *odd_in_bmp(const fc_bmp *bmp) {
  static const guint8 depths[] = {1, 4, 8, 16, 24, 32};
  if (bmp->coding == 1 || bmp->coding == 2) return "with run-length coding";
  if (bmp->coding != 0 && bmp->coding != 3) return "with an odd coding";
  if (!is_one_of(bmp->depth, depths, sizeof depths)) return "of an odd depth";
  if (bmp->coding == 3 && bmp->depth != 16 && bmp->depth != 32) return "with an odd coding";
  if (bmp->planes != 1) return "of several planes";
  for (gsize i = 0; i < G_N_ELEMENTS(bmp->masks); i++)
    if (__builtin_popcount(bmp->masks[i]) > 8) return "with more than 8 bits a channel";
  return bmp->coding == 3 && !are_masks(bmp) ? "with odd masks" : NULL;
}

gboolean fc_bmp_check(const char *name, const guint8 *file, gsize size, fc_image_check *check,
                      GError **error) {
  /* 64 is of OS/2 2.x, which counts codings in its own way. */
  static const guint8 versions[] = {FC_BMP_OLDEST, 40, 52, 56, 64, 108, 124};
  fc_bmp bmp;
  if (size < 2 || memcmp(file, "BM", 2) != 0) return fc_fail(error, FC_IO, "%s: is not a BMP file", name);
  guint32 version = size < FC_BMP_BEGIN + 4 ? versions[0] : fc_little(file + FC_BMP_BEGIN, 4);
  if (!is_one_of(version, versions, sizeof versions)) return refuse(name, "BMP", "of an odd version", error);
  if (!fc_bmp_read(file, size, &bmp)) return fc_fail(error, FC_IO, "%s: is cut off within its header", name);
  const char *odd = version == 64 && bmp.coding ? "with an odd coding" : odd_in_bmp(&bmp);
  if (odd) return refuse(name, "BMP", odd, error);
  if (bmp.width < 1 || bmp.height < 1) return fc_fail(error, FC_IO, "%s: holds no pixels", name);
  if (bmp.pixels_at < bmp.colours_at)
    return fc_fail(error, FC_IO, "%s: is damaged: its pixels begin within its header", name);
  if (bmp.depth <= 8 && !bmp.colours && size > bmp.pixels_at)
    return fc_fail(error, FC_IO, "%s: is damaged: it has no palette", name);
  check->width = bmp.width;
  check->height = bmp.height;
  /* The padding of the last row may be missing. */
  guint64 needed = bmp.row * (guint64)(bmp.height - 1) + ((guint64)bmp.width * bmp.depth + 7) / 8;
  check->cut = bmp.pixels_at > size || needed > size - bmp.pixels_at;
  return bmp.pixels_at < size || fc_fail(error, FC_IO, "%s: is cut off before its pixels", name);
}

/* ---- TGA --------------------------------------------------------------- */

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

/* A TGA file has no mark at its beginning, and the older ones none at all, so the header must make sense as
 * one. */
static gboolean is_tga(const guint8 *file, gsize size, const fc_tga *tga) {
  static const guint8 types[] = {1, 2, 3, 32, 33}, depths[] = {8, 15, 16, 24, 32};
  static const char mark[] = "TRUEVISION-XFILE."; /* and a zero */
  if (size >= FC_TGA_HEADER + sizeof mark && memcmp(file + size - sizeof mark, mark, sizeof mark) == 0)
    return TRUE;
  return tga->palette <= 1 && is_one_of(tga->type, types, sizeof types) &&
         is_one_of(tga->depth, depths, sizeof depths) && (tga->type != 1 || tga->palette) && tga->width > 0 &&
         tga->height > 0;
}

/* What of it is not decoded, or NULL. */
static const char *odd_in_tga(const fc_tga *tga) {
  static const guint8 depths[] = {8, 15, 16, 24, 32};
  gboolean mapped = tga->type == 1;
  if (tga->palette > 1) return "with an odd palette";
  if (tga->type > 3) return "with an odd coding";
  if (tga->interleaved) return "with interleaved rows";
  if (!is_one_of(tga->depth, depths, mapped ? 3 : sizeof depths) || (mapped && tga->depth == 15))
    return "of an odd depth";
  if (mapped && !is_one_of(tga->colour_bits, depths, sizeof depths)) return "with colours of an odd depth";
  /* One that begins at a later index may go beyond the most that there can be from 0. */
  if (mapped && tga->depth == 16 && tga->first + tga->colours > FC_TGA_COLOURS_MAX)
    return "with indexes of its palette beyond 65534";
  return NULL;
}

gboolean fc_tga_check(const char *name, const guint8 *file, gsize size, fc_image_check *check,
                      GError **error) {
  fc_tga tga;
  if (!fc_tga_read(file, size, &tga) || !is_tga(file, size, &tga))
    return fc_fail(error, FC_IO, "%s: is not a TGA file, nor of any other kind known here", name);
  if (!tga.type || !tga.width || !tga.height) return fc_fail(error, FC_IO, "%s: holds no pixels", name);
  if (tga.type == 1 && !(tga.palette && tga.colours))
    return fc_fail(error, FC_IO, "%s: is damaged: it has no palette", name);
  const char *odd = odd_in_tga(&tga);
  if (odd) return refuse(name, "TGA", odd, error);
  check->width = tga.width;
  check->height = tga.height;
  check->orientation = tga.from_right ? 2 : 1;
  guint bytes = (tga.depth + 7) / 8;
  guint64 pixels = (guint64)tga.width * (guint64)tga.height;
  if (tga.pixels_at >= size) return fc_fail(error, FC_IO, "%s: is cut off before its pixels", name);
  if (tga.runs)
    check->cut = !tga_runs_complete(file + tga.pixels_at, size - tga.pixels_at, pixels, bytes);
  else
    check->cut = pixels * bytes > size - tga.pixels_at;
  return TRUE;
}
