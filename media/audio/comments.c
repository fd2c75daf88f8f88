/* SPDX-License-Identifier: MIT */
/* comments.c - see audio_tags.h. Lengths and counts have 32 bits, little-endian; in pictures big-endian. */
#include "media/audio/audio_tags.h"

#include <string.h>

#include "media/audio/channel_layout.h"
#include "media/file/bytes.h"

enum { NUMBER = 4 };

#define PICTURE "METADATA_BLOCK_PICTURE"
#define MASK    "WAVEFORMATEXTENSIBLE_CHANNEL_MASK"
/* libsndfile puts this before the name that it writes into Vorbis: the library's, not a program's. */
#define LIBRARY "libsndfile"
/* Limit of one FLAC block, less the encoder's name; libFLAC refuses files with more fields. */
#define FLAC_BYTES_MAX  ((gsize)0xffffff - 4096)
#define FLAC_FIELDS_MAX 100000

/* The length of a body's first text, as far as it is present. */
static gsize first_length(const guint8 *body, gsize size) {
  return size >= NUMBER ? MIN((gsize)fc_little(body, NUMBER), size - NUMBER) : 0;
}

gboolean fc_comments_is_picture(const guint8 *content, gsize size) {
  gsize at = NUMBER;
  for (int i = 0; i < 3; i++) {
    if (at + NUMBER > size) return FALSE;
    const gsize length = (gsize)fc_big(content + at, NUMBER);
    at += NUMBER;
    if (length > size - at) return FALSE;
    at += length + (i == 1 ? 4 * NUMBER : 0);
  }
  return at == size && size <= 0xffffff;
}

/* ---- reading ------------------------------------------------------------------ */

static gboolean is_name(const guint8 *name, gsize size, const char *known) {
  return size == strlen(known) && g_ascii_strncasecmp((const char *)name, known, size) == 0;
}

static gboolean add_picture(fc_tags *tags, const guint8 *text, gsize size) {
  gint state = 0;
  guint save = 0;
  g_autofree guint8 *block = g_try_malloc(size / 4 * 3 + 3);
  tags->failed |= !block;
  if (!block) return TRUE;
  const gsize length = g_base64_decode_step((const char *)text, size, block, &state, &save);
  const gboolean good = fc_comments_is_picture(block, length);
  if (good) fc_tags_add_picture(tags, block, length);
  return good;
}

static void read_mask(fc_tags *tags, const guint8 *text, gsize size) {
  char digits[16] = "", *end;
  if (size < 3 || size >= sizeof digits) return;
  memcpy(digits, text, size);
  const guint64 mask = g_ascii_strtoull(digits, &end, 16);
  if (end != digits + size || !mask || mask > G_MAXUINT32) return;
  tags->speakers = (guint32)mask;
  tags->speakers_stated = TRUE;
}

gboolean fc_comments_is_mask(const fc_tag_text *text) {
  return text->name && g_ascii_strcasecmp(text->name, MASK) == 0;
}

static void add_field(fc_tags *tags, const guint8 *field, gsize size) {
  const guint8 *equals = size ? memchr(field, '=', size) : NULL;
  const gsize name = equals ? (gsize)(equals - field) : 0, head = equals ? name + 1 : 0;
  const guint8 *value = field + head;
  if (name > FC_TAG_NAME_MAX) { /* it is copied as a whole */
    fc_tags_add_text(tags, NULL, field, (gssize)size);
    return;
  }
  if (is_name(field, name, PICTURE) && add_picture(tags, value, size - head)) return;
  if (is_name(field, name, MASK)) read_mask(tags, value, size - head);
  if (is_name(field, name, "ENCODER") && is_name(value, size - head, LIBRARY)) return;
  g_autofree char *copy = equals ? g_strndup((const char *)field, name) : NULL;
  fc_tags_add_text(tags, copy, value, (gssize)(size - head));
}

