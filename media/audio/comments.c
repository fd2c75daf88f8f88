/* SPDX-License-Identifier: MIT */
/* comments.c - see comments.h. Lengths and counts are of 32 bits, the low ones first; in pictures the high
 * ones. */
#include "media/audio/comments.h"

#include <string.h>

#include "media/file/bytes.h"
#include "media/audio/flac_front.h"
#include "media/file/warn.h"

enum { NUMBER = 4 };

#define PICTURE "METADATA_BLOCK_PICTURE="
#define MASK    FC_COMMENTS_MASK "="
/* Which libsndfile puts ahead of all that it writes into Vorbis. */
#define LIBRARY "ENCODER=libsndfile"

/* The length of a body's first text, as far as it is there. */
static gsize first_length(const guint8 *body, gsize size) {
  return size >= NUMBER ? MIN(fc_little(body, NUMBER), size - NUMBER) : 0;
}

gboolean fc_comments_read(fc_comments *comments, const guint8 *body, gsize size) {
  gsize at = NUMBER + first_length(body, size);
  if (at + NUMBER > size) return FALSE;
  guint32 left = fc_little(body + at, NUMBER);
  for (at += NUMBER; left && at + NUMBER <= size; left--, comments->count++) {
    gsize length = NUMBER + (gsize)fc_little(body + at, NUMBER);
    if (length > size - at) return FALSE;
    fc_blob_put(&comments->fields, body + at, length);
    at += length;
  }
  return left == 0;
}

void fc_comments_read_behind(fc_comments *comments, const guint8 *body, gsize size) {
  gsize end = NUMBER + first_length(body, size) + NUMBER + comments->fields.size;
  if (!comments->fields.failed && end < size && (body[end] & 1))
    fc_blob_put(&comments->behind, body + end, size - end);
  comments->fields.failed |= comments->behind.failed;
}

void fc_comments_clear(fc_comments *comments) {
  fc_blob_clear(&comments->fields);
  fc_blob_clear(&comments->behind);
  comments->count = 0;
}

void fc_comments_put(const fc_comments *comments, const guint8 *like, gsize size, fc_blob *to) {
  gsize name = first_length(like, size);
  fc_blob_put_little(to, name, NUMBER);
  if (name) fc_blob_put(to, like + NUMBER, name);
  fc_blob_put_little(to, comments->count, NUMBER);
  fc_blob_join(to, &comments->fields);
}

/* The field at *at, and its size; NULL behind the last one. */
static const guint8 *next_field(const fc_comments *comments, gsize *at, gsize *size) {
  if (*at >= comments->fields.size) return NULL;
  const guint8 *field = comments->fields.data + *at + NUMBER;
  *size = fc_little(field - NUMBER, NUMBER);
  *at += NUMBER + *size;
  return field;
}

/* One of others, with the length that stands ahead of it. */
static void add_field(fc_comments *comments, const guint8 *field, gsize size) {
  fc_blob_put(&comments->fields, field - NUMBER, NUMBER + size);
  comments->count++;
}

static gboolean begins(const guint8 *field, gsize size, const char *with) {
  return size >= strlen(with) && g_ascii_strncasecmp((const char *)field, with, strlen(with)) == 0;
}

void fc_comments_find(const fc_comments *comments, fc_text_found found, void *data) {
  const guint8 *field;
  for (gsize at = 0, size; (field = next_field(comments, &at, &size));)
    if (size != strlen(LIBRARY) || !begins(field, size, LIBRARY))
      fc_texts_find_comment(field, size, found, data);
}

/* ---- what holds, and fits ---------------------------------------------------- */

static gboolean is_stale(const guint8 *field, gsize size, const fc_comments_rules *rules) {
  gboolean chapter = begins(field, size, "CHAPTER") && size > 7 && g_ascii_isdigit(field[7]);
  if (chapter || begins(field, size, "CUESHEET=")) return !rules->places;
  return begins(field, size, MASK) && !rules->seats;
}

static void add_name(const char *name, int which, const char *text, gsize size, void *data) {
  fc_media_add_word(data, name ? name : "texts");
}

