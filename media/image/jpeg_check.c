/* SPDX-License-Identifier: MIT */
/*
 * jpeg_check.c - the segments of a JPEG file: size, kind of coding, EXIF orientation, whether its scans have
 * what they need, and whether it has an end. stb_image takes zeros for whatever a file lacks - data, a table,
 * a component - and says of the kinds it cannot decode only that they are bad.
 */
#include "media/image/image.h"

#include <string.h>

#include "media/file/bytes.h"

enum {
  SOF0 = 0xc0,
  SOF2 = 0xc2,
  DHT = 0xc4,
  RST0 = 0xd0,
  RST7 = 0xd7,
  SOI = 0xd8,
  EOI = 0xd9,
  SOS = 0xda,
  DQT = 0xdb,
  DRI = 0xdd,
  APP1 = 0xe1
};

/* Of a component: its id, how many of its blocks lie side by side and one above another in a unit, its
 * quantisation table, and whether there was a scan of it. */
typedef struct component {
  guint8 id, across, down, table;
  gboolean scanned;
} component;

typedef struct jpeg_walk {
  const char *name;
  const guint8 *file;
  gsize size, at;
  /* What the coded data must hold. */
  gboolean progressive;
  guint width, height, interval; /* units between restarts; 0: there are none */
  gsize data_end;                /* of the last scan that has one; 0: there was none */
  guint n;
  component components[4];
  guint tables,
      codes; /* a bit for each quantisation table, and for each Huffman table, of means ahead of others */
} jpeg_walk;

static gboolean is_frame_header(int marker) {
  return marker >= SOF0 && marker <= 0xcf && marker != DHT && marker != 0xc8 && marker != 0xcc;
}

static gboolean refuse(const jpeg_walk *jpeg, const char *kind, GError **error) {
  return fc_fail(error, FC_UNSUPPORTED, "%s: is %s JPEG, which is not decoded here; convert it to PNG",
                 jpeg->name, kind);
}

static gboolean damaged(const jpeg_walk *jpeg, const char *what, GError **error) {
  return fc_fail(error, FC_IO, "%s: is damaged: %s before byte %" G_GSIZE_FORMAT, jpeg->name, what, jpeg->at);
}

static component *find_component(jpeg_walk *jpeg, guint8 id) {
  for (guint i = 0; i < jpeg->n; i++)
    if (jpeg->components[i].id == id) return &jpeg->components[i];
  return NULL;
}

static gboolean keep_frame(jpeg_walk *jpeg, int marker, const guint8 *body, gsize size, GError **error) {
  jpeg->progressive = marker == SOF2;
  jpeg->height = fc_big(body + 1, 2);
  jpeg->width = fc_big(body + 3, 2);
  jpeg->n = 0;
  for (const guint8 *c = body + 6; c + 3 <= body + size && jpeg->n < MIN(body[5], 4); c += 3) {
    if (find_component(jpeg, c[0])) return refuse(jpeg, "an odd (two components of one name)", error);
    jpeg->components[jpeg->n++] = (component){c[0], c[1] >> 4, c[1] & 15, c[2], FALSE};
  }
  return jpeg->n == body[5] || damaged(jpeg, "a frame header", error);
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
  check->height = fc_big(body + 1, 2);
  check->width = fc_big(body + 3, 2);
  if (!check->height) return refuse(jpeg, "a late-height", error);
  return keep_frame(jpeg, marker, body, size, error);
}

/* A Huffman table has 256 codes at most. stb_image counts them only while it writes them
 * down, and so writes beyond its table. */
static gboolean look_at_codes(jpeg_walk *jpeg, const guint8 *body, gsize size, GError **error) {
  while (size) {
    gsize codes = 0, counts = MIN(size, 17);
    for (gsize i = 1; i < counts; i++) codes += body[i];
    if (counts < 17 || codes > 256 || codes > size - 17)
      return damaged(jpeg, "a Huffman table of the wrong size", error);
    if ((body[0] >> 4) > 1 || (body[0] & 15) > 3) return damaged(jpeg, "a Huffman table of no number", error);
    jpeg->codes |= 1u << ((body[0] >> 4) * 4 + (body[0] & 15));
    body += 17 + codes;
    size -= 17 + codes;
  }
  return TRUE;
}

static gboolean look_at_tables(jpeg_walk *jpeg, const guint8 *body, gsize size, GError **error) {
  while (size) {
    gsize bytes = 1 + (body[0] >> 4 ? 128 : 64);
    if ((body[0] >> 4) > 1 || (body[0] & 15) > 3 || bytes > size)
      return damaged(jpeg, "a quantisation table of the wrong size", error);
    jpeg->tables |= 1u << (body[0] & 15);
    body += bytes;
    size -= bytes;
  }
  return TRUE;
}

