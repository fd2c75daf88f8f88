/* SPDX-License-Identifier: MIT */
/* meta.c - reads tags of images, see meta.h, in plain bounded walks. What is packed is unpacked to a limit.
 */
#include "media/image/meta.h"

#include <string.h>
#include <zlib.h>

#include "media/file/bytes.h"
#include "media/image/exif.h"

/* Of all that a file has packed; a profile is to fit a JPEG file's 16 MB. */
#define UNPACKED_MAX ((gsize)32 << 20)
#define PIECE        ((gsize)32 << 10)

typedef struct meta_reader {
  fc_tags *tags;
  const fc_image_header *header;
  gsize unpacked; /* bytes so far, good or not */
} meta_reader;

/* ---- PNG --------------------------------------------------------------- */

/* A file may have as many types as it likes. */
static void lose_type(fc_tags *tags, const guint8 *type) {
  char name[5] = {0};
  for (int i = 0; i < 4; i++) name[i] = g_ascii_isalpha(type[i]) ? (char)type[i] : '?';
  fc_tags_lose(tags, tags->lost->len < 200 ? name : "further chunks");
}

/* FALSE for what is damaged, or more than the limit; no memory is the blob's failure. */
static gboolean unpack(meta_reader *r, fc_blob *to, const guint8 *from, gsize size) {
  z_stream zip = {.next_in = (Bytef *)from, .avail_in = (uInt)size};
  gsize before = to->size;
  int state = inflateInit(&zip);
  while (state == Z_OK && r->unpacked < UNPACKED_MAX) {
    guint8 *place = fc_blob_grow(to, PIECE);
    if (!place) break;
    zip.next_out = place, zip.avail_out = (uInt)PIECE;
    state = inflate(&zip, Z_NO_FLUSH);
    to->size -= zip.avail_out;
    r->unpacked += PIECE;
  }
  inflateEnd(&zip);
  if (state != Z_STREAM_END) to->size = before;
  return state == Z_STREAM_END || to->failed;
}

/* Behind the next 0 from `at` on; the size when there is none. */
static gsize behind_zero(const guint8 *body, gsize size, gsize at) {
  const guint8 *zero = at < size ? memchr(body + at, 0, size - at) : NULL;
  return zero ? (gsize)(zero - body) + 1 : size;
}

/* Where the text of a chunk begins, and whether it is packed; the size when there is none. */
static gsize text_at(const guint8 *type, const guint8 *body, gsize size, gboolean *packed) {
  gsize at = behind_zero(body, size, 0);
  *packed = memcmp(type, "zTXt", 4) == 0;
  if (memcmp(type, "tEXt", 4) == 0) return at;
  if (*packed) return MIN(at + 1, size);
  *packed = at < size && body[at] == 1;
  return behind_zero(body, size, behind_zero(body, size, MIN(at + 2, size)));
}

static const fc_image_text known_texts[] = {
    {"Comment", "COMMENT", 0},     {"Title", "TITLE", 269},   {"Description", "DESCRIPTION", 270},
    {"Software", "SOFTWARE", 305}, {"Author", "ARTIST", 315}, {"Copyright", "COPYRIGHT", 33432}};

const fc_image_text *fc_image_text_of(const guint8 *chunk, gsize size) {
  for (gsize i = 0; i < G_N_ELEMENTS(known_texts); i++)
    if (fc_begins(chunk, size, known_texts[i].keyword, strlen(known_texts[i].keyword) + 1))
      return &known_texts[i];
  return NULL;
}

const fc_image_text *fc_image_text_named(const char *name) {
  for (gsize i = 0; name && i < G_N_ELEMENTS(known_texts); i++)
    if (strcmp(known_texts[i].name, name) == 0) return &known_texts[i];
  return NULL;
}

