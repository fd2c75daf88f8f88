/* SPDX-License-Identifier: MIT */
/*
 * header.c - reads the header of an image file before decoding: the size, so that --max-pixels is checked
 * first; the orientation; varieties that no decoder here supports, by name; and whether the file is
 * truncated. Decoders find all other errors.
 */
#include <string.h>
#include <zlib.h>

#include "media/file/bytes.h"
#include "media/image/exif.h"
#include "media/image/image.h"

typedef struct image_file {
  const char *name, *title;
  const guint8 *data;
  gsize size;
} image_file;

static gboolean refuse(const image_file *f, const char *variety, GError **error) {
  return fc_fail(error, FC_UNSUPPORTED, "%s: is %s %s, which is not decoded here; convert it to PNG", f->name,
                 variety, f->title);
}

static gboolean fail_damaged(const image_file *f, const char *what, gsize at, GError **error) {
  return fc_fail(error, FC_IO, "%s: is damaged: %s at byte %" G_GSIZE_FORMAT, f->name, what, at);
}

static gboolean fail_cut(const image_file *f, GError **error) {
  return fc_fail(error, FC_IO, "%s: is cut off before its image data", f->name);
}

static gboolean is_not_one(const image_file *f, GError **error) {
  return fc_fail(error, FC_IO, "%s: is not a %s file", f->name, f->title);
}

static gboolean begins(const image_file *f, gsize at, const char *with, gsize size) {
  return at <= f->size && size <= f->size - at && memcmp(f->data + at, with, size) == 0;
}

/* ---- PNG --------------------------------------------------------------- */

/* Chunks: length, type, data, CRC; the decoder checks the CRCs of critical chunks. */
static gboolean read_png(const image_file *f, fc_image_header *h, GError **error) {
  gboolean data = FALSE;
  if (!begins(f, 0, "\x89PNG\r\n\x1a\n", 8)) return is_not_one(f, error);
  if (begins(f, 12, "CgBI", 4)) return refuse(f, "Apple's own (CgBI)", error);
  if (f->size < 33) return fc_fail(error, FC_IO, "%s: is cut off before it says its size", f->name);
  if (!begins(f, 8, "\0\0\0\x0dIHDR", 8)) return fail_damaged(f, "no header", 8, error);
  h->width = (gint64)fc_big(f->data + 16, 4);
  h->height = (gint64)fc_big(f->data + 20, 4);
  static const guint8 channels[] = {1, 1, 3, 3, 2, 2, 4, 4};
  h->pixel_bytes = channels[f->data[25] & 7] * (f->data[24] == 16 ? 2 : 1);
  for (gsize at = 33;;) {
    gsize left = f->size - at, length = left >= 8 ? fc_big(f->data + at, 4) : 0;
    if (length > G_MAXINT32) return fail_damaged(f, "a chunk of no sensible length", at, error);
    if (begins(f, at + 4, "tRNS", 4) && !data) h->pixel_bytes = f->data[24] == 16 ? 8 : 4;
    data |= length && left > 8 && begins(f, at + 4, "IDAT", 4);
    h->cut = left < 12 || length > left - 12;
    if (h->cut || begins(f, at + 4, "IEND", 4)) break;
    if ((f->data[at + 4] & 32) &&
        crc32(0, f->data + at + 4, (uInt)length + 4) != fc_big(f->data + at + 8 + length, 4))
      return fail_damaged(f, "a chunk with a wrong checksum", at, error);
    if (begins(f, at + 4, "eXIf", 4) && !h->orientation)
      h->orientation = fc_exif_orientation(f->data + at + 8, length);
    at += 12 + length;
  }
  if (data) return TRUE;
  return h->cut ? fail_cut(f, error) : fc_fail(error, FC_IO, "%s: holds no image data", f->name);
}

/* ---- JPEG -------------------------------------------------------------- */

enum { SOF0 = 0xc0, DHT = 0xc4, JPG = 0xc8, DAC = 0xcc, RST0 = 0xd0, SOI = 0xd8, EOI = 0xd9, SOS = 0xda };