/* Huffman tables that a scan of a component takes, in bits as of `codes`: for its mean, and for the rest. */
static guint codes_for(const jpeg_walk *jpeg, guint8 names, const guint8 *way) {
  guint mean = 1u << (names >> 4 & 3), rest = 16u << (names & 3);
  if (!jpeg->progressive) return mean | rest;
  gboolean refines = way[2] >> 4;
  return way[0] ? rest : refines ? 0 : mean;
}

/* It must have what it takes. */
static gboolean look_at_scan(jpeg_walk *jpeg, const guint8 *body, gsize size, GError **error) {
  gsize n = size ? body[0] : 0;
  guint named = 0;
  if (!jpeg->n || n < 1 || n > 4 || size != 1 + 2 * n + 3) return damaged(jpeg, "a scan's header", error);
  for (gsize i = 0; i < n; i++) {
    const guint8 *of = body + 1 + 2 * i;
    component *c = find_component(jpeg, of[0]);
    guint bit = c ? 1u << (c - jpeg->components) : 0;
    if (!c || (named & bit)) return damaged(jpeg, "the components of a scan", error);
    if (!jpeg->codes) return refuse(jpeg, "a motion picture's (it has no Huffman tables of its own)", error);
    if (codes_for(jpeg, of[1], body + size - 3) & ~jpeg->codes)
      return damaged(jpeg, "a scan without its Huffman table", error);
    if (c->table > 3 || !(jpeg->tables >> c->table & 1))
      return damaged(jpeg, "a scan without its quantisation table", error);
    named |= bit;
    c->scanned = TRUE;
  }
  return TRUE;
}

static gboolean look_at(jpeg_walk *jpeg, int marker, const guint8 *body, gsize size, fc_image_check *check,
                        GError **error) {
  if (is_frame_header(marker)) return look_at_frame(jpeg, marker, body, size, check, error);
  if (marker == DHT) return look_at_codes(jpeg, body, size, error);
  if (marker == DQT) return look_at_tables(jpeg, body, size, error);
  if (marker == SOS) return look_at_scan(jpeg, body, size, error);
  if (marker == DRI && size >= 2) jpeg->interval = fc_big(body, 2);
  if (marker == APP1 && size > 6 && memcmp(body, "Exif\0\0", 6) == 0 && !check->oriented) {
    check->orientation = fc_exif_orientation(body + 6, size - 6);
    check->oriented = TRUE;
  }
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
    jpeg->data_end = jpeg->at;
    return TRUE;
  }
  check->cut = TRUE;
  if (begins < jpeg->size) jpeg->data_end = jpeg->size;
  check->end = jpeg->data_end;
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

/* At its end: is there image data, and, of a file that was not cut off, of all components? */
static gboolean look_at_all(const jpeg_walk *jpeg, const fc_image_check *check, GError **error) {
  guint scanned = 0;
  for (guint i = 0; i < jpeg->n; i++) scanned += jpeg->components[i].scanned;
  if (!jpeg->data_end)
    return fc_fail(error, FC_IO, "%s: %s", jpeg->name,
                   check->cut ? "is cut off before its image data" : "holds no image data");
  return check->cut || scanned == jpeg->n || damaged(jpeg, "no data of a component", error);
}

static gboolean walk(jpeg_walk *jpeg, fc_image_check *check, GError **error) {
  for (;;) {
    int marker = next_marker(jpeg);
    if (marker == 0)
      return fc_fail(error, FC_IO, "%s: is damaged: no marker at byte %" G_GSIZE_FORMAT, jpeg->name,
                     jpeg->at);
    if (marker == EOI) break;
    if (marker == 0x01 || (marker >= RST0 && marker <= SOI)) continue;
    gsize left = jpeg->size - jpeg->at;
    gsize length = marker > 0 && left >= 2 ? fc_big(jpeg->file + jpeg->at, 2) : 0;
    if (marker > 0 && left >= 2 && length < 2)
      return fc_fail(error, FC_IO, "%s: is damaged: a segment of no length at byte %" G_GSIZE_FORMAT,
                     jpeg->name, jpeg->at);
    if (length > left || length == 0) {
      check->cut = TRUE;
      check->end = jpeg->data_end;
      break;
    }
    const guint8 *body = jpeg->file + jpeg->at + 2;
    if (!look_at(jpeg, marker, body, length - 2, check, error)) return FALSE;
    jpeg->at += length;
    if (marker == SOS && !skip_coded(jpeg, body, length - 2, check)) break;
  }
  return look_at_all(jpeg, check, error);
}

gboolean fc_jpeg_check(const char *name, const guint8 *file, gsize size, fc_image_check *check,
                       GError **error) {
  jpeg_walk jpeg = {.name = name, .file = file, .size = size, .at = 2};
  if (size < 2 || file[0] != 0xff || file[1] != SOI)
    return fc_fail(error, FC_IO, "%s: is not a JPEG file", name);
  return walk(&jpeg, check, error);
}
