/* SPDX-License-Identifier: MIT */
/* tags.c - see tags.h. Sizes come from files, so every allocation for content is checked. */
#include "media/file/tags.h"

#include <string.h>

#include "media/file/warn.h"

static void clear_text(void *text) {
  g_free(((fc_tag_text *)text)->name);
  g_free(((fc_tag_text *)text)->value);
}

static void clear_picture(void *picture) {
  fc_blob_clear(picture);
}

static void clear_chunk(void *chunk) {
  g_free(((fc_tag_chunk *)chunk)->data);
}

static GArray *array_of(gsize size, GDestroyNotify clear) {
  GArray *array = g_array_new(FALSE, FALSE, (guint)size);
  g_array_set_clear_func(array, clear);
  return array;
}

fc_tags *fc_tags_new(fc_tag_family family) {
  fc_tags *tags = g_new0(fc_tags, 1);
  g_atomic_ref_count_init(&tags->references);
  tags->family = family;
  tags->frames = FC_UNKNOWN;
  tags->texts = array_of(sizeof(fc_tag_text), clear_text);
  tags->pictures = array_of(sizeof(fc_blob), clear_picture);
  tags->chunks = array_of(sizeof(fc_tag_chunk), clear_chunk);
  tags->lost = g_string_new(NULL);
  return tags;
}

fc_tags *fc_tags_ref(fc_tags *tags) {
  if (tags) g_atomic_ref_count_inc(&tags->references);
  return tags;
}

void fc_tags_unref(fc_tags *tags) {
  if (!tags || !g_atomic_ref_count_dec(&tags->references)) return;
  g_array_unref(tags->texts);
  g_array_unref(tags->pictures);
  g_array_unref(tags->chunks);
  fc_blob_clear(&tags->icc);
  fc_blob_clear(&tags->exif);
  fc_blob_clear(&tags->xmp);
  g_string_free(tags->lost, TRUE);
  g_free(tags);
}

gboolean fc_tags_check(const fc_tags *tags, const char *name, GError **error) {
  gboolean failed = tags && (tags->failed || tags->icc.failed || tags->exif.failed || tags->xmp.failed);
  return !failed || fc_fail(error, FC_NO_MEMORY, "%s: no memory for its metadata", name);
}

void fc_tags_lose(fc_tags *tags, const char *word) {
  if (tags) fc_media_add_word(tags->lost, word);
}

/* Overhead of an entry: files can have millions of empty ones. */
#define ENTRY ((gsize)64)

/* Allocates so many more bytes and a zero; NULL if memory is lacking, or the limit is exceeded. */
static guint8 *reserve(fc_tags *tags, gsize size, const char *what) {
  if (!tags) return NULL;
  if (size > FC_TAGS_MAX || tags->bytes + size + ENTRY > FC_TAGS_MAX) {
    fc_tags_lose(tags, what);
    return NULL;
  }
  guint8 *data = g_try_malloc(size + 1);
  tags->failed |= !data;
  if (!data) return NULL;
  data[size] = 0;
  tags->bytes += size + ENTRY;
  return data;
}

void fc_tags_add_text(fc_tags *tags, const char *name, const void *value, gssize size) {
  if (name && strlen(name) > FC_TAG_NAME_MAX) name = NULL;
  const gsize length = size < 0 ? strlen(value) : (gsize)size;
  guint8 *copy = reserve(tags, length, name ? name : "texts");
  if (!copy) return;
  if (length) memcpy(copy, value, length);
  const fc_tag_text text = {.name = g_strdup(name), .value = (char *)copy, .size = length};
  g_array_append_val(tags->texts, text);
}

void fc_tags_add_picture(fc_tags *tags, const void *block, gsize size) {
  guint8 *copy = reserve(tags, size, "picture");
  if (!copy) return;
  const fc_blob picture = {.data = memcpy(copy, block, size), .size = size, .room = size + 1};
  g_array_append_val(tags->pictures, picture);
}

guint8 *fc_tags_add_chunk(fc_tags *tags, const void *id, gsize size, gboolean ahead) {
  char word[5] = "";
  memcpy(word, id, 4);
  fc_tag_chunk chunk = {.data = reserve(tags, size, g_strchomp(word)), .size = size, .ahead = ahead};
  if (!chunk.data) return NULL;
  memcpy(chunk.id, id, sizeof chunk.id);
  g_array_append_val(tags->chunks, chunk);
  return chunk.data;
}

void fc_tags_put_chunk(fc_tags *tags, const void *id, const void *data, gsize size, gboolean ahead) {
  guint8 *to = fc_tags_add_chunk(tags, id, size, ahead);
  if (to && size) memcpy(to, data, size);
}

/* Windows-1252, in which five bytes are undefined. */
static gunichar windows_character(guint8 byte) {
  static const guint16 low[32] = {0x20ac, 0x0081, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
                                  0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008d, 0x017d, 0x008f,
                                  0x0090, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                  0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x009d, 0x017e, 0x0178};
  return byte >= 0x80 && byte < 0xa0 ? low[byte - 0x80] : byte;
}

char *fc_text_to_utf8(const char *text, gsize size) {
  enum { MOST = 3 }; /* number of bytes of this character */
  gsize length = 0;
  const gboolean as_is = g_utf8_validate_len(text, size, NULL);
  char *to = g_try_malloc((as_is ? 1 : MOST) * size + 1);
  for (gsize i = 0; to && i < size; i++) {
    if (as_is)
      to[length++] = text[i];
    else
      length += (gsize)g_unichar_to_utf8(windows_character((guint8)text[i]), to + length);
  }
  if (to) to[length] = 0;
  return to;
}

const char *fc_tag_text_title(const fc_tag_text *text) {
  enum { LONGEST = 64 };
  const char *name = text->name;
  gboolean word = name && *name && *name != ' ' && strlen(name) <= LONGEST;
  for (const char *at = name; word && *at; at++) word = *at >= ' ' && *at <= '~' && *at != ',';
  return word ? name : "texts";
}

const char *fc_tags_text(const fc_tags *tags, const char *name) {
  for (guint i = 0; tags && i < tags->texts->len; i++) {
    const fc_tag_text *text = &g_array_index(tags->texts, fc_tag_text, i);
    if (text->name && *text->value && g_ascii_strcasecmp(text->name, name) == 0) return text->value;
  }
  return NULL;
}

void fc_tags_warn_lost(const fc_tags *tags, const fc_media_options *options, const char *name,
                       const GString *lost) {
  const char *more = tags ? tags->lost->str : "";
  const gboolean both = *more && lost->len;
  if (*more || lost->len)
    fc_media_warn(options, "%s: metadata of the input that is left out: %s%s%s", name, lost->str,
                  both ? ", " : "", more);
}

/* ---- the source ------------------------------------------------------------ */

void fc_file_source_free(fc_source *base) {
  fc_file_source *source = (fc_file_source *)base;
  if (source->close) source->close(source);
  fc_tags_unref(source->tags);
  g_free(base->name);
  g_free(source);
}

fc_tags *fc_source_tags(fc_source *source) {
  return source && source->free == fc_file_source_free ? ((fc_file_source *)source)->tags : NULL;
}
