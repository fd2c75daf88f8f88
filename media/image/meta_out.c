/* SPDX-License-Identifier: MIT */
/* meta_out.c - tags in the form of each image format, see meta.h. */
#include <string.h>
#include <zlib.h>

#include "media/file/bytes.h"
#include "media/file/warn.h"
#include "media/image/exif.h"
#include "media/image/meta.h"

#define DESCRIPTION 270   /* a tag of EXIF data */
#define SEGMENT_MAX 65533 /* a JPEG segment's largest content */

/* ---- density ------------------------------------------------------------- */

/* Pixels with sides of equal length, in any unit, are the default. */
static gboolean says_something(const fc_density *d) {
  return d->x && d->y && d->x <= G_MAXINT32 && d->y <= G_MAXINT32 && (d->metres || d->x != d->y);
}

/* Dots per unit, given the number per metre, and the rounding error. */
static double dots(guint32 density, double a_metre, double *number) {
  *number = (double)(guint64)((double)density / a_metre + 0.5);
  double off = *number * a_metre - (double)density;
  return (off < 0 ? -off : off) / (double)density;
}

/* A unit and two numbers, per inch, or per centimetre if that is nearer; FALSE if JFIF cannot express
 * them. */
static gboolean put_jfif(const fc_density *density, guint8 to[5]) {
  double x = density->x, y = density->y, by_inch = 0, by_centimetre = 1, x_cm, y_cm;
  if (density->metres) {
    by_inch = dots(density->x, 1 / 0.0254, &x) + dots(density->y, 1 / 0.0254, &y);
    by_centimetre = dots(density->x, 100, &x_cm) + dots(density->y, 100, &y_cm);
    if (by_centimetre < by_inch) x = x_cm, y = y_cm;
  }
  if (x < 1 || y < 1 || x > 65535 || y > 65535) return FALSE;
  to[0] = !density->metres ? 0 : by_centimetre < by_inch ? 2 : 1;
  fc_put_big(to + 1, (guint64)x, 2);
  fc_put_big(to + 3, (guint64)y, 2);
  return TRUE;
}

/* What a format can hold. */
enum { HAS_ICC = 1, HAS_EXIF = 2, HAS_XMP = 4, HAS_COMMENT = 8, HAS_DENSITY = 16 };

/* ---- chunks of another family --------------------------------------------- */

/* Chunks of a PNG that the tags' own fields do not cover, or that could not be unpacked; or NULL. Colour
 * information other than a profile, and backgrounds, are dropped between formats. */
static const char *name_png(const fc_tags *tags, const fc_tag_chunk *chunk, int has, char name[8]) {
  memcpy(name, chunk->id, 4);
  name[4] = 0;
  if (strcmp(name, "iCCP") == 0) return tags->icc.size ? NULL : "colour profile";
  if (fc_id_is_among(chunk->id, "gAMA cHRM sRGB cICP bKGD")) return NULL;
  if (!fc_id_is_among(chunk->id, "tEXt zTXt iTXt")) return name;
  if (fc_begins(chunk->data, chunk->size, "XML:com.adobe.xmp", 18)) return tags->xmp.size ? NULL : "XMP";
  const fc_image_text *known = fc_image_text_of(chunk->data, chunk->size);
  const gboolean kept = known && fc_tags_text(tags, known->name);
  if (known && !known->exif) return kept ? NULL : "comment";
  if (kept && (has & HAS_EXIF)) return NULL;
  return fc_begins(chunk->data, chunk->size, "date:", 5)
             ? NULL
             : "texts"; /* the modification time does not apply to another file */
}

static const char *name_jpeg(const fc_tag_chunk *chunk, char name[8]) {
  const int marker = chunk->id[0];
  if (marker == 0xfe) return NULL;
  if (marker == 0xe1 && fc_begins(chunk->data, chunk->size, XMP_HEAD, 29)) return NULL;
  if (marker == 0xe2 && fc_begins(chunk->data, chunk->size, ICC_HEAD, 12)) return NULL;
  if (marker == 0xed) return "IPTC";
  g_snprintf(name, 8, "APP%d", marker & 15);
  return name;
}

