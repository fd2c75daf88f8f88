/* SPDX-License-Identifier: MIT */
/*
 * jpeg_check.c - the segments of a JPEG file: size, kind of coding, EXIF orientation,
 * and whether it has an end. stb_image fills what a cut-off file lacks with grey, and
 * says of the kinds it cannot decode only that they are bad.
 */
#include "media/image.h"

#include <string.h>

enum {
  SOF0 = 0xc0,
  SOF2 = 0xc2,
  DHT = 0xc4,
  RST0 = 0xd0,
  RST7 = 0xd7,
  SOI = 0xd8,
  EOI = 0xd9,
  SOS = 0xda,
  DRI = 0xdd,
  APP1 = 0xe1
};

/* Of a component: its id, and how many of its blocks lie side by side and one above another in a unit. */
typedef struct component {
  guint8 id, across, down;
} component;

typedef struct jpeg_walk {
  const char *name;
  const guint8 *file;
  gsize size, at;
  /* What the coded data must hold. */
  gboolean progressive;
  guint width, height, interval; /* units between restarts; 0: there are none */
  guint n;
  component components[4];
} jpeg_walk;

static guint big16(const guint8 *at) {
  return (guint)at[0] << 8 | at[1];
}

static gboolean is_frame_header(int marker) {
  return marker >= SOF0 && marker <= 0xcf && marker != DHT && marker != 0xc8 && marker != 0xcc;
}

static gboolean refuse(const jpeg_walk *jpeg, const char *kind, GError **error) {
  return fc_fail(error, FC_UNSUPPORTED, "%s: is %s JPEG, which is not decoded here; convert it to PNG",
                 jpeg->name, kind);
}

static void keep_frame(jpeg_walk *jpeg, int marker, const guint8 *body, gsize size) {
  jpeg->progressive = marker == SOF2;
  jpeg->height = big16(body + 1);
  jpeg->width = big16(body + 3);
  jpeg->n = 0;
  for (const guint8 *c = body + 6; c + 3 <= body + size && jpeg->n < MIN(body[5], 4); c += 3)
    jpeg->components[jpeg->n++] = (component){c[0], c[1] >> 4, c[1] & 15};
}

static gboolean look_at_frame(jpeg_walk *jpeg, int marker, const guint8 *body, gsize size,
                              fc_image_check *check, GError **error) {
  if (marker >= 0xc9) return refuse(jpeg, "an arithmetic-coded", error);
  if (marker == 0xc3 || marker == 0xc7) return refuse(jpeg, "a lossless", error);
  if (marker > 0xc2) return refuse(jpeg, "a hierarchical", error);
  if (size < 6) return fc_fail(error, FC_IO, "%s: its frame header is damaged", jpeg->name);
  if (body[0] != 8) {
    g_autofree char *kind = g_strdup_printf("a %d-bit", body[0]);
    return refuse(jpeg, kind, error);
  }
  if (body[5] == 4) return refuse(jpeg, "a CMYK", error);
  check->height = big16(body + 1);
  check->width = big16(body + 3);
  if (!check->height) return refuse(jpeg, "a late-height", error);
  keep_frame(jpeg, marker, body, size);
  return TRUE;
}

/* A Huffman table has 256 codes at most. stb_image counts them only while it writes them
 * down, and so writes beyond its table. */
static gboolean look_at_codes(const jpeg_walk *jpeg, const guint8 *body, gsize size, GError **error) {
  while (size) {
    gsize codes = 0, counts = MIN(size, 17);
    for (gsize i = 1; i < counts; i++) codes += body[i];
    if (counts < 17 || codes > 256 || codes > size - 17)
      return fc_fail(error, FC_IO,
                     "%s: is damaged: a Huffman table of the wrong size before byte %" G_GSIZE_FORMAT,
                     jpeg->name, jpeg->at);
    body += 17 + codes;
    size -= 17 + codes;
  }
  return TRUE;
}

static gboolean look_at(jpeg_walk *jpeg, int marker, const guint8 *body, gsize size, fc_image_check *check,
                        GError **error) {
  if (is_frame_header(marker)) return look_at_frame(jpeg, marker, body, size, check, error);
  if (marker == DHT) return look_at_codes(jpeg, body, size, error);
  if (marker == DRI && size >= 2) jpeg->interval = big16(body);
  if (marker == APP1 && size > 6 && memcmp(body, "Exif\0\0", 6) == 0)
    check->orientation = fc_exif_orientation(body + 6, size - 6);
  return TRUE;
}

/* ---- coded data ------------------------------------------------------------ */

static guint64 units(guint size, guint each) {
  return (size + each - 1) / each;
}

/* How many units a scan has, of how many blocks each: those of all components together, or a block of one. */
static guint64 count_units(const jpeg_walk *jpeg, const guint8 *body, gsize size, guint *blocks) {
  guint across = 1, down = 1, n = size ? body[0] : 0;
  const component *only = NULL;
  *blocks = 0;
  for (guint i = 0; i < jpeg->n; i++) {
    const component *c = &jpeg->components[i];
    across = MAX(across, c->across), down = MAX(down, c->down);
    for (guint k = 0; k < n && 2 + 2 * k < size; k++)
      if (body[1 + 2 * k] == c->id) only = c, *blocks += (guint)c->across * c->down;
  }
  if (n != 1 || !only) return units(jpeg->width, 8 * across) * units(jpeg->height, 8 * down);
  *blocks = 1;
  return units((guint)units(jpeg->width * only->across, across), 8) *
         units((guint)units(jpeg->height * only->down, down), 8);
}