static gboolean read_frame(const image_file *f, int marker, const guint8 *body, gsize size,
                           fc_image_header *h, GError **error) {
  if (marker == 0xc3 || marker == 0xc7 || marker == 0xcb || marker == 0xcf)
    return refuse(f, "a lossless", error);
  if (marker == 0xc5 || marker == 0xc6 || marker > 0xcc) return refuse(f, "a hierarchical", error);
  if (size < 6) return fc_fail(error, FC_IO, "%s: its frame header is damaged", f->name);
  if (body[0] != 8) {
    g_autofree char *kind = g_strdup_printf("a %d-bit", body[0]);
    return refuse(f, kind, error);
  }
  if (body[5] != 1 && body[5] != 3 && body[5] != 4)
    return refuse(f, "an odd (neither grey nor colour)", error);
  h->height = (gint64)fc_big(body + 1, 2);
  h->width = (gint64)fc_big(body + 3, 2);
  h->pixel_bytes = body[5];
  h->inks = body[5] == 4;
  h->simple = marker == SOF0 && !h->inks;
  h->channels = h->inks ? 3 : body[5];
  return h->height != 0 || refuse(f, "a late-height", error);
}

/* In coded data 0xff is never followed by 0xd9: an end marker after the first scan is a real one, and a
 * truncated file has none. */
static gboolean has_end(const guint8 *from, gsize size) {
  for (const guint8 *at; (at = memrchr(from, EOI, size)); size = (gsize)(at - from))
    if (at > from && at[-1] == 0xff) return TRUE;
  return FALSE;
}

/* Segments up to the first scan. */
static gboolean read_jpeg(const image_file *f, fc_image_header *h, GError **error) {
  gsize at = 2;
  if (!begins(f, 0, "\xff\xd8", 2)) return is_not_one(f, error);
  for (;;) {
    gsize start = at;
    while (at < f->size && f->data[at] == 0xff) at++;
    if (at >= f->size || f->size - at < 3) return fail_cut(f, error);
    int marker = f->data[at++];
    if (at - 1 == start) return fail_damaged(f, "no marker", start, error);
    if (marker == EOI) return fc_fail(error, FC_IO, "%s: holds no image data", f->name);
    if (marker == 0x01 || (marker >= RST0 && marker <= SOI)) continue;
    gsize length = fc_big(f->data + at, 2);
    if (length < 2) return fail_damaged(f, "a segment of no length", at, error);
    if (length > f->size - at) return fail_cut(f, error);
    const guint8 *body = f->data + at + 2;
    gboolean frame = marker >= SOF0 && marker <= 0xcf && marker != DHT && marker != JPG && marker != DAC;
    if (frame && !read_frame(f, marker, body, length - 2, h, error)) return FALSE;
    if (marker == 0xe1 && length > 8 && memcmp(body, "Exif\0\0", 6) == 0 && !h->orientation)
      h->orientation = fc_exif_orientation(body + 6, length - 8);
    at += length;
    if (marker != SOS) continue;
    if (!h->width) return fail_damaged(f, "a scan without a frame", start, error);
    if (at == f->size) return fail_cut(f, error);
    h->cut = !has_end(f->data + at, f->size - at);
    return TRUE;
  }
}

/* ---- WebP -------------------------------------------------------------- */

/* The size in the header of a lossy, a lossless or an extended file. */
static gboolean read_webp_size(const image_file *f, fc_image_header *h) {
  const guint8 *body = f->data + 20;
  if (f->size < 30) return FALSE;
  if (begins(f, 12, "VP8X", 4)) {
    h->width = (gint64)fc_little(body + 4, 3) + 1, h->height = (gint64)fc_little(body + 7, 3) + 1;
    return TRUE;
  }
  if (begins(f, 12, "VP8L", 4)) {
    guint64 bits = fc_little(body + 1, 4);
    h->width = (gint64)(bits & 0x3fff) + 1, h->height = (gint64)(bits >> 14 & 0x3fff) + 1;
    return TRUE;
  }
  h->width = (gint64)fc_little(body + 6, 2) & 0x3fff, h->height = (gint64)fc_little(body + 8, 2) & 0x3fff;
  return begins(f, 12, "VP8 ", 4);
}