static void name_chunks(const fc_tags *tags, int has, GString *lost) {
  char name[8];
  for (guint i = 0; i < tags->chunks->len; i++) {
    const fc_tag_chunk *chunk = &g_array_index(tags->chunks, fc_tag_chunk, i);
    const char *word =
        tags->family == FC_TAGS_PNG ? name_png(tags, chunk, has, name) : name_jpeg(chunk, name);
    if (word) fc_media_add_word(lost, lost->len < 200 ? word : "further chunks");
  }
}

/* ---- PNG --------------------------------------------------------------- */

static void put_chunk(fc_blob *to, const void *type, const void *data, gsize size) {
  fc_blob_put_big(to, size, 4);
  gsize start = to->size;
  fc_blob_put(to, type, 4);
  fc_blob_put(to, data, size);
  if (!to->failed) fc_blob_put_big(to, crc32(0, to->data + start, (uInt)(to->size - start)), 4);
}

/* In PNG's form: a name, a method, and compressed data. */
static void put_profile(fc_blob *to, const fc_blob *icc) {
  g_auto(fc_blob) body = {0};
  uLongf size = compressBound(icc->size);
  fc_blob_put(&body, "ICC profile\0", 13);
  guint8 *packed = fc_blob_grow(&body, size);
  gboolean done = packed && compress(packed, &size, icc->data, icc->size) == Z_OK;
  to->failed |= !done;
  if (done) put_chunk(to, "iCCP", body.data, 13 + size);
}

/* A text with a keyword, which ends with the first 0 of `head`: the head of an iTXt chunk says not
 * compressed, no language, not translated. */
static void put_text(fc_blob *to, const char *type, const char *head, gsize head_size, const fc_blob *text) {
  g_auto(fc_blob) body = {0};
  if (!text->size) return;
  fc_blob_put(&body, head, head_size);
  fc_blob_join(&body, text);
  to->failed |= body.failed;
  put_chunk(to, type, body.data, body.size);
}

/* In Latin-1, or in UTF-8 if necessary. */
static void put_comment(fc_blob *to, const fc_blob *text) {
  gboolean ascii = TRUE;
  for (gsize i = 0; i < text->size; i++) ascii &= text->data[i] < 128;
  if (!ascii && g_utf8_validate_len((const char *)text->data, text->size, NULL))
    put_text(to, "iTXt", "Comment\0\0\0\0\0", 12, text);
  else
    put_text(to, "tEXt", "Comment\0", 8, text);
}

/* A background depends on the type of samples, a profile on their kind. */
static gboolean still_holds(const fc_tag_chunk *chunk, const fc_meta_form *form) {
  if (memcmp(chunk->id, "bKGD", 4) == 0)
    return form->dtype == form->like_dtype && chunk->size == (form->channels < 3 ? 2 : 6);
  return memcmp(chunk->id, "iCCP", 4) != 0 || (form->channels < 3) == (form->like_channels < 3);
}

static void write_png(const fc_tags *tags, const fc_meta_form *form, fc_encode_metadata *to, GString *lost) {
  fc_blob *pieces = &to->pieces;
  if (says_something(&tags->density)) {
    guint8 body[9];
    fc_put_big(body, tags->density.x, 4);
    fc_put_big(body + 4, tags->density.y, 4);
    body[8] = tags->density.metres != 0;
    put_chunk(pieces, "pHYs", body, sizeof body);
  }
  if (to->icc.size && tags->family != FC_TAGS_PNG) put_profile(pieces, &to->icc);
  for (guint i = 0; tags->family == FC_TAGS_PNG && i < tags->chunks->len; i++) {
    const fc_tag_chunk *chunk = &g_array_index(tags->chunks, fc_tag_chunk, i);
    if (still_holds(chunk, form))
      put_chunk(pieces, chunk->id, chunk->data, chunk->size);
    else if (memcmp(chunk->id, "bKGD", 4) == 0)
      fc_media_add_word(lost, "bKGD");
  }
  if (tags->family != FC_TAGS_PNG) {
    put_text(pieces, "iTXt", "XML:com.adobe.xmp\0\0\0\0\0", 22, &to->xmp);
    put_comment(pieces, &to->comment);
  }
  if (to->exif.size) put_chunk(pieces, "eXIf", to->exif.data, to->exif.size);
}

/* ---- JPEG -------------------------------------------------------------- */

