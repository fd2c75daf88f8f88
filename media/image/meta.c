/* SPDX-License-Identifier: MIT */
/*
 * image_meta.c - see image_meta.h. Segments and chunks are found by plain bounded walks, and put
 * together again for the file that is made.
 */
#include "media/image/meta.h"

#include <string.h>
#include <zlib.h>

#include "media/file/bytes.h"
#include "media/file/warn.h"

/* A JPEG segment's largest content. */
#define SEGMENT_MAX 65533
#define CHUNK_FRAME 12 /* length, type and checksum */

#define EXIF "Exif\0\0"
#define ICC  "ICC_PROFILE\0"

static void put_chunk(fc_blob *to, const char *type, const void *data, gsize size) {
  fc_blob_put_big(to, size, 4);
  gsize start = to->size;
  fc_blob_put(to, type, 4);
  fc_blob_put(to, data, size);
  if (!to->failed) fc_blob_put_big(to, crc32(0, to->data + start, (uInt)(to->size - start)), 4);
}

static void put_segment(fc_blob *to, int marker, const void *name, gsize name_size, const void *data,
                        gsize size) {
  fc_blob_put_big(to, (guint)marker, 2);
  fc_blob_put_big(to, 2 + name_size + size, 2);
  fc_blob_put(to, name, name_size);
  fc_blob_put(to, data, size);
}

gboolean fc_image_begins(const guint8 *body, gsize size, const char *with, gsize with_size) {
  return size >= with_size && memcmp(body, with, with_size) == 0;
}

/* ---- PNG --------------------------------------------------------------- */

gboolean fc_image_is_one_of(const guint8 *type, const char *types) {
  for (; *types; types += 4)
    if (memcmp(type, types, 4) == 0) return TRUE;
  return FALSE;
}

/* A file may have as many as it likes. */
void fc_image_add_type(GString *lost, const guint8 *type) {
  char name[5] = {0};
  for (int i = 0; i < 4; i++) name[i] = g_ascii_isalpha(type[i]) ? (char)type[i] : '?';
  fc_media_add_word(lost, lost->len < 200 ? name : "further chunks");
}

/* The case of a letter is a bit: the first says that a chunk may be left out, the last that it may be
 * copied whatever becomes of the pixels. */
static gboolean is_lower(guint8 letter) {
  return letter & 32;
}

/* What a chunk other than the pixels' is for. Where it stands in the picture does not hold once that was
 * turned; what is said of its colours goes with a profile. */
static gboolean holds_still(const fc_image_meta *meta, const guint8 *type) {
  if (meta->turned && fc_image_is_one_of(type, "oFFscaNvvpAg")) return FALSE;
  return is_lower(type[3]) || fc_image_is_one_of(type, "gAMAcHRMsRGBcICPmDCVcLLI");
}

static void take_chunk(fc_image_meta *meta, const guint8 *chunk, gsize length) {
  const guint8 *type = chunk + 4, *body = chunk + 8;
  if (fc_image_is_one_of(type, "IHDRIDATtRNS") || (meta->depth == 0 && memcmp(type, "PLTE", 4) == 0)) return;
  if (memcmp(type, "eXIf", 4) == 0) {
    if (!meta->exif.size) fc_blob_put(&meta->exif, body, length);
  } else if (memcmp(type, "pHYs", 4) == 0) {
    if (length == 9) meta->density = (fc_density){fc_big(body, 4), fc_big(body + 4, 4), body[8] == 1};
  } else if (fc_image_is_one_of(type, "acTLfcTLfdAT"))
    fc_media_add_word(meta->lost, "further pictures");
  else if (memcmp(type, "iCCP", 4) == 0)
    fc_blob_put(&meta->profile, chunk, CHUNK_FRAME + length);
  else if (memcmp(type, "bKGD", 4) == 0 && !meta->background.size)
    fc_blob_put(&meta->background, chunk, CHUNK_FRAME + length);
  else if (is_lower(type[0]) && holds_still(meta, type))
    fc_blob_put(&meta->pieces, chunk, CHUNK_FRAME + length);
  else
    fc_image_add_type(meta->lost, type);
}