void fc_comments_choose(const fc_comments *comments, const fc_comments_rules *rules, fc_comments *to) {
  const guint8 *field;
  for (gsize at = 0, size; (field = next_field(comments, &at, &size));) {
    gboolean stale = is_stale(field, size, rules);
    if (!stale && to->count < rules->most && to->fields.size + NUMBER + size <= rules->room)
      add_field(to, field, size);
    else
      fc_texts_find_comment(field, size, add_name, stale ? rules->stale : rules->large);
  }
}

/* ---- speakers ---------------------------------------------------------------- */

gboolean fc_comments_get_mask(const fc_comments *comments, guint32 *mask) {
  const gsize name = strlen(MASK);
  const guint8 *field;
  for (gsize at = 0, size; (field = next_field(comments, &at, &size));) {
    char digits[16], *end;
    if (!begins(field, size, MASK "0x") || size - name >= sizeof digits) continue;
    memcpy(digits, field + name, size - name);
    digits[size - name] = 0;
    guint64 value = g_ascii_strtoull(digits, &end, 16);
    if (end != digits + size - name || !value || value > G_MAXUINT32) continue;
    *mask = (guint32)value;
    return TRUE;
  }
  return FALSE;
}

void fc_comments_put_mask(fc_comments *comments, guint32 mask) {
  g_autofree char *text = g_strdup_printf(MASK "0x%04X", mask);
  fc_blob_put_little(&comments->fields, strlen(text), NUMBER);
  fc_blob_put(&comments->fields, text, strlen(text));
  comments->count++;
}

/* ---- pictures ---------------------------------------------------------------- */

/* Kind, two texts, four numbers, and the image: libFLAC reads no file in which one of them does not fit. */
static gboolean is_picture(const guint8 *content, gsize size) {
  gsize at = NUMBER;
  for (int i = 0; i < 3; i++) {
    if (at + NUMBER > size) return FALSE;
    gsize length = fc_big(content + at, NUMBER);
    at += NUMBER;
    if (length > size - at) return FALSE;
    at += length + (i == 1 ? 4 * NUMBER : 0);
  }
  return at == size && size <= FC_FLAC_BLOCK_MAX;
}

/* FALSE, with nothing appended, when it is no picture. */
static gboolean append_picture(const guint8 *text, gsize size, fc_blob *blocks) {
  gint state = 0;
  guint save = 0;
  gsize begin = blocks->size;
  guint8 *block = fc_blob_grow(blocks, FC_FLAC_BLOCK_HEAD + size / 4 * 3 + 3);
  if (!block) return TRUE; /* it has failed */
  gsize length = g_base64_decode_step((const char *)text, size, block + FC_FLAC_BLOCK_HEAD, &state, &save);
  gboolean good = is_picture(block + FC_FLAC_BLOCK_HEAD, length);
  if (good) fc_flac_block_head(block, FC_FLAC_PICTURE, length);
  blocks->size = begin + (good ? FC_FLAC_BLOCK_HEAD + length : 0);
  return good;
}

void fc_comments_take_pictures(fc_comments *comments, fc_blob *blocks) {
  fc_comments rest = {.fields.failed = comments->fields.failed};
  const gsize name = strlen(PICTURE);
  const guint8 *field;
  for (gsize at = 0, size; (field = next_field(comments, &at, &size));)
    if (!begins(field, size, PICTURE) || !append_picture(field + name, size - name, blocks))
      add_field(&rest, field, size);
  fc_blob_clear(&comments->fields);
  comments->fields = rest.fields;
  comments->count = rest.count;
}

void fc_comments_add_picture(fc_comments *comments, const guint8 *content, gsize size) {
  const gsize name = strlen(PICTURE), text = (size + 2) / 3 * 4;
  gint state = 0, save = 0;
  fc_blob_put_little(&comments->fields, name + text, NUMBER);
  fc_blob_put(&comments->fields, PICTURE, name);
  /* GLib writes no lines here, but asks for room as if it did. */
  char *to = (char *)fc_blob_grow(&comments->fields, text + 8);
  if (!to) return;
  gsize done = g_base64_encode_step(content, size, FALSE, to, &state, &save);
  g_base64_encode_close(FALSE, to + done, &state, &save);
  comments->fields.size -= 8;
  comments->count++;
}
