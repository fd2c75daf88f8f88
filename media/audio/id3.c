/* SPDX-License-Identifier: MIT */
/* id3.c - see id3.h. After ID3 2.2, 2.3 and 2.4, which differ in the size of ids and sizes. */
#include "media/audio/id3.h"

#include <string.h>

#include "media/file/bytes.h"

enum { TAG_HEAD = 10, FRAME_HEAD = 4, EXTENDED = 0x40, FOOTER = 0x10 };

#define TAGS_MAX   64   /* tags in a row: more than any real file has */
#define FRAMES_MAX 4096 /* more than any real tag has */
#define ZEROS_MAX  ((gint64)1 << 20)

static const struct {
  const char *id, *name;
} texts[] = {{"TIT2", "TITLE"},      {"TPE1", "ARTIST"},     {"TALB", "ALBUM"},       {"TDRC", "DATE"},
             {"TYER", "DATE"},       {"TCON", "GENRE"},      {"TRCK", "TRACKNUMBER"}, {"TCOP", "COPYRIGHT"},
             {"TSSE", "ENCODER"},    {"TENC", "ENCODED-BY"}, {"TCOM", "COMPOSER"},    {"TPE2", "ALBUMARTIST"},
             {"TPOS", "DISCNUMBER"}, {"TPUB", "PUBLISHER"},  {"TSRC", "ISRC"},        {"TBPM", "BPM"}};

/* 7 bits in each byte, in 2.4 and in every tag's header. */
static gint64 number(const guint8 *at, int bytes, int bits) {
  gint64 value = 0;
  for (int i = 0; i < bytes; i++) value = value << bits | (at[i] & ((1 << bits) - 1));
  return value;
}

static gboolean is_tag(const guint8 *at) {
  return memcmp(at, "ID3", 3) == 0;
}

gint64 fc_id3_skip(fc_input *input, gint64 at) {
  guint8 head[TAG_HEAD];
  for (int tags = 0; tags < TAGS_MAX; tags++) {
    if (fc_input_read_at(input, at, head, sizeof head, NULL) != sizeof head) return -1;
    if (!is_tag(head)) return at;
    at += TAG_HEAD + number(head + 6, 4, 7) + (head[5] & FOOTER ? TAG_HEAD : 0);
    const gint64 most = MIN(input->size, at + ZEROS_MAX), behind = fc_input_skip_zeros(input, at, most);
    if (behind < most) at = behind;
  }
  return -1;
}

gboolean fc_id3_is_mpeg(fc_input *input) {
  guint8 frame[FRAME_HEAD];
  const gint64 at = is_tag(input->head) ? fc_id3_skip(input, 0) : 0;
  return at >= 0 && fc_input_read_at(input, at, frame, sizeof frame, NULL) == sizeof frame &&
         frame[0] == 0xff && frame[1] >= 0xe0;
}

gboolean fc_id3_pass(fc_input *input, GError **error) {
  if (!is_tag(input->head)) return TRUE;
  if (!fc_input_make_seekable(input, error)) return FALSE;
  if (fc_id3_is_mpeg(input)) return TRUE;
  const gint64 start = fc_id3_skip(input, 0);
  if (start >= 0) return fc_input_begin_at(input, start, error);
  return fc_input_check(input, error) &&
         fc_fail(error, FC_IO, "%s: holds an ID3 tag and nothing else", input->name);
}

/* ---- reading ------------------------------------------------------------------ */

static gboolean is_empty(const mpg123_string *string) {
  return !string->p || !*string->p;
}

/* A frame may hold several texts, separated by zeros. */
static void add_text(fc_tags *tags, const char *name, const mpg123_string *text) {
  for (gsize at = 0; text->p && at < text->fill; at += strlen(text->p + at) + 1)
    if (text->p[at]) fc_tags_add_text(tags, name, text->p + at, -1);
}

/* TLEN would be the length of the original file. */
static void add_frame(fc_tags *tags, const mpg123_text *text) {
  char id[5] = "";
  memcpy(id, text->id, 4);
  const char *name = strcmp(id, "COMM") == 0 ? "COMMENT" : strcmp(id, "USLT") == 0 ? "LYRICS" : id;
  for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
    if (strcmp(texts[i].id, id) == 0) name = texts[i].name;
  const gboolean described = strcmp(id, "TXXX") == 0 || strcmp(id, "COMM") == 0;
  if (described && !is_empty(&text->description)) name = text->description.p;
  if (strcmp(id, "TLEN") != 0) add_text(tags, name, &text->text);
}

static void add_picture(fc_tags *tags, const mpg123_picture *picture) {
  const char *mime = is_empty(&picture->mime_type) ? "" : picture->mime_type.p;
  const char *description = is_empty(&picture->description) ? "" : picture->description.p;
  g_auto(fc_blob) block = {0};
  fc_blob_put_big(&block, (guint8)picture->type, 4);
  fc_blob_put_big(&block, strlen(mime), 4);
  fc_blob_put(&block, mime, strlen(mime));
  fc_blob_put_big(&block, strlen(description), 4);
  fc_blob_put(&block, description, strlen(description));
  for (int i = 0; i < 4; i++) fc_blob_put_big(&block, 0, 4); /* width, height, depth, colours: unknown */
  fc_blob_put_big(&block, picture->size, 4);
  fc_blob_put(&block, picture->data, picture->size);
  tags->failed |= block.failed;
  if (!block.failed) fc_tags_add_picture(tags, block.data, block.size);
}