static void read_png(fc_image_meta *meta, const guint8 *file, gsize size) {
  if (size > 25 && file[25] != 3) meta->depth = file[24];
  for (gsize at = 8; size - at >= CHUNK_FRAME;) {
    gsize length = fc_big(file + at, 4);
    if (length > size - at - CHUNK_FRAME || memcmp(file + at + 4, "IEND", 4) == 0) return;
    take_chunk(meta, file + at, length);
    at += CHUNK_FRAME + length;
  }
}

const guint8 *fc_image_next_chunk(const fc_blob *pieces, gsize *at, const guint8 **type, gsize *size) {
  if (pieces->failed || *at >= pieces->size) return NULL;
  const guint8 *chunk = pieces->data + *at;
  *size = fc_big(chunk, 4);
  *type = chunk + 4;
  *at += CHUNK_FRAME + *size;
  return chunk + 8;
}

/* ---- JPEG -------------------------------------------------------------- */

enum { APP0 = 0xffe0, APP1, APP2, APP8 = 0xffe8, APP11 = 0xffeb, APP14 = 0xffee, APP15, COM = 0xfffe };

static void take_jfif(fc_image_meta *meta, const guint8 *body, gsize size) {
  gboolean first = fc_image_begins(body, size, "JFIF", 5);
  if (!first || size > 14) fc_media_add_word(meta->lost, "thumbnail");
  if (!first || size < 12) return;
  int unit = body[7];
  guint32 x = fc_big(body + 8, 2), y = fc_big(body + 10, 2);
  gboolean inches = unit == 1, metres = inches || unit == 2;
  guint32 times = inches ? 5000 : metres ? 12700 : 127; /* of 127ths: an inch has 0.0254 metres */
  meta->density = (fc_density){(x * times + 63) / 127, (y * times + 63) / 127, metres};
}

/* Names of what does not hold for another file: an index of what stands behind, a signature, another header;
 * "" for how the samples were coded, which says nothing of them. */
static const char *name_of_void(int marker, const guint8 *body, gsize size) {
  if (marker == APP2 && fc_image_begins(body, size, "MPF", 4)) return "further pictures";
  if (marker == APP8 && fc_image_begins(body, size, "SPIFF", 6)) return "SPIFF";
  if (marker == APP11 && fc_image_begins(body, size, "JP", 2)) return "APP11";
  return marker == APP14 && fc_image_begins(body, size, "Adobe", 5) ? "" : NULL;
}

/* `body` without marker and length. Profiles come in numbered pieces. */
static void take_segment(fc_image_meta *meta, int marker, const guint8 *body, gsize size) {
  const char *name = name_of_void(marker, body, size);
  if (marker == APP0 && (fc_image_begins(body, size, "JFIF", 5) || fc_image_begins(body, size, "JFXX", 5)))
    take_jfif(meta, body, size);
  else if (marker == APP1 && fc_image_begins(body, size, EXIF, 6) && !meta->exif.size)
    fc_blob_put(&meta->exif, body + 6, size - 6);
  else if (marker == APP2 && fc_image_begins(body, size, ICC, 12) && size > 14)
    put_segment(&meta->profile, marker, "", 0, body, size);
  else if (name && *name)
    fc_media_add_word(meta->lost, name);
  else if (!name && ((marker >= APP0 && marker <= APP15) || marker == COM))
    put_segment(&meta->pieces, marker, "", 0, body, size);
}

static void read_jpeg(fc_image_meta *meta, const guint8 *file, gsize size) {
  for (gsize at = 2; size - at >= 4;) {
    int marker = (int)fc_big(file + at, 2);
    gsize length = fc_big(file + at + 2, 2);
    if (marker == 0xffff) { /* a byte that fills */
      at++;
      continue;
    }
    if (marker == 0xffda || marker < 0xffc0 || length < 2 || length > size - at - 2) return;
    take_segment(meta, marker, file + at + 4, length - 2);
    at += 2 + length;
  }
}