/* For files of other kinds: XMP, a comment, and texts that EXIF data have too. */
static void take_text(meta_reader *r, const guint8 *type, const guint8 *body, gsize size) {
  const gboolean xmp = fc_begins(body, size, "XML:com.adobe.xmp", 18);
  const fc_image_text *known = fc_image_text_of(body, size);
  if (!xmp && !known) return;
  gboolean packed;
  gsize at = text_at(type, body, size, &packed);
  g_auto(fc_blob) text = {0};
  if (!packed)
    fc_blob_put(&text, body + at, size - at);
  else
    unpack(r, &text, body + at, size - at);
  if (xmp && !r->tags->xmp.size)
    fc_blob_join(&r->tags->xmp, &text);
  else if (known && text.size)
    fc_tags_add_text(r->tags, known->name, text.data, (gssize)text.size);
  r->tags->failed |= text.failed;
}

static void take_profile(meta_reader *r, const guint8 *body, gsize size) {
  gsize packed = behind_zero(body, size, 0) + 1;
  if (packed < size && !r->tags->icc.size) unpack(r, &r->tags->icc, body + packed, size - packed);
}

/* The case of a letter is a bit: the first says that a chunk may be left out, the last that it may be copied
 * whatever becomes of the samples. Where the picture stood does not hold once it was turned. */
static gboolean holds_still(const meta_reader *r, const guint8 *type) {
  if (r->header->orientation > 1 && fc_id_is_among(type, "oFFs caNv vpAg")) return FALSE;
  return (type[3] & 32) || fc_id_is_among(type, "gAMA cHRM sRGB cICP mDCV cLLI iCCP bKGD");
}

static void take_chunk(meta_reader *r, const guint8 *type, const guint8 *body, gsize size,
                       gboolean few_bits) {
  fc_tags *tags = r->tags;
  /* When a file was changed is not true of a new one. */
  if (fc_id_is_among(type, "IHDR IDAT tRNS tIME") || (few_bits && fc_id_is_among(type, "PLTE bKGD"))) return;
  if (memcmp(type, "eXIf", 4) == 0) {
    if (!tags->exif.size) fc_blob_put(&tags->exif, body, size);
    return;
  }
  if (memcmp(type, "pHYs", 4) == 0) {
    if (size == 9)
      tags->density = (fc_density){(guint32)fc_big(body, 4), (guint32)fc_big(body + 4, 4), body[8] == 1};
    return;
  }
  if (fc_id_is_among(type, "tEXt zTXt iTXt")) take_text(r, type, body, size);
  if (memcmp(type, "iCCP", 4) == 0) take_profile(r, body, size);
  if (fc_id_is_among(type, "acTL fcTL fdAT"))
    fc_tags_lose(tags, "further pictures");
  else if ((type[0] & 32) && holds_still(r, type))
    fc_tags_put_chunk(tags, type, body, size, TRUE);
  else
    lose_type(tags, type);
}

static void read_png(meta_reader *r, const guint8 *file, gsize size) {
  r->tags->family = FC_TAGS_PNG;
  const gboolean few_bits = size > 25 && (file[25] == 3 || file[24] < 8);
  for (gsize at = 8; size - at >= 12;) {
    gsize length = fc_big(file + at, 4);
    if (length > size - at - 12 || memcmp(file + at + 4, "IEND", 4) == 0) return;
    take_chunk(r, file + at + 4, file + at + 8, length, few_bits);
    at += 12 + length;
  }
}

/* ---- JPEG -------------------------------------------------------------- */

enum { APP0 = 0xe0, APP1, APP2, APP8 = 0xe8, APP11 = 0xeb, APP14 = 0xee, APP15, COM = 0xfe };

static void take_jfif(fc_tags *tags, const guint8 *body, gsize size) {
  const gboolean first = fc_begins(body, size, "JFIF", 5);
  if (!first || size > 14) fc_tags_lose(tags, "thumbnail");
  if (!first || size < 12) return;
  const gboolean inches = body[7] == 1, metres = inches || body[7] == 2;
  const guint64 x = fc_big(body + 8, 2), y = fc_big(body + 10, 2);
  const guint64 times = inches ? 5000 : metres ? 12700 : 127; /* of 127ths: an inch has 0.0254 metres */
  tags->density = (fc_density){(guint32)((x * times + 63) / 127), (guint32)((y * times + 63) / 127), metres};
}