static gboolean read_webp(const image_file *f, fc_image_header *h, GError **error) {
  if (!begins(f, 0, "RIFF", 4) || !begins(f, 8, "WEBP", 4)) return is_not_one(f, error);
  if (!read_webp_size(f, h)) return fail_cut(f, error);
  if (begins(f, 12, "VP8X", 4) && (f->data[20] & 2)) return refuse(f, "an animated", error);
  h->pixel_bytes = 4;
  h->cut = fc_little(f->data + 4, 4) + 8 > f->size;
  for (gsize at = 12; f->size - at >= 8;) {
    gsize length = fc_little(f->data + at + 4, 4);
    if (length > f->size - at - 8) break;
    if (begins(f, at, "EXIF", 4)) {
      gsize head = begins(f, at + 8, "Exif\0\0", 6) && length >= 6 ? 6 : 0;
      h->orientation = fc_exif_orientation(f->data + at + 8 + head, length - head);
    }
    at += MIN(8 + length + (length & 1), f->size - at);
  }
  return TRUE;
}

/* ---- TIFF -------------------------------------------------------------- */

/* By the first sample's fields. Inks and palettes of 16 bits are what libtiff does not convert. */
static gboolean is_read_tiff(const image_file *f, GError **error) {
  enum { BITS = 258, PHOTOMETRIC = 262, PALETTE = 3, LAB = 8, FORMAT = 339, UNSIGNED = 1, VOID = 4 };
  static const char *const formats[] = {
      [2] = "a signed", [3] = "a floating-point", [5] = "a complex", [6] = "a complex"};
  const guint32 bits = fc_tiff_number(f->data, f->size, BITS, 1),
                kind = fc_tiff_number(f->data, f->size, PHOTOMETRIC, 1),
                format = fc_tiff_number(f->data, f->size, FORMAT, UNSIGNED);
  const char *named = format < G_N_ELEMENTS(formats) ? formats[format] : NULL;
  if (named || (format != UNSIGNED && format != VOID)) return refuse(f, named ? named : "an odd", error);
  if (bits > 16) return refuse(f, "a (more than 16-bit)", error);
  g_autofree char *depth = g_strdup_printf("a %u-bit", bits);
  if (bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 16) return refuse(f, depth, error);
  return bits != 16 || kind < PALETTE || kind == LAB || refuse(f, "a 16-bit CMYK or palette", error);
}

static gboolean read_tiff(const image_file *f, fc_image_header *h, GError **error) {
  enum { WIDTH = 256, HEIGHT = 257 };
  if (begins(f, 0, "II+\0", 4) || begins(f, 0, "MM\0+", 4)) return refuse(f, "a Big", error);
  if (!begins(f, 0, "II*\0", 4) && !begins(f, 0, "MM\0*", 4)) return is_not_one(f, error);
  h->width = fc_tiff_number(f->data, f->size, WIDTH, 0);
  h->height = fc_tiff_number(f->data, f->size, HEIGHT, 0);
  if (!h->width || !h->height)
    return fc_fail(error, FC_IO, "%s: is damaged or cut off: it says no size", f->name);
  if (!is_read_tiff(f, error)) return FALSE;
  h->orientation = fc_exif_orientation(f->data, f->size);
  h->pixel_bytes = 8;
  return TRUE;
}

/* ---- BMP --------------------------------------------------------------- */

/* The headers of Windows that are in use; those of OS/2, and run-length coding, are not supported. */
static gboolean read_bmp(const image_file *f, fc_image_header *h, GError **error) {
  const guint8 *at = f->data;
  if (!begins(f, 0, "BM", 2)) return is_not_one(f, error);
  if (f->size < 54) return fc_fail(error, FC_IO, "%s: is cut off within its header", f->name);
  guint64 version = fc_little(at + 14, 4), depth = fc_little(at + 28, 2), coding = fc_little(at + 30, 4);
  if (version != 40 && version != 108 && version != 124) return refuse(f, "a (not of Windows)", error);
  if (coding == 1 || coding == 2) return refuse(f, "a run-length coded", error);
  if (coding != 0 && coding != 3) return refuse(f, "an oddly coded", error);
  gint64 height = (gint32)fc_little(at + 22, 4), pixels_at = (gint64)fc_little(at + 10, 4);
  h->width = (gint32)fc_little(at + 18, 4);
  h->height = ABS(height);
  h->pixel_bytes = 4;
  if (h->width < 1 || h->height < 1) return fc_fail(error, FC_IO, "%s: holds no pixels", f->name);
  if (pixels_at < 54)
    return fc_fail(error, FC_IO, "%s: is damaged: its pixels begin within its header", f->name);
  if (pixels_at >= (gint64)f->size) return fc_fail(error, FC_IO, "%s: is cut off before its pixels", f->name);
  /* The padding of the last row may be missing. */
  guint64 bits = (guint64)h->width * depth, row = (bits + 31) / 32 * 4;
  h->cut = row * (guint64)(h->height - 1) + (bits + 7) / 8 > f->size - (gsize)pixels_at;
  return TRUE;
}