const guint8 *fc_image_next_segment(const fc_blob *pieces, gsize *at, int *marker, gsize *size) {
  if (pieces->failed || *at >= pieces->size) return NULL;
  const guint8 *segment = pieces->data + *at;
  *marker = (int)fc_big(segment, 2);
  *size = fc_big(segment + 2, 2) - 2;
  *at += 4 + *size;
  return segment + 4;
}

/* ---- BMP --------------------------------------------------------------- */

/* Pixels a metre stand in all but the oldest headers, a profile in the newest. */
static void read_bmp(fc_image_meta *meta, const guint8 *file, gsize size) {
  gsize header = size >= 54 ? fc_little(file + 14, 4) : 0;
  if (header < 40) return;
  meta->density = (fc_density){fc_little(file + 38, 4), fc_little(file + 42, 4), TRUE};
  if (header < 124 || size < 14 + header || fc_little(file + 70, 4) != 0x4d424544) return; /* "MBED" */
  gsize at = 14 + (gsize)fc_little(file + 126, 4), length = fc_little(file + 130, 4);
  if (at <= size && length <= size - at) fc_blob_put(&meta->icc, file + at, length);
}

/* ---- all --------------------------------------------------------------- */

fc_image_meta *fc_image_meta_read(const guint8 *file, gsize size, int orientation) {
  g_autoptr(fc_image_meta) meta = g_new0(fc_image_meta, 1);
  g_atomic_ref_count_init(&meta->references);
  meta->turned = orientation > 1;
  meta->lost = g_string_new(NULL);
  if (fc_image_begins(file, size, "\x89PNG", 4)) meta->family = FC_IMAGES_PNG, read_png(meta, file, size);
  if (fc_image_begins(file, size, "\xff\xd8", 2)) meta->family = FC_IMAGES_JPEG, read_jpeg(meta, file, size);
  if (fc_image_begins(file, size, "BM", 2)) read_bmp(meta, file, size);
  const fc_blob *const all[] = {&meta->exif, &meta->icc, &meta->pieces, &meta->profile, &meta->background};
  for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
    if (all[i]->failed) return NULL;
  fc_exif_set_upright(meta->exif.data, meta->exif.size);
  fc_density *d = &meta->density;
  if (orientation >= 5) {
    *d = (fc_density){d->y, d->x, d->metres};
    fc_exif_exchange_sides(meta->exif.data, meta->exif.size);
  }
  return g_steal_pointer(&meta);
}

fc_image_meta *fc_image_meta_ref(fc_image_meta *meta) {
  if (meta) g_atomic_ref_count_inc(&meta->references);
  return meta;
}

void fc_image_meta_unref(fc_image_meta *meta) {
  if (!meta || !g_atomic_ref_count_dec(&meta->references)) return;
  fc_blob_clear(&meta->exif);
  fc_blob_clear(&meta->icc);
  fc_blob_clear(&meta->pieces);
  fc_blob_clear(&meta->profile);
  fc_blob_clear(&meta->background);
  g_string_free(meta->lost, TRUE);
  g_free(meta);
}

/* ---- resolution -------------------------------------------------------- */

/* Sides of the same length, whatever it is, are what is taken for granted. */
static gboolean says_something(const fc_density *d) {
  return d->x && d->y && d->x <= G_MAXINT32 && d->y <= G_MAXINT32 && (d->metres || d->x != d->y);
}

fc_density fc_image_meta_density(const fc_image_meta *meta) {
  return says_something(&meta->density) ? meta->density : (fc_density){0};
}

/* Dots of a unit that a metre has so many of, and how far they are from what they stand for. */
static double dots(guint32 density, double a_metre, double *number) {
  *number = (double)(guint64)((double)density / a_metre + 0.5);
  double off = *number * a_metre - (double)density;
  return (off < 0 ? -off : off) / (double)density;
}