/* Names of what does not hold for another file: an index of what follows, a signature, another header;
 * "" for how the samples were coded, which says nothing of them. */
static const char *name_of_void(int marker, const guint8 *body, gsize size) {
  if (marker == APP2 && fc_begins(body, size, "MPF", 4)) return "further pictures";
  if (marker == APP8 && fc_begins(body, size, "SPIFF", 6)) return "SPIFF";
  if (marker == APP11 && fc_begins(body, size, "JP", 2)) return "APP11";
  return marker == APP14 && fc_begins(body, size, "Adobe", 5) ? "" : NULL;
}

/* `body` without marker and length. A profile comes in numbered pieces, in their order. */
static void take_segment(meta_reader *r, int marker, const guint8 *body, gsize size) {
  fc_tags *tags = r->tags;
  const guint8 id[4] = {(guint8)marker};
  const char *name = name_of_void(marker, body, size);
  if (marker == APP0 && (fc_begins(body, size, "JFIF", 5) || fc_begins(body, size, "JFXX", 5))) {
    take_jfif(tags, body, size);
    return;
  }
  if (marker == APP1 && fc_begins(body, size, "Exif\0\0", 6) && !tags->exif.size) {
    fc_blob_put(&tags->exif, body + 6, size - 6);
    return;
  }
  if (marker == APP1 && fc_begins(body, size, XMP_HEAD, 29) && !tags->xmp.size)
    fc_blob_put(&tags->xmp, body + 29, size - 29);
  if (marker == APP2 && fc_begins(body, size, ICC_HEAD, 12) && size > 14)
    fc_blob_put(&tags->icc, body + 14, size - 14);
  gsize length = size;
  while (marker == COM && length && !body[length - 1]) length--;
  if (marker == COM && length && !memchr(body, 0, length))
    fc_tags_add_text(tags, "COMMENT", body, (gssize)length);
  if (name && *name)
    fc_tags_lose(tags, name);
  else if (!name && ((marker >= APP0 && marker <= APP15) || marker == COM))
    fc_tags_put_chunk(tags, id, body, size, TRUE);
}

static void read_jpeg(meta_reader *r, const guint8 *file, gsize size) {
  r->tags->family = FC_TAGS_JPEG;
  for (gsize at = 2; size - at >= 4;) {
    const int marker = file[at + 1];
    const gsize length = fc_big(file + at + 2, 2);
    if (file[at] != 0xff) return;
    if (marker == 0xff) { /* a byte that fills */
      at++;
      continue;
    }
    if (marker == 0xda || marker < 0xc0 || length < 2 || length > size - at - 2) return;
    take_segment(r, marker, file + at + 4, length - 2);
    at += 2 + length;
  }
}

/* ---- WebP, TIFF, BMP --------------------------------------------------- */

static void read_webp(meta_reader *r, const guint8 *file, gsize size) {
  for (gsize at = 12; size - at >= 8;) {
    const guint8 *body = file + at + 8;
    gsize length = fc_little(file + at + 4, 4);
    if (length > size - at - 8) return;
    const gsize head = fc_begins(body, length, "Exif\0\0", 6) ? 6 : 0;
    if (memcmp(file + at, "ICCP", 4) == 0) fc_blob_put(&r->tags->icc, body, length);
    if (memcmp(file + at, "EXIF", 4) == 0) fc_blob_put(&r->tags->exif, body + head, length - head);
    if (memcmp(file + at, "XMP ", 4) == 0) fc_blob_put(&r->tags->xmp, body, length);
    at += MIN(8 + length + (length & 1), size - at);
  }
}

