/* SPDX-License-Identifier: MIT */
/*
 * bmp_tga.h - BMP and TGA: what their headers say, read once for both gates (image.h), and
 * copies of such files in the form that stb_image reads rightly.
 *
 * Of the forms that headers and palettes come in stb_image reads some wrongly: colours that
 * a palette lacks are whatever its stack held, palettes behind the oldest header of BMP lose
 * four, pixels may not begin late, and the first index of a TGA file's palette is taken for
 * a number of bytes. So it gets a header of ours, a palette that is complete, and the pixels
 * of the file.
 *
 * Without GLib's library: the decoder's helper is linked without it.
 */
#ifndef FC_MEDIA_BMP_TGA_H
#define FC_MEDIA_BMP_TGA_H

#include "media/file/bytes.h"
#include "media/image/image.h"

G_BEGIN_DECLS

/* Bytes of the header of a BMP file that stand before the one whose size tells the version. */
#define FC_BMP_BEGIN 14
/* The version of OS/2 1.x: sizes of 16 bits, colours of three bytes. */
#define FC_BMP_OLDEST 12

typedef struct fc_bmp {
  gint64 width, height;
  gboolean from_top;
  guint planes, depth; /* bits a pixel */
  guint32 coding;      /* 0: none; 3: by the masks of red, green, blue and alpha */
  guint32 masks[4];
  gsize colours_at, colour_size;
  guint colours; /* that there are, in the file and ahead of the pixels, of the 2^depth */
  gsize pixels_at;
  guint64 row; /* bytes, with padding */
} fc_bmp;

/* FALSE: the file ends within its header. All else that it says is taken as it is. */
gboolean fc_bmp_read(const guint8 *file, gsize size, fc_bmp *bmp);

#define FC_TGA_HEADER 18

typedef struct fc_tga {
  gint64 width, height;
  guint type;    /* 1 by palette, 2 RGB, 3 grey; others there are */
  gboolean runs; /* run-length coded */
  guint depth;   /* bits a pixel */
  guint palette; /* 0: there is none */
  gboolean from_right, from_top;
  guint interleaved;
  guint first, colours, colour_bits; /* its first index, how many, and of how many bits */
  gsize colours_at, pixels_at;
} fc_tga;

/* The most indexes that stb_image knows colours for. */
#define FC_TGA_COLOURS_MAX 65535

/* FALSE: the file ends within its header. */
gboolean fc_tga_read(const guint8 *file, gsize size, fc_tga *tga);

/* Copies that say the same of pixels that are the same, less what is missing; NULL where there is no memory.
 * Rows of a TGA file are still to be mirrored. Called in the decoder's child. */
const guint8 *fc_bmp_mend(const guint8 *file, gsize size, fc_arena_alloc alloc, gsize *mended);
const guint8 *fc_tga_mend(const guint8 *file, gsize size, fc_arena_alloc alloc, gsize *mended);

G_END_DECLS

#endif