/* To the inch, or to the centimetre where that comes nearer. */
gboolean fc_density_for_jpeg(const fc_density *density, guint8 to[5]) {
  double x = density->x, y = density->y, by_inch = 0, by_centimetre = 1, x_cm, y_cm;
  if (!says_something(density)) return FALSE;
  if (density->metres) {
    by_inch = dots(density->x, 1 / 0.0254, &x) + dots(density->y, 1 / 0.0254, &y);
    by_centimetre = dots(density->x, 100, &x_cm) + dots(density->y, 100, &y_cm);
    if (by_centimetre < by_inch) x = x_cm, y = y_cm;
  }
  if (x < 1 || y < 1 || x > 65535 || y > 65535) return FALSE;
  guint wide = (guint)x, high = (guint)y;
  to[0] = !density->metres ? 0 : by_centimetre < by_inch ? 2 : 1;
  to[1] = (guint8)(wide >> 8), to[2] = (guint8)wide, to[3] = (guint8)(high >> 8), to[4] = (guint8)high;
  return TRUE;
}

void fc_image_meta_density_for(const fc_image_meta *meta, fc_encode_metadata *to) {
  const fc_density *d = &meta->density;
  fc_density_for_jpeg(d, to->jfif);
  if (!says_something(d) || !d->metres) return;
  to->per_metre_x = d->x, to->per_metre_y = d->y;
  to->per_inch_x = d->x * 0.0254, to->per_inch_y = d->y * 0.0254;
}

static void put_density(fc_blob *to, const fc_density *density) {
  g_auto(fc_blob) body = {0};
  if (!says_something(density)) return;
  fc_blob_put_big(&body, density->x, 4);
  fc_blob_put_big(&body, density->y, 4);
  fc_blob_put_big(&body, density->metres, 1);
  to->failed |= body.failed;
  put_chunk(to, "pHYs", body.data, body.size);
}

/* ---- into PNG ---------------------------------------------------------- */

/* As PNG has it: a name, a method, and compressed. */
static void put_profile(fc_blob *to, const fc_blob *icc) {
  g_auto(fc_blob) body = {0};
  uLongf size = compressBound(icc->size);
  fc_blob_put(&body, "ICC profile\0", 13);
  guint8 *packed = fc_blob_grow(&body, size);
  gboolean done = packed && compress(packed, &size, icc->data, icc->size) == Z_OK;
  to->failed |= !done;
  if (done) put_chunk(to, "iCCP", body.data, 13 + size);
}

/* A text under a keyword, which ends with the first 0 of `head`: that of an iTXt chunk says that it is not
 * compressed, of no language, and not translated. */
static void put_text(fc_blob *to, const char *type, const char *head, gsize head_size, const fc_blob *text) {
  g_auto(fc_blob) body = {0};
  fc_blob_put(&body, head, head_size);
  fc_blob_join(&body, text);
  to->failed |= body.failed;
  put_chunk(to, type, body.data, body.size);
}

/* In Latin-1, or in UTF-8 where it can be nothing else. */
static void put_comment(fc_blob *to, const fc_blob *text) {
  gboolean ascii = TRUE;
  for (gsize i = 0; i < text->size; i++) ascii &= text->data[i] < 128;
  if (!ascii && g_utf8_validate_len((const char *)text->data, text->size, NULL))
    put_text(to, "iTXt", "Comment\0\0\0\0\0", 12, text);
  else
    put_text(to, "tEXt", "Comment\0", 8, text);
}

void fc_image_meta_for_png(const fc_image_meta *meta, int channels, int bits, fc_blob *to, GString *lost) {
  g_auto(fc_image_words) words = {0};
  gboolean same_kind = meta->grey == (channels < 3), copied = meta->family == FC_IMAGES_PNG;
  g_string_append(lost, meta->lost->str);
  if (!copied) fc_image_words_of(meta, &words, lost);
  gboolean profile = words.icc.size > 0 || (copied && meta->profile.size > 0);
  if (profile && !same_kind) fc_media_add_word(lost, "colour profile");
  if (same_kind && copied) fc_blob_join(to, &meta->profile);
  if (same_kind && words.icc.size) put_profile(to, &words.icc);
  put_density(to, &meta->density);
  if (copied) fc_blob_join(to, &meta->pieces);
  if (same_kind && bits == meta->depth)
    fc_blob_join(to, &meta->background);
  else if (meta->background.size)
    fc_media_add_word(lost, "bKGD");
  if (words.xmp.size) put_text(to, "iTXt", "XML:com.adobe.xmp\0\0\0\0\0", 22, &words.xmp);
  if (words.comment.size) put_comment(to, &words.comment);
  if (meta->exif.size) put_chunk(to, "eXIf", meta->exif.data, meta->exif.size);
  to->failed |= words.icc.failed || words.xmp.failed || words.comment.failed;
}

