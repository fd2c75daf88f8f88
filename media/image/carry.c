/* SPDX-License-Identifier: MIT */
/*
 * image_carry.c - what the chunks of a PNG and the segments of a JPEG file hold, unpacked for files of
 * another kind. What is packed may claim to be anything: it is unpacked to a limit.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "media/file/bytes.h"
#include "media/file/warn.h"
#include "media/image/meta.h"

/* All together: a profile is to fit a JPEG file's 16 MB. */
#define UNPACKED_MAX ((gsize)32 << 20)
#define PIECE        ((gsize)32 << 10)

void fc_image_words_clear(fc_image_words *words) {
  fc_blob_clear(&words->icc);
  fc_blob_clear(&words->xmp);
  fc_blob_clear(&words->comment);
}

/* FALSE for what is damaged, or more than the limit; no memory is the blob's failure. */
static gboolean unpack(fc_image_words *words, fc_blob *to, const guint8 *from, gsize size) {
  z_stream zip = {.next_in = (Bytef *)from, .avail_in = (uInt)size};
  gsize before = to->size;
  int state = inflateInit(&zip);
  while (state == Z_OK && words->unpacked < UNPACKED_MAX) {
    guint8 *place = fc_blob_grow(to, PIECE);
    if (!place) break;
    zip.next_out = place, zip.avail_out = (uInt)PIECE;
    state = inflate(&zip, Z_NO_FLUSH);
    to->size -= zip.avail_out;
    words->unpacked += PIECE;
  }
  inflateEnd(&zip);
  if (state != Z_STREAM_END) to->size = before;
  return state == Z_STREAM_END || to->failed;
}

/* ---- PNG --------------------------------------------------------------- */

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

static gboolean is_keyword(const guint8 *body, gsize size, const char *word) {
  return size > strlen(word) && memcmp(body, word, strlen(word) + 1) == 0;
}

/* When the file was made is not true of another one. */
static void take_text(const guint8 *type, const guint8 *body, gsize size, fc_image_words *words,
                      GString *lost) {
  gboolean packed, xmp = is_keyword(body, size, "XML:com.adobe.xmp"),
                   comment = is_keyword(body, size, "Comment");
  gsize at = text_at(type, body, size, &packed);
  fc_blob *to = xmp ? &words->xmp : &words->comment;
  if (!xmp && !comment) {
    if (size < 5 || memcmp(body, "date:", 5) != 0) fc_media_add_word(lost, "texts");
    return;
  }
  if (to->size) fc_blob_put(to, "\n", 1);
  if (!packed)
    fc_blob_put(to, body + at, size - at);
  else if (!unpack(words, to, body + at, size - at))
    fc_media_add_word(lost, xmp ? "XMP" : "comment");
}

static gboolean is_text(const guint8 *type) {
  return fc_image_is_one_of(type, "tEXtzTXtiTXt");
}

static gboolean is_colour(const guint8 *type) {
  return fc_image_is_one_of(type, "gAMAcHRMsRGBcICP");
}

/* sRGB, as gamma and chromaticities or as code points have it: what is taken of a file that says nothing. */
static gboolean is_usual(const guint8 *type, const guint8 *body, gsize size) {
  static const guint32 corners[8] = {31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000};
  if (memcmp(type, "sRGB", 4) == 0) return TRUE;
  if (memcmp(type, "gAMA", 4) == 0) return size == 4 && labs((long)fc_big(body, 4) - 45455) < 500;
  if (memcmp(type, "cICP", 4) == 0) return size == 4 && body[0] == 1 && body[1] == 13;
  for (gsize i = 0; size == 32 && i < 8; i++)
    if (labs((long)fc_big(body + 4 * i, 4) - (long)corners[i]) > 100) return FALSE;
  return size == 32;
}