/* ---- TGA --------------------------------------------------------------- */

/* Whether a run-length coded image reaches its last pixel. */
static gboolean runs_are_complete(const guint8 *at, gsize left, guint64 pixels, guint bytes) {
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

static gboolean is_one_of(guint value, const char *set, gsize count) {
  return memchr(set, (int)value, count) != NULL;
}

static gboolean is_no_tga(const image_file *f, GError **error) {
  return fc_fail(error, FC_IO, "%s: is not a TGA file, nor of any other known format", f->name);
}

/* A TGA file has no signature, so its header must be plausible. */
static gboolean read_tga(const image_file *f, fc_image_header *h, GError **error) {
  const guint8 *at = f->data;
  if (f->size < 18) return is_no_tga(f, error);
  const guint type = at[2] & ~8u, depth = at[16], colours = (guint)fc_little(at + 5, 2), colour_bits = at[7];
  const gboolean mapped = type == 1;
  h->width = (gint64)fc_little(at + 12, 2);
  h->height = (gint64)fc_little(at + 14, 2);
  h->pixel_bytes = 4;
  if (at[1] > 1 || !is_one_of(type, "\1\2\3", 3) || !is_one_of(depth, "\x8\xf\x10\x18\x20", 5) || !h->width ||
      !h->height)
    return is_no_tga(f, error);
  if (mapped && !(at[1] && colours))
    return fc_fail(error, FC_IO, "%s: is damaged: it has no palette", f->name);
  if (mapped && (fc_little(at + 3, 2) || depth > 16 || depth == 15)) return refuse(f, "an odd", error);
  if (at[17] >> 6) return refuse(f, "an interleaved", error);
  h->orientation = at[17] & 0x10 ? 2 : 1; /* rows stored from the right */
  gsize pixels_at = 18 + (gsize)at[0] + (at[1] ? colours * ((colour_bits + 7u) / 8) : 0);
  if (pixels_at >= f->size) return fc_fail(error, FC_IO, "%s: is cut off before its pixels", f->name);
  guint64 pixels = (guint64)h->width * (guint64)h->height, bytes = (depth + 7) / 8;
  h->cut = at[2] & 8 ? !runs_are_complete(at + pixels_at, f->size - pixels_at, pixels, (guint)bytes)
                     : pixels * bytes > f->size - pixels_at;
  return TRUE;
}

gboolean fc_image_read_header(const char *name, fc_image_kind kind, const guint8 *data, gsize size,
                              fc_image_header *header, GError **error) {
  static const struct {
    const char *title;
    gboolean (*read)(const image_file *, fc_image_header *, GError **);
  } readers[] = {[FC_IMAGE_PNG] = {"PNG", read_png},    [FC_IMAGE_JPEG] = {"JPEG", read_jpeg},
                 [FC_IMAGE_WEBP] = {"WebP", read_webp}, [FC_IMAGE_TIFF] = {"TIFF", read_tiff},
                 [FC_IMAGE_BMP] = {"BMP", read_bmp},    [FC_IMAGE_TGA] = {"TGA", read_tga}};
  const image_file file = {name, readers[kind].title, data, size};
  *header = (fc_image_header){.kind = kind};
  if (!readers[kind].read(&file, header, error)) return FALSE;
  if (!header->orientation) header->orientation = 1;
  return TRUE;
}