gboolean fc_comments_read(fc_tags *tags, const guint8 *body, gsize size) {
  gsize at = NUMBER + first_length(body, size);
  if (at + NUMBER > size) return FALSE;
  guint32 left = (guint32)fc_little(body + at, NUMBER);
  for (at += NUMBER; left && at + NUMBER <= size; left--) {
    const gsize length = (gsize)fc_little(body + at, NUMBER);
    at += NUMBER;
    if (length > size - at) return FALSE;
    add_field(tags, body + at, length);
    at += length;
  }
  return left == 0;
}

/* ---- writing ------------------------------------------------------------------ */

typedef struct field_writer {
  fc_blob fields;
  guint32 count;
  gboolean flac;
} field_writer;

static gboolean has_room(const field_writer *writer, gsize size) {
  return !writer->flac ||
         (writer->fields.size + NUMBER + size <= FLAC_BYTES_MAX && writer->count < FLAC_FIELDS_MAX);
}

static void put_field(field_writer *writer, const char *name, const void *value, gsize size) {
  const gsize head = name ? strlen(name) + 1 : 0;
  fc_blob_put_little(&writer->fields, head + size, NUMBER);
  if (name) fc_blob_put(&writer->fields, name, head - 1);
  if (name) fc_blob_put(&writer->fields, "=", 1);
  fc_blob_put(&writer->fields, value, size);
  writer->count++;
}

/* Texts of other families are converted to UTF-8; comments are copied byte for byte. */
static void put_text(field_writer *writer, const fc_audio_spec *spec, const fc_tag_text *text) {
  const gboolean own = spec->tags->family == FC_TAGS_FLAC || spec->tags->family == FC_TAGS_OGG;
  g_autofree char *moved = NULL;
  fc_tag_text holds = *text;
  if (!fc_audio_move_text(spec, &holds, &moved)) return;
  text = &holds;
  g_autofree char *utf8 = own ? NULL : fc_text_to_utf8(text->value, text->size);
  if (!own && !utf8) {
    writer->fields.failed = TRUE;
    return;
  }
  const gsize size = own ? text->size : strlen(utf8);
  const gboolean mask = fc_comments_is_mask(text) && spec->tags->channels != spec->channels;
  if (mask || !has_room(writer, size + (text->name ? strlen(text->name) + 1 : 0)))
    fc_media_add_word(spec->lost, fc_tag_text_title(text));
  else
    put_field(writer, text->name, own ? text->value : utf8, size);
}

static void put_picture(field_writer *writer, const fc_blob *block) {
  gint state = 0, save = 0;
  /* GLib writes no line breaks here, but requires space for them. */
  const gsize size = (block->size + 2) / 3 * 4;
  g_autofree char *text = g_try_malloc(size + 8);
  writer->fields.failed |= !text;
  if (!text) return;
  gsize done = g_base64_encode_step(block->data, block->size, FALSE, text, &state, &save);
  done += g_base64_encode_close(FALSE, text + done, &state, &save);
  put_field(writer, PICTURE, text, done);
}

void fc_comments_put(const fc_audio_spec *spec, const guint8 *like, gsize size, fc_blob *to) {
  field_writer writer = {.flac = (spec->samples.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC};
  const fc_tags *tags = spec->tags;
  const guint32 mask = writer.flac ? fc_channel_mask_choose(spec) : 0;
  const gboolean needed = mask && (mask != fc_channel_mask_of_codec(spec->samples.format, spec->channels) ||
                                   (tags->speakers_stated && spec->channels > 2));
  for (guint i = 0; tags && i < tags->texts->len; i++)
    put_text(&writer, spec, &g_array_index(tags->texts, fc_tag_text, i));
  for (guint i = 0; tags && !writer.flac && i < tags->pictures->len; i++)
    put_picture(&writer, &g_array_index(tags->pictures, fc_blob, i));
  if (needed && !fc_tags_text(tags, MASK)) {
    g_autofree char *text = g_strdup_printf("0x%04X", mask);
    put_field(&writer, MASK, text, strlen(text));
  }
  const gsize name = first_length(like, size);
  fc_blob_put_little(to, name, NUMBER);
  if (name) fc_blob_put(to, like + NUMBER, name);
  fc_blob_put_little(to, writer.count, NUMBER);
  fc_blob_join(to, &writer.fields);
  fc_blob_clear(&writer.fields);
}