/* At least so many bits: a code each for a block's mean and for its end; of progressive ones a bit for the
 * mean where the scan is of it, and none for the others, which may be zero in one run. */
static guint64 least_bits(const jpeg_walk *jpeg, const guint8 *body, gsize size, guint64 blocks) {
  if (!jpeg->progressive) return 2 * blocks;
  return size >= 3 && body[size - 3] == 0 ? blocks : 0;
}

/* From coded data to the marker after them: 0xff and neither a stuffed zero, nor a
 * restart, nor a fill byte. FALSE at the end of the file. Where what a scan must hold is not there it is cut
 * as well: its end may have been closed up, and stb_image takes what it lacks for zeros, and reads on behind
 * it. Fewer bits than that of a picture without any detail cannot be told of. */
static gboolean skip_coded(jpeg_walk *jpeg, const guint8 *scan, gsize size, fc_image_check *check) {
  gsize begins = jpeg->at, restarts = 0;
  guint blocks;
  guint64 count = count_units(jpeg, scan, size, &blocks), bits = least_bits(jpeg, scan, size, count * blocks);
  for (; jpeg->at + 1 < jpeg->size; jpeg->at++) {
    guint8 next = jpeg->file[jpeg->at + 1];
    if (jpeg->file[jpeg->at] != 0xff || next == 0 || next == 0xff) continue;
    if (next >= RST0 && next <= RST7) {
      restarts++;
      continue;
    }
    gboolean enough = !jpeg->interval || restarts + 1 >= units((guint)MIN(count, G_MAXINT32), jpeg->interval);
    if (!enough || (jpeg->at - begins) * 8 < bits) check->cut = TRUE;
    return TRUE;
  }
  check->cut = TRUE;
  return FALSE;
}

/* ---- segments -------------------------------------------------------------- */

/* The next marker, past fill bytes; -1 at the end of the file, 0 when there is none. */
static int next_marker(jpeg_walk *jpeg) {
  if (jpeg->at >= jpeg->size) return -1;
  if (jpeg->file[jpeg->at] != 0xff) return 0;
  while (jpeg->at < jpeg->size && jpeg->file[jpeg->at] == 0xff) jpeg->at++;
  return jpeg->at < jpeg->size ? jpeg->file[jpeg->at++] : -1;
}

static gboolean walk(jpeg_walk *jpeg, fc_image_check *check, GError **error) {
  for (;;) {
    int marker = next_marker(jpeg);
    if (marker == 0)
      return fc_fail(error, FC_IO, "%s: is damaged: no marker at byte %" G_GSIZE_FORMAT, jpeg->name,
                     jpeg->at);
    if (marker == EOI) return TRUE;
    if (marker == 0x01 || (marker >= RST0 && marker <= SOI)) continue;
    gsize left = jpeg->size - jpeg->at;
    gsize length = marker > 0 && left >= 2 ? big16(jpeg->file + jpeg->at) : 0;
    if (marker > 0 && left >= 2 && length < 2)
      return fc_fail(error, FC_IO, "%s: is damaged: a segment of no length at byte %" G_GSIZE_FORMAT,
                     jpeg->name, jpeg->at);
    gboolean ends = length > left || length == 0;
    if (ends && marker == DHT)
      return fc_fail(error, FC_IO, "%s: is cut off before its image data", jpeg->name);
    check->cut |= ends;
    if (ends) return TRUE;
    const guint8 *body = jpeg->file + jpeg->at + 2;
    if (!look_at(jpeg, marker, body, length - 2, check, error)) return FALSE;
    jpeg->at += length;
    if (marker == SOS && !skip_coded(jpeg, body, length - 2, check)) return TRUE;
  }
}

gboolean fc_jpeg_check(const char *name, const guint8 *file, gsize size, fc_image_check *check,
                       GError **error) {
  jpeg_walk jpeg = {.name = name, .file = file, .size = size, .at = 2};
  if (!walk(&jpeg, check, error)) return FALSE;
  if (check->width > 0) return TRUE;
  return fc_fail(error, FC_IO, "%s: %s", name,
                 check->cut ? "is cut off before it says its size" : "holds no image");
}

/* ---- EXIF -------------------------------------------------------------- */

static guint32 tiff_get(const guint8 *at, int bytes, gboolean big) {
  guint32 value = 0;
  for (int i = 0; i < bytes; i++) value |= (guint32)at[i] << 8 * (big ? bytes - 1 - i : i);
  return value;
}

/* Offset of the orientation's value, or 0. */
static gsize find_orientation(const guint8 *tiff, gsize size) {
  if (size < 8 || (memcmp(tiff, "II*\0", 4) != 0 && memcmp(tiff, "MM\0*", 4) != 0)) return 0;
  gboolean big = tiff[0] == 'M';
  gsize at = tiff_get(tiff + 4, 4, big);
  if (at > size - 2) return 0;
  guint32 count = tiff_get(tiff + at, 2, big);
  for (at += 2; count-- && size - at >= 12; at += 12)
    if (tiff_get(tiff + at, 2, big) == 0x0112) return at + 8;
  return 0;
}

int fc_exif_orientation(const guint8 *tiff, gsize size) {
  gsize at = find_orientation(tiff, size);
  guint32 value = at ? tiff_get(tiff + at, 2, tiff[0] == 'M') : 1;
  return value >= 1 && value <= 8 ? (int)value : 1;
}

void fc_exif_set_upright(guint8 *tiff, gsize size) {
  gsize at = find_orientation(tiff, size);
  if (!at) return;
  tiff[at] = tiff[0] == 'M' ? 0 : 1;
  tiff[at + 1] = tiff[0] == 'M' ? 1 : 0;
}