static void put_segment(fc_blob *to, int marker, const void *name, gsize name_size, const void *data,
                        gsize size) {
  fc_blob_put_big(to, 0xff00u | (guint)marker, 2);
  fc_blob_put_big(to, 2 + name_size + size, 2);
  fc_blob_put(to, name, name_size);
  fc_blob_put(to, data, size);
}

/* In one segment, or not at all. */
static void put_whole(fc_blob *to, int marker, const char *name, gsize name_size, const fc_blob *data,
                      const char *title, GString *lost) {
  if (!data->size) return;
  if (data->size <= SEGMENT_MAX - name_size)
    put_segment(to, marker, name, name_size, data->data, data->size);
  else
    fc_media_add_word(lost, title);
}

/* In as many segments as necessary, numbered from 1. */
static void put_profile_segments(fc_blob *to, const fc_blob *icc, GString *lost) {
  const gsize most = SEGMENT_MAX - 14, count = (icc->size + most - 1) / most;
  if (count > 255) fc_media_add_word(lost, "colour profile");
  for (gsize i = 0; count <= 255 && i < count; i++) {
    guint8 name[14] = ICC_HEAD;
    name[12] = (guint8)(i + 1), name[13] = (guint8)count;
    put_segment(to, 0xe2, name, sizeof name, icc->data + i * most, MIN(most, icc->size - i * most));
  }
}

static void write_jpeg(const fc_tags *tags, const fc_meta_form *form, fc_encode_metadata *to, GString *lost) {
  fc_blob *pieces = &to->pieces;
  const gboolean copied = tags->family == FC_TAGS_JPEG;
  put_whole(pieces, 0xe1, "Exif\0\0", 6, &to->exif, "EXIF", lost);
  if (!copied) put_whole(pieces, 0xe1, XMP_HEAD, 29, &to->xmp, "XMP", lost);
  if (!copied) put_profile_segments(pieces, &to->icc, lost);
  for (guint i = 0; copied && i < tags->chunks->len; i++) {
    const fc_tag_chunk *chunk = &g_array_index(tags->chunks, fc_tag_chunk, i);
    const gboolean profile = chunk->id[0] == 0xe2 && fc_begins(chunk->data, chunk->size, ICC_HEAD, 12);
    if (!profile || to->icc.size) put_segment(pieces, chunk->id[0], NULL, 0, chunk->data, chunk->size);
  }
  if (!copied) put_whole(pieces, 0xfe, NULL, 0, &to->comment, "comment", lost);
  if (says_something(&tags->density) && !put_jfif(&tags->density, to->jfif))
    fc_media_add_word(lost, "resolution");
}

/* ---- all --------------------------------------------------------------- */

/* A whole number, where that is the same number per metre. */
static double per_inch(guint32 per_metre) {
  const double inch = per_metre * 0.0254, whole = (double)(guint64)(inch + 0.5);
  return (guint32)(whole / 0.0254 + 0.5) == per_metre ? whole : inch;
}

static void write_others(const fc_tags *tags, int has, fc_encode_metadata *to, GString *lost) {
  const fc_density *d = &tags->density;
  if (to->icc.size && !(has & HAS_ICC)) fc_media_add_word(lost, "colour profile");
  if (to->exif.size && !(has & HAS_EXIF)) fc_media_add_word(lost, "EXIF");
  if (to->xmp.size && !(has & HAS_XMP)) fc_media_add_word(lost, "XMP");
  if (to->comment.size && !(has & HAS_COMMENT)) fc_media_add_word(lost, "comment");
  if (!says_something(d)) return;
  if (!(has & HAS_DENSITY) || !d->metres) {
    fc_media_add_word(lost, "resolution");
    return;
  }
  to->per_metre_x = d->x, to->per_metre_y = d->y;
  to->per_inch_x = per_inch(d->x), to->per_inch_y = per_inch(d->y);
}