void fc_id3_read(fc_tags *tags, mpg123_handle *decoder) {
  mpg123_id3v1 *v1 = NULL;
  mpg123_id3v2 *v2 = NULL;
  if (mpg123_id3(decoder, &v1, &v2) != MPG123_OK || !v2) return;
  for (gsize i = 0; i < v2->texts; i++) add_frame(tags, &v2->text[i]);
  for (gsize i = 0; i < v2->comments; i++) add_frame(tags, &v2->comment_list[i]);
  for (gsize i = 0; i < v2->extras; i++) add_frame(tags, &v2->extra[i]);
  for (gsize i = 0; i < v2->pictures; i++) add_picture(tags, &v2->picture[i]);
}

/* Texts, pictures and links to the file itself are converted, or mean nothing elsewhere. */
static gboolean is_read(const char *id) {
  static const char *const known[] = {"COM", "COMM", "APIC", "ULT", "USLT"};
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    if (strcmp(id, known[i]) == 0) return TRUE;
  return id[0] == 'T';
}

void fc_id3_name_others(fc_tags *tags, fc_input *input) {
  guint8 head[TAG_HEAD], frame[TAG_HEAD];
  if (!is_tag(input->head) || fc_input_read_at(input, 0, head, sizeof head, NULL) != sizeof head) return;
  const int id_bytes = head[3] == 2 ? 3 : 4, bits = head[3] == 4 ? 7 : 8,
            frame_head = head[3] == 2 ? 6 : TAG_HEAD;
  gint64 at = TAG_HEAD, end = TAG_HEAD + number(head + 6, 4, 7);
  if (head[3] > 2 && (head[5] & EXTENDED) && fc_input_read_at(input, at, frame, 4, NULL) == 4)
    at += number(frame, 4, bits) + (head[3] == 3 ? 4 : 0);
  for (int i = 0; i < FRAMES_MAX && at + frame_head <= end; i++) {
    char id[5] = "";
    if (fc_input_read_at(input, at, frame, (gsize)frame_head, NULL) != frame_head) return;
    memcpy(id, frame, (gsize)id_bytes);
    for (int k = 0; k < id_bytes; k++)
      if (!g_ascii_isupper(id[k]) && !g_ascii_isdigit(id[k])) return;
    if (!is_read(id)) fc_tags_lose(tags, id);
    at += frame_head + number(frame + id_bytes, id_bytes, head[3] == 2 ? 8 : bits);
  }
}

/* ---- writing ------------------------------------------------------------------- */

static void put_number(fc_blob *to, gsize value) {
  for (int shift = 21; shift >= 0; shift -= 7) fc_blob_put_little(to, value >> shift & 0x7f, 1);
}

static void put_frame(fc_blob *to, const char *id, const fc_blob *body) {
  fc_blob_put(to, id, 4);
  put_number(to, body->size);
  fc_blob_put(to, "\0\0", 2);
  fc_blob_join(to, body);
}

/* Texts without a frame of their own become TXXX frames with their name. */
static void put_text(fc_blob *to, const fc_tag_text *text) {
  enum { UTF8 = 3 };
  g_auto(fc_blob) body = {0};
  g_autofree char *value = fc_text_to_utf8(text->value, strlen(text->value));
  const char *name = text->name ? text->name : "", *id = "TXXX";
  for (gsize i = G_N_ELEMENTS(texts); i-- > 0;)
    if (g_ascii_strcasecmp(texts[i].name, name) == 0) id = texts[i].id;
  const gboolean comment = g_ascii_strcasecmp(name, "COMMENT") == 0;
  fc_blob_put_little(&body, UTF8, 1);
  if (comment) fc_blob_put(&body, "XXX", 4); /* no language, no description */
  if (!comment && strcmp(id, "TXXX") == 0) fc_blob_put(&body, name, strlen(name) + 1);
  to->failed |= !value;
  if (value) fc_blob_put(&body, value, strlen(value));
  put_frame(to, comment ? "COMM" : id, &body);
}

/* From a FLAC block: kind, MIME type, description, four numbers, and the image. */
static void put_picture(fc_blob *to, const fc_blob *block) {
  enum { UTF8 = 3 };
  g_auto(fc_blob) body = {0};
  const guint8 *at = block->data, *end = at + block->size;
  const guint8 kind = at[3];
  const gsize mime = (gsize)fc_big(at + 4, 4), description = (gsize)fc_big(at + 8 + mime, 4);
  const guint8 *image = at + 12 + mime + description + 20;
  if (image > end) return;
  fc_blob_put_little(&body, UTF8, 1);
  fc_blob_put(&body, at + 8, mime);
  fc_blob_put_little(&body, 0, 1);
  fc_blob_put_little(&body, kind, 1);
  fc_blob_put(&body, at + 12 + mime, description);
  fc_blob_put_little(&body, 0, 1);
  fc_blob_put(&body, image, (gsize)(end - image));
  put_frame(to, "APIC", &body);
}

void fc_id3_put(const fc_audio_spec *spec, fc_blob *to) {
  const fc_tags *tags = spec->tags;
  g_auto(fc_blob) frames = {0};
  for (guint i = 0; tags && i < tags->texts->len; i++) {
    g_autofree char *own = NULL;
    fc_tag_text text = g_array_index(tags->texts, fc_tag_text, i);
    if (fc_audio_move_text(spec, &text, &own) && text.size) put_text(&frames, &text);
  }
  for (guint i = 0; tags && i < tags->pictures->len; i++)
    put_picture(&frames, &g_array_index(tags->pictures, fc_blob, i));
  to->failed |= frames.failed;
  if (!frames.size) return;
  fc_blob_put(to, "ID3\4\0\0", 6);
  put_number(to, frames.size);
  fc_blob_join(to, &frames);
}