/* ---- into JPEG --------------------------------------------------------- */

/* All at once, or not at all. */
static void put_whole(fc_blob *to, int marker, const char *name, gsize name_size, const fc_blob *data,
                      const char *title, GString *lost) {
  if (!data->size) return;
  if (data->size <= SEGMENT_MAX - name_size)
    put_segment(to, marker, name, name_size, data->data, data->size);
  else
    fc_media_add_word(lost, title);
}

/* In as many pieces as it takes, numbered from 1. */
static void put_profile_segments(fc_blob *to, const fc_blob *icc, GString *lost) {
  const gsize most = SEGMENT_MAX - 14, count = (icc->size + most - 1) / most;
  if (count > 255) fc_media_add_word(lost, "colour profile");
  for (gsize i = 0; count <= 255 && i < count; i++) {
    guint8 name[14] = ICC;
    name[12] = (guint8)(i + 1), name[13] = (guint8)count;
    put_segment(to, APP2, name, sizeof name, icc->data + i * most, MIN(most, icc->size - i * most));
  }
}

/* Of grey too three components are stored, which are not what a profile of one speaks of. */
static gboolean is_of_grey(const guint8 *icc, gsize size) {
  return size >= 20 && memcmp(icc + 16, "GRAY", 4) == 0;
}

/* As it came from a JPEG file: behind the first segment's marker, length, name and numbers. */
static gboolean segments_are_of_grey(const fc_blob *segments) {
  return segments->size > 18 && is_of_grey(segments->data + 18, segments->size - 18);
}

void fc_image_meta_for_jpeg(const fc_image_meta *meta, int channels, fc_blob *to, GString *lost) {
  g_auto(fc_image_words) words = {0};
  gboolean same_kind = meta->grey == (channels < 3), copied = meta->family == FC_IMAGES_JPEG;
  guint8 density[5];
  g_string_append(lost, meta->lost->str);
  if (!copied) fc_image_words_of(meta, &words, lost);
  gboolean profile = words.icc.size > 0 || (copied && meta->profile.size > 0);
  gboolean fits = same_kind && !is_of_grey(words.icc.data, words.icc.size) &&
                  !(copied && segments_are_of_grey(&meta->profile));
  if (profile && !fits) fc_media_add_word(lost, "colour profile");
  put_whole(to, APP1, EXIF, 6, &meta->exif, "EXIF", lost);
  put_whole(to, APP1, FC_XMP, 29, &words.xmp, "XMP", lost);
  if (fits && copied) fc_blob_join(to, &meta->profile);
  if (fits) put_profile_segments(to, &words.icc, lost);
  if (copied) fc_blob_join(to, &meta->pieces);
  put_whole(to, COM, "", 0, &words.comment, "comment", lost);
  if (says_something(&meta->density) && !fc_density_for_jpeg(&meta->density, density))
    fc_media_add_word(lost, "resolution");
  to->failed |= words.icc.failed || words.xmp.failed || words.comment.failed;
}

void fc_image_meta_for_neither(const fc_image_meta *meta, gboolean keeps_density, GString *lost) {
  g_auto(fc_image_words) words = {0};
  g_string_append(lost, meta->lost->str);
  if (says_something(&meta->density) && !(keeps_density && meta->density.metres))
    fc_media_add_word(lost, "resolution");
  fc_image_words_of(meta, &words, lost);
  if (words.icc.size) fc_media_add_word(lost, "colour profile");
  if (meta->exif.size) fc_media_add_word(lost, "EXIF");
  if (words.xmp.size) fc_media_add_word(lost, "XMP");
  if (words.comment.size) fc_media_add_word(lost, "comment");
}