/* Comments are joined; the other texts become EXIF data, where the format has these. */
static void place_texts(const fc_tags *tags, gboolean exif, fc_encode_metadata *to) {
  for (guint i = 0; i < tags->texts->len; i++) {
    const fc_tag_text *text = &g_array_index(tags->texts, fc_tag_text, i);
    const fc_image_text *known = fc_image_text_named(text->name);
    if (!known) continue;
    if (known->exif) {
      g_autofree char *utf8 = exif ? fc_text_to_utf8(text->value, text->size) : NULL;
      if (utf8) fc_exif_add_text(&to->exif, known->exif, utf8);
      to->exif.failed |= exif && !utf8;
      continue;
    }
    if (to->comment.size) fc_blob_put(&to->comment, "\n", 1);
    fc_blob_put(&to->comment, text->value, text->size);
  }
}

/* A comment that EXIF data have as description is in them already; a TIFF file has one description. */
static void join_comment(gboolean tiff, fc_encode_metadata *to, GString *lost) {
  fc_tiff_field field;
  const fc_blob *exif = &to->exif;
  if (!to->comment.size || !fc_tiff_find(exif->data, exif->size, DESCRIPTION, &field)) return;
  const gboolean same = strnlen((const char *)exif->data + field.at, field.size) == to->comment.size &&
                        memcmp(exif->data + field.at, to->comment.data, to->comment.size) == 0;
  if (tiff && !same) fc_media_add_word(lost, "comment");
  if (tiff || same) fc_blob_clear(&to->comment);
}

static int abilities(const char *format) {
  static const struct {
    const char *format;
    int has;
  } table[] = {{"png", HAS_ICC | HAS_EXIF | HAS_XMP | HAS_COMMENT | HAS_DENSITY},
               {"jpg", HAS_ICC | HAS_EXIF | HAS_XMP | HAS_COMMENT | HAS_DENSITY},
               {"webp", HAS_ICC | HAS_EXIF | HAS_XMP},
               {"tiff", HAS_ICC | HAS_EXIF | HAS_XMP | HAS_COMMENT | HAS_DENSITY},
               {"bmp", HAS_DENSITY}};
  for (gsize i = 0; i < G_N_ELEMENTS(table); i++)
    if (strcmp(table[i].format, format) == 0) return table[i].has;
  return 0;
}

void fc_image_tags_write(const fc_tags *tags, const fc_meta_form *form, fc_encode_metadata *to,
                         GString *lost) {
  const gboolean png = strcmp(form->format, "png") == 0, jpeg = strcmp(form->format, "jpg") == 0,
                 tiff = strcmp(form->format, "tiff") == 0;
  const gboolean copied = (png && tags->family == FC_TAGS_PNG) || (jpeg && tags->family == FC_TAGS_JPEG);
  const gboolean same_kind = (form->channels < 3) == (form->like_channels < 3);
  const int has = abilities(form->format);
  if (same_kind)
    fc_blob_join(&to->icc, &tags->icc);
  else if (tags->icc.size)
    fc_media_add_word(lost, "colour profile");
  fc_blob_join(&to->exif, &tags->exif);
  fc_blob_join(&to->xmp, &tags->xmp);
  if (tiff && to->exif.size && !fc_exif_is_valid(to->exif.data, to->exif.size)) {
    fc_media_add_word(lost, "EXIF");
    fc_blob_clear(&to->exif);
  }
  if (tiff && fc_tiff_has_more(to->exif.data, to->exif.size)) fc_media_add_word(lost, "thumbnail");
  place_texts(tags, !copied && (has & HAS_EXIF), to);
  if (!copied) name_chunks(tags, has, lost);
  if (!png && !jpeg) join_comment(tiff, to, lost);
  if (png)
    write_png(tags, form, to, lost);
  else if (jpeg)
    write_jpeg(tags, form, to, lost);
  else
    write_others(tags, has, to, lost);
}

void fc_encode_metadata_clear(fc_encode_metadata *metadata) {
  fc_blob_clear(&metadata->pieces);
  fc_blob_clear(&metadata->icc);
  fc_blob_clear(&metadata->exif);
  fc_blob_clear(&metadata->xmp);
  fc_blob_clear(&metadata->comment);
}

gboolean fc_encode_metadata_check(const fc_encode_metadata *m, const char *name, GError **error) {
  return fc_blob_check(&m->pieces, name, error) && fc_blob_check(&m->icc, name, error) &&
         fc_blob_check(&m->exif, name, error) && fc_blob_check(&m->xmp, name, error) &&
         fc_blob_check(&m->comment, name, error);
}