/* What a file says of its colours beside a profile. */
static void take_colours(const fc_image_meta *meta, GString *lost) {
  const guint8 *type, *body;
  gboolean told = meta->profile.size > 0, usual = TRUE;
  for (gsize at = 0, size; (body = fc_image_next_chunk(&meta->pieces, &at, &type, &size));) {
    told |= memcmp(type, "sRGB", 4) == 0;
    if (is_colour(type)) usual &= is_usual(type, body, size);
  }
  if (!told && !usual) fc_media_add_word(lost, "gamma and chromaticities");
}

/* What no other kind of file has a place for. */
static void name_others(const fc_image_meta *meta, GString *lost) {
  const guint8 *type;
  if (meta->background.size) fc_media_add_word(lost, "bKGD");
  for (gsize at = 0, size; fc_image_next_chunk(&meta->pieces, &at, &type, &size);)
    if (!is_text(type) && !is_colour(type)) fc_image_add_type(lost, type);
}

/* Behind a name, a 0 and the method. */
static void take_profile(const fc_blob *chunks, fc_image_words *words, GString *lost) {
  const guint8 *type;
  gsize at = 0, size;
  const guint8 *body = fc_image_next_chunk(chunks, &at, &type, &size);
  gsize packed = body ? behind_zero(body, size, 0) + 1 : 0;
  if (body && (packed > size || !unpack(words, &words->icc, body + packed, size - packed)))
    fc_media_add_word(lost, "colour profile");
}

/* ---- JPEG -------------------------------------------------------------- */

/* A comment is text, in whatever encoding. */
static void take_comment(const guint8 *body, gsize size, fc_image_words *words, GString *lost) {
  while (size && !body[size - 1]) size--;
  if (memchr(body, 0, size)) {
    fc_media_add_word(lost, "comment");
    return;
  }
  if (size && words->comment.size) fc_blob_put(&words->comment, "\n", 1);
  fc_blob_put(&words->comment, body, size);
}

static void name_segment(int marker, GString *lost) {
  char name[8];
  g_snprintf(name, sizeof name, "APP%d", marker & 15);
  fc_media_add_word(lost, name);
}

static void take_segments(const fc_blob *segments, fc_image_words *words, GString *lost) {
  const guint8 *body;
  int marker;
  for (gsize at = 0, size; (body = fc_image_next_segment(segments, &at, &marker, &size));) {
    if (marker == 0xfffe)
      take_comment(body, size, words, lost);
    else if (marker == 0xffed)
      fc_media_add_word(lost, "IPTC");
    else if (fc_image_begins(body, size, FC_XMP, 29) && !words->xmp.size)
      fc_blob_put(&words->xmp, body + 29, size - 29);
    else if (fc_image_begins(body, size, FC_XMP, 29) || fc_image_begins(body, size, FC_XMP_ALL, 35))
      fc_media_add_word(lost, "further XMP");
    else
      name_segment(marker, lost);
  }
}

/* Pieces from 1 to their number, in this order. */
static void join_profile(const fc_blob *segments, fc_blob *icc, GString *lost) {
  const guint8 *body;
  int marker, next = 1, count = 1;
  for (gsize at = 0, size; (body = fc_image_next_segment(segments, &at, &marker, &size)); next++) {
    if (next == 1) count = body[13];
    if (body[12] != next || body[13] != count) break;
    fc_blob_put(icc, body + 14, size - 14);
  }
  if (!body && (next == count + 1 || !segments->size)) return;
  fc_media_add_word(lost, "colour profile");
  icc->size = 0;
}

/* ---- either ------------------------------------------------------------ */

void fc_image_words_of(const fc_image_meta *meta, fc_image_words *words, GString *lost) {
  const guint8 *type, *body;
  fc_blob_join(&words->icc, &meta->icc);
  if (meta->family == FC_IMAGES_JPEG) {
    take_segments(&meta->pieces, words, lost);
    join_profile(&meta->profile, &words->icc, lost);
  }
  if (meta->family != FC_IMAGES_PNG) return;
  take_profile(&meta->profile, words, lost);
  for (gsize at = 0, size; (body = fc_image_next_chunk(&meta->pieces, &at, &type, &size));)
    if (is_text(type)) take_text(type, body, size, words, lost);
  take_colours(meta, lost);
  name_others(meta, lost);
}
