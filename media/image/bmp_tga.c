/* SPDX-License-Identifier: MIT */
/* bmp_tga.c - see bmp_tga.h. */
#include "media/image/bmp_tga.h"

#include <string.h>

static void put(guint8 *to, guint64 value, int bytes) {
  for (int i = 0; i < bytes; i++) to[i] = (guint8)(value >> 8 * i);
}

/* How many of `count` things lie between these places. */
static gsize fitting(gsize at, gsize end, gsize count, gsize each) {
  return at < end ? MIN(count, (end - at) / each) : 0;
}

/* A copy that begins with so many zeros, for a header and a palette, and goes on with what is there of
 * `pixels` bytes from a place in the file. `whole`: zeros are in place of those that are not there, for of a
 * row that ends early stb_image takes nothing. */
static guint8 *begin(const guint8 *file, gsize size, gsize pixels_at, guint64 pixels, gboolean whole,
                     gsize zeros, fc_arena_alloc alloc, gsize *mended) {
  gsize there = fitting(pixels_at, size, pixels > size ? size : (gsize)pixels, 1);
  guint64 all = whole ? pixels : there;
  if (all > G_MAXINT32 - zeros) return NULL; /* stb_image counts in an int */
  guint8 *to = alloc(zeros + (gsize)all);
  if (!to) return NULL;
  memset(to, 0, zeros);
  if (there) memcpy(to + zeros, file + pixels_at, there);
  memset(to + zeros + there, 0, (gsize)all - there);
  *mended = zeros + (gsize)all;
  return to;
}

/* ---- BMP --------------------------------------------------------------- */

#define BMP_MASKS 54  /* in all versions that have them */
#define BMP_MADE  108 /* the version made here, which has a mask of alpha */

static void read_oldest(const guint8 *file, fc_bmp *bmp) {
  bmp->width = fc_little(file + 18, 2);
  bmp->height = fc_little(file + 20, 2);
  bmp->planes = fc_little(file + 22, 2);
  bmp->depth = fc_little(file + 24, 2);
  bmp->colour_size = 3;
}

/* Returns how many colours there are said to be. */
static guint32 read_newer(const guint8 *file, fc_bmp *bmp) {
  gint64 height = (gint32)fc_little(file + 22, 4);
  bmp->width = (gint32)fc_little(file + 18, 4);
  bmp->height = ABS(height);
  bmp->from_top = height < 0;
  bmp->planes = fc_little(file + 26, 2);
  bmp->depth = fc_little(file + 28, 2);
  bmp->coding = fc_little(file + 30, 4);
  bmp->colour_size = 4;
  return fc_little(file + 46, 4);
}

gboolean fc_bmp_read(const guint8 *file, gsize size, fc_bmp *bmp) {
  if (size < FC_BMP_BEGIN + 4) return FALSE;
  gsize version = fc_little(file + FC_BMP_BEGIN, 4), said = 0;
  if (size - FC_BMP_BEGIN < version || (version < 40 && version != FC_BMP_OLDEST)) return FALSE;
  *bmp = (fc_bmp){.pixels_at = fc_little(file + 10, 4), .colours_at = FC_BMP_BEGIN + version};
  if (version == FC_BMP_OLDEST)
    read_oldest(file, bmp);
  else
    said = read_newer(file, bmp);
  if (bmp->coding == 3) {
    gsize masks = version == 40 ? 12 : version - 40, most = G_N_ELEMENTS(bmp->masks);
    if (version == 40) bmp->colours_at += masks;
    if (size < bmp->colours_at) return FALSE;
    for (gsize i = 0; i < MIN(masks / 4, most); i++) bmp->masks[i] = fc_little(file + BMP_MASKS + 4 * i, 4);
  }
  if (bmp->depth <= 8) {
    gsize most = (gsize)1 << bmp->depth, wanted = said ? MIN(said, most) : most;
    bmp->colours = (guint)fitting(bmp->colours_at, MIN(bmp->pixels_at, size), wanted, bmp->colour_size);
  }
  bmp->row = ((guint64)MAX(bmp->width, 0) * bmp->depth + 31) / 32 * 4;
  return TRUE;
}

