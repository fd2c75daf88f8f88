/* SPDX-License-Identifier: MIT */
/*
 * png_out.c - PNG of 8 and 16 bits, after RFC 2083, with zlib. (stb_image_write writes 8 bits only,
 * compresses worse, and does not check writes.)
 *
 * Each row is filtered by the one of the five filters whose result has the smallest sum of magnitudes, the
 * specification's own advice. zlib then looks for runs only: on a 12 megapixel photograph that took 0.45 s
 * for 18.7 MB where its default took 1.8 s for 20.9 MB; drawings become 1.5 times as large as with the
 * default.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "media/file/blob.h"
#include "media/file/bytes.h"
#include "media/image/image.h"
#include "media/file/output.h"

#define BLOCK   ((gsize)64 << 10) /* of an IDAT chunk */
#define FILTERS 5
#define LEFT    8 /* zeros before a row: the pixel left of the first */

struct fc_png_writer {
  const char *name;
  fc_output *output;
  z_stream zip;
  gboolean zipping; /* zip must be ended */
  int dtype;
  gint64 y, height;       /* the next row, and the number of rows */
  guint8 *memory;         /* owner of the following */
  guint8 *block;          /* the current IDAT chunk */
  guint8 *rows[2];        /* this row in the file's format, and the one above */
  guint8 *tried[FILTERS]; /* this row, filtered; the filter's number first */
  gsize row_bytes, pixel_bytes;
};

static gboolean write_chunk(fc_output *output, const char *type, const guint8 *data, gsize size,
                            GError **error) {
  guint8 head[8], tail[4];
  fc_put_big(head, size, 4);
  memcpy(head + 4, type, 4);
  uLong sum = crc32(crc32(0, NULL, 0), head + 4, 4);
  if (size) sum = crc32(sum, data, (uInt)size);
  fc_put_big(tail, sum, 4);
  return fc_output_write(output, head, sizeof head, error) && fc_output_write(output, data, size, error) &&
         fc_output_write(output, tail, sizeof tail, error);
}

static gboolean write_start(fc_png_writer *png, const fc_picture *picture, GError **error) {
  static const guint8 colour[] = {0, 0, 4, 2, 6}; /* by number of channels */
  guint8 header[13];
  fc_put_big(header, picture->width, 4);
  fc_put_big(header + 4, picture->height, 4);
  header[8] = picture->dtype == FC_U16 ? 16 : 8;
  header[9] = colour[picture->channels];
  header[10] = header[11] = header[12] = 0;
  return fc_output_write(png->output, "\x89PNG\r\n\x1a\n", 8, error) &&
         write_chunk(png->output, "IHDR", header, sizeof header, error);
}

/* ---- filters ----------------------------------------------------------- */

static guint8 paeth(int left, int up, int corner) {
  int guess = left + up - corner;
  int by_left = abs(guess - left), by_up = abs(guess - up), by_corner = abs(guess - corner);
  if (by_left <= by_up && by_left <= by_corner) return (guint8)left;
  return (guint8)(by_up <= by_corner ? up : corner);
}

/* Each filter has its own loop, which can be vectorised; the first pixel has no left neighbour. */
#define FILTER(name, guess)                                                                                  \
  static void name(guint8 *to, const guint8 *row, const guint8 *above, gsize back, gsize count) {            \
    for (gsize i = 0; i < count; i++) {                                                                      \
      int left = row[(gssize)i - (gssize)back], up = above[i], corner = above[(gssize)i - (gssize)back];     \
      (void)left, (void)up, (void)corner;                                                                    \
      to[i] = (guint8)(row[i] - (guess));                                                                    \
    }                                                                                                        \
  }
FILTER(by_nothing, 0)
FILTER(by_left, left)
FILTER(by_up, up)
FILTER(by_average, (left + up) / 2)
FILTER(by_paeth, paeth(left, up, corner))

/* The row filtered by `filter`; returns its sum of magnitudes. */
static guint64 filter_row(const fc_png_writer *png, int filter, const guint8 *row, const guint8 *above) {
  static void (*const filters[FILTERS])(guint8 *, const guint8 *, const guint8 *, gsize,
                                        gsize) = {by_nothing, by_left, by_up, by_average, by_paeth};
  guint8 *to = png->tried[filter] + 1;
  filters[filter](to, row, above, png->pixel_bytes, png->row_bytes);
  guint64 sum = 0;
  for (gsize i = 0; i < png->row_bytes; i++) sum += (guint64)abs((gint8)to[i]);
  return sum;
}