/* A rational number, of so many a unit. */
static double read_rational(const guint8 *file, gsize size, guint tag) {
  fc_tiff_field field;
  if (!fc_tiff_find(file, size, tag, &field) || field.type != 5) return 0;
  const gboolean big = file[0] == 'M';
  const double below = (double)(big ? fc_big : fc_little)(file + field.at + 4, 4);
  return below > 0 ? (double)(big ? fc_big : fc_little)(file + field.at, 4) / below : 0;
}

static void read_tiff(meta_reader *r, const guint8 *file, gsize size) {
  enum { DESCRIPTION = 270, X_DENSITY = 282, Y_DENSITY, UNIT = 296, XMP = 700, ICC = FC_TIFF_ICC };
  fc_tiff_field field;
  fc_tags *tags = r->tags;
  if (fc_tiff_find(file, size, ICC, &field)) fc_blob_put(&tags->icc, file + field.at, field.size);
  if (fc_tiff_find(file, size, XMP, &field)) fc_blob_put(&tags->xmp, file + field.at, field.size);
  if (fc_tiff_find(file, size, DESCRIPTION, &field) && field.type == 2 && field.size > 1)
    fc_tags_add_text(tags, "COMMENT", file + field.at,
                     (gssize)strnlen((const char *)file + field.at, field.size));
  if (fc_tiff_has_more(file, size)) fc_tags_lose(tags, "further pictures");
  if (!fc_exif_of_tiff(file, size, &tags->exif)) fc_tags_lose(tags, "EXIF");
  fc_tiff_name_others(file, size, tags);
  const guint32 unit = fc_tiff_number(file, size, UNIT, 2);
  const double metre = unit == 2 ? 1 / 0.0254 : 100, x = read_rational(file, size, X_DENSITY) * metre,
               y = read_rational(file, size, Y_DENSITY) * metre;
  if ((unit == 2 || unit == 3) && x > 0 && y > 0 && x < G_MAXINT32 && y < G_MAXINT32)
    tags->density = (fc_density){(guint32)(x + 0.5), (guint32)(y + 0.5), TRUE};
}

/* Pixels a metre, and in the newest header a profile. */
static void read_bmp(meta_reader *r, const guint8 *file, gsize size) {
  gsize header = size >= 54 ? fc_little(file + 14, 4) : 0;
  if (header < 40) return;
  r->tags->density = (fc_density){(guint32)fc_little(file + 38, 4), (guint32)fc_little(file + 42, 4), TRUE};
  if (header < 124 || size < 14 + header || fc_little(file + 70, 4) != 0x4d424544) return; /* "MBED" */
  gsize at = 14 + (gsize)fc_little(file + 126, 4), length = fc_little(file + 130, 4);
  if (at <= size && length <= size - at) fc_blob_put(&r->tags->icc, file + at, length);
}

/* ---- all --------------------------------------------------------------- */

fc_tags *fc_image_tags_read(const guint8 *file, gsize size, const fc_image_header *header) {
  static void (*const readers[])(meta_reader *, const guint8 *, gsize) = {
      [FC_IMAGE_PNG] = read_png,   [FC_IMAGE_JPEG] = read_jpeg, [FC_IMAGE_WEBP] = read_webp,
      [FC_IMAGE_TIFF] = read_tiff, [FC_IMAGE_BMP] = read_bmp,   [FC_IMAGE_TGA] = NULL};
  fc_tags *tags = fc_tags_new(FC_TAGS_OTHER);
  meta_reader reader = {.tags = tags, .header = header};
  if (readers[header->kind]) readers[header->kind](&reader, file, size);
  fc_exif_set_upright(tags->exif.data, tags->exif.size);
  if (header->inks) fc_blob_clear(&tags->icc); /* of inks, which are there no longer */
  if (header->orientation < 5) return tags;
  tags->density = (fc_density){tags->density.y, tags->density.x, tags->density.metres};
  fc_exif_exchange_sides(tags->exif.data, tags->exif.size);
  return tags;
}