const guint8 *fc_bmp_mend(const guint8 *file, gsize size, fc_arena_alloc alloc, gsize *mended) {
  fc_bmp bmp;
  if (!fc_bmp_read(file, size, &bmp)) return NULL;
  gsize header = FC_BMP_BEGIN + BMP_MADE, start = header + (bmp.depth <= 8 ? (gsize)4 << bmp.depth : 0);
  guint8 *to = begin(file, size, bmp.pixels_at, bmp.row * (guint64)bmp.height, TRUE, start, alloc, mended);
  if (!to) return NULL;
  memcpy(to, "BM", 2);
  put(to + 10, start, 4);
  put(to + FC_BMP_BEGIN, BMP_MADE, 4);
  put(to + 18, (guint64)bmp.width, 4);
  put(to + 22, (guint64)(bmp.from_top ? -bmp.height : bmp.height), 4);
  put(to + 26, bmp.planes, 2);
  put(to + 28, bmp.depth, 2);
  put(to + 30, bmp.coding, 4);
  for (gsize i = 0; i < G_N_ELEMENTS(bmp.masks); i++) put(to + BMP_MASKS + 4 * i, bmp.masks[i], 4);
  for (gsize i = 0; i < bmp.colours; i++)
    memcpy(to + header + 4 * i, file + bmp.colours_at + bmp.colour_size * i, 3);
  return to;
}

/* ---- TGA --------------------------------------------------------------- */

static gsize bytes_of(guint bits) {
  return (bits + 7) / 8;
}

gboolean fc_tga_read(const guint8 *file, gsize size, fc_tga *tga) {
  if (size < FC_TGA_HEADER) return FALSE;
  *tga = (fc_tga){.type = file[2] & ~8u,
                  .runs = (file[2] & 8) != 0,
                  .palette = file[1],
                  .first = fc_little(file + 3, 2),
                  .colours = fc_little(file + 5, 2),
                  .colour_bits = file[7],
                  .width = fc_little(file + 12, 2),
                  .height = fc_little(file + 14, 2),
                  .depth = file[16],
                  .from_right = (file[17] & 0x10) != 0,
                  .from_top = (file[17] & 0x20) != 0,
                  .interleaved = file[17] >> 6,
                  .colours_at = FC_TGA_HEADER + (gsize)file[0]};
  tga->pixels_at = tga->colours_at + (tga->palette ? tga->colours * bytes_of(tga->colour_bits) : 0);
  return TRUE;
}

const guint8 *fc_tga_mend(const guint8 *file, gsize size, fc_arena_alloc alloc, gsize *mended) {
  fc_tga tga;
  if (!fc_tga_read(file, size, &tga)) return NULL;
  /* RGB may have a palette that is not for its pixels. */
  gsize colours = tga.type != 1 ? 0 : tga.depth == 8 ? 256 : FC_TGA_COLOURS_MAX;
  gsize each = bytes_of(tga.colour_bits), start = FC_TGA_HEADER + colours * each;
  /* A run of one pixel takes a byte more than the pixel. */
  guint64 most = (guint64)tga.width * (guint64)tga.height * (bytes_of(tga.depth) + (tga.runs ? 1 : 0));
  guint8 *to = begin(file, size, tga.pixels_at, most, !tga.runs, start, alloc, mended);
  if (!to) return NULL;
  to[1] = colours > 0;
  to[2] = (guint8)(tga.type | (tga.runs ? 8 : 0));
  put(to + 5, colours, 2);
  to[7] = colours ? (guint8)tga.colour_bits : 0;
  put(to + 12, (guint64)tga.width, 2);
  put(to + 14, (guint64)tga.height, 2);
  to[16] = (guint8)tga.depth;
  to[17] = tga.from_top ? 0x20 : 0;
  if (tga.first < colours && each) {
    gsize count = fitting(tga.colours_at, size, MIN(tga.colours, colours - tga.first), each);
    memcpy(to + FC_TGA_HEADER + tga.first * each, file + tga.colours_at, count * each);
  }
  return to;
}