static const guint8 *best_filter(const fc_png_writer *png, const guint8 *row, const guint8 *above) {
  int best = 0;
  guint64 least = G_MAXUINT64;
  for (int filter = 0; filter < FILTERS; filter++) {
    guint64 sum = filter_row(png, filter, row, above);
    if (sum < least) least = sum, best = filter;
  }
  return png->tried[best];
}

/* ---- rows -------------------------------------------------------------- */

/* PNG is big-endian. */
static void take_row(guint8 *to, const guint8 *from, gsize bytes, int dtype) {
  if (dtype == FC_U8) {
    memcpy(to, from, bytes);
    return;
  }
  for (gsize i = 0; i < bytes / 2; i++) {
    guint16 value;
    memcpy(&value, from + 2 * i, 2);
    to[2 * i] = (guint8)(value >> 8);
    to[2 * i + 1] = (guint8)value;
  }
}

/* Feeds the data in zip.next_in, writing a chunk whenever one is full. */
static gboolean deflate_on(fc_png_writer *png, int flush, GError **error) {
  for (;;) {
    int state = deflate(&png->zip, flush);
    gboolean ended = state == Z_STREAM_END, full = png->zip.avail_out == 0;
    if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
      return fc_fail(error, FC_FATAL, "%s: cannot be compressed", png->name);
    if (full || ended) {
      if (!write_chunk(png->output, "IDAT", png->block, BLOCK - png->zip.avail_out, error)) return FALSE;
      png->zip.next_out = png->block;
      png->zip.avail_out = BLOCK;
    }
    if (ended || (!full && flush == Z_NO_FLUSH)) return TRUE;
  }
}

/* ---- from beginning to end --------------------------------------------- */

/* One piece of memory for the rows, the filtered rows and the chunk. */
static gboolean lay_out(fc_png_writer *png) {
  gsize row = png->row_bytes + 1;
  guint8 *memory = png->memory = g_try_malloc0(BLOCK + 2 * LEFT + (2 + FILTERS) * row);
  if (!memory) return FALSE;
  png->block = memory;
  for (int i = 0; i < 2; i++) png->rows[i] = memory + BLOCK + (gsize)i * row + LEFT * (gsize)(i + 1);
  for (int i = 0; i < FILTERS; i++) {
    png->tried[i] = memory + BLOCK + 2 * LEFT + (2 + (gsize)i) * row;
    png->tried[i][0] = (guint8)i;
  }
  return TRUE;
}

fc_png_writer *fc_png_begin(const char *name, fc_output *output, const fc_picture *picture, int level,
                            const fc_blob *chunks, GError **error) {
  fc_png_writer *png = g_new0(fc_png_writer, 1);
  png->name = name, png->output = output;
  png->dtype = picture->dtype, png->height = picture->height;
  png->pixel_bytes = (gsize)picture->channels * fc_dtype_size(picture->dtype);
  png->row_bytes = (gsize)picture->width * png->pixel_bytes;
  png->zipping = lay_out(png) && deflateInit2(&png->zip, level, Z_DEFLATED, 15, 9, Z_RLE) == Z_OK;
  png->zip.next_out = png->block;
  png->zip.avail_out = BLOCK;
  gboolean begun = png->zipping ? write_start(png, picture, error) &&
                                      fc_output_write(output, chunks->data, chunks->size, error)
                                : fc_fail(error, FC_NO_MEMORY, "%s: no memory to compress it", name);
  if (begun) return png;
  fc_png_free(png);
  return NULL;
}

gboolean fc_png_write(fc_png_writer *png, const void *pixels, gint64 rows, GError **error) {
  const guint8 *from = pixels;
  for (gint64 end = png->y + rows; png->y < end; png->y++, from += png->row_bytes) {
    guint8 *row = png->rows[png->y & 1];
    take_row(row, from, png->row_bytes, png->dtype);
    png->zip.next_in = (Bytef *)best_filter(png, row, png->rows[~png->y & 1]);
    png->zip.avail_in = (uInt)png->row_bytes + 1;
    if (!deflate_on(png, Z_NO_FLUSH, error)) return FALSE;
  }
  return png->y < png->height ||
         (deflate_on(png, Z_FINISH, error) && write_chunk(png->output, "IEND", NULL, 0, error));
}

void fc_png_free(fc_png_writer *png) {
  if (!png) return;
  if (png->zipping) deflateEnd(&png->zip);
  g_free(png->memory);
  g_free(png);
}
