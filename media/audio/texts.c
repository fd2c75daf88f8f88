/* SPDX-License-Identifier: MIT */
/* texts.c - see texts.h. LIST INFO of RIFF, six chunks of AIFF, CAF's info, and Vorbis comments. */
#include "media/audio/texts.h"

#include <string.h>

#include "media/file/bytes.h"

enum { LIST_HEAD = 4, ENTRY_HEAD = 8, COUNT = 4, LONGEST = 64 };

static const struct {
  int which;
  const char *riff, *aiff, *caf, *comment; /* NULL: there is none */
} known[] = {{SF_STR_TITLE, "INAM", "NAME", "title", "TITLE"},
             {SF_STR_COPYRIGHT, "ICOP", "(c) ", "copyright", "COPYRIGHT"},
             {SF_STR_SOFTWARE, "ISFT", "APPL", "software", "SOFTWARE"},
             {SF_STR_SOFTWARE, NULL, NULL, "encoder", "ENCODER"},
             {SF_STR_SOFTWARE, NULL, NULL, "encoding application", NULL},
             {SF_STR_ARTIST, "IART", "AUTH", "artist", "ARTIST"},
             {SF_STR_COMMENT, "ICMT", "ANNO", "comment", "COMMENT"},
             {SF_STR_COMMENT, NULL, "COMT", "comments", NULL},
             {SF_STR_COMMENT, NULL, NULL, NULL, "DESCRIPTION"},
             {SF_STR_DATE, "ICRD", NULL, "date", "DATE"},
             {SF_STR_ALBUM, "IPRD", NULL, "album", "ALBUM"},
             {SF_STR_LICENSE, NULL, NULL, "license", "LICENSE"},
             {SF_STR_TRACKNUMBER, "ITRK", NULL, "tracknumber", "TRACKNUMBER"},
             {SF_STR_TRACKNUMBER, "IPRT", NULL, "track number", NULL},
             {SF_STR_GENRE, "IGNR", NULL, "genre", "GENRE"}};

const char *fc_text_name(int which) {
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    if (known[i].which == which) return known[i].caf;
  return "text";
}

static int which_of(fc_family family, const char *name) {
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++) {
    const char *its = family == FC_FAMILY_RIFF   ? known[i].riff
                      : family == FC_FAMILY_AIFF ? known[i].aiff
                      : family == FC_FAMILY_CAF  ? known[i].caf
                                                 : known[i].comment;
    if (its && strcmp(its, name) == 0) return known[i].which;
  }
  return 0;
}

/* A name of so many bytes at most, or less where it ends, with what is found under it: behind a zero there
 * may be more texts, or more zeros. */
static void tell(fc_family family, const guint8 *id, gsize length, const guint8 *text, gsize size,
                 fc_text_found found, void *data) {
  char name[LONGEST + 1] = "";
  length = strnlen((const char *)id, length);
  gboolean word = length > 0 && length <= LONGEST && id[0] != ' ';
  for (gsize i = 0; word && i < length; i++) word = id[i] >= ' ' && id[i] <= '~' && id[i] != ',';
  if (word) memcpy(name, id, length);
  for (gsize at = 0, part; at < size; at += part + 1) {
    part = strnlen((const char *)text + at, size - at);
    if (part) found(word ? name : NULL, which_of(family, name), (const char *)text + at, part, data);
  }
}

/* Whether an entry may begin at a place of a list: it has a name, and is all there. */
static gboolean is_entry_at(const fc_meta_chunk *chunk, gsize at) {
  if (at > chunk->size || chunk->size - at < ENTRY_HEAD) return FALSE;
  for (gsize i = 0; i < 4; i++)
    if (chunk->data[at + i] < ' ' || chunk->data[at + i] > '~') return FALSE;
  return fc_little(chunk->data + at + 4, 4) <= chunk->size - at - ENTRY_HEAD;
}

/* Some writers leave out the byte that makes an odd size even. */
static void find_riff(const fc_meta_chunk *chunk, fc_text_found found, void *data) {
  gsize at = LIST_HEAD;
  if (memcmp(chunk->id, "LIST", 4) != 0 || chunk->size < LIST_HEAD || memcmp(chunk->data, "INFO", 4) != 0)
    return;
  while (at < chunk->size && chunk->size - at >= ENTRY_HEAD) {
    const guint8 *entry = chunk->data + at;
    gsize left = chunk->size - at - ENTRY_HEAD, size = (gsize)fc_little(entry + 4, 4);
    size = MIN(size, left);
    tell(FC_FAMILY_RIFF, entry, 4, entry + ENTRY_HEAD, size, found, data);
    at += ENTRY_HEAD + size;
    if (size & 1 && (is_entry_at(chunk, at + 1) || !is_entry_at(chunk, at))) at++;
  }
}

/* Pairs of a key and what it is of. */
static void find_caf(const fc_meta_chunk *chunk, fc_text_found found, void *data) {
  gsize at = COUNT;
  while (memcmp(chunk->id, "info", 4) == 0 && at < chunk->size) {
    const guint8 *key = chunk->data + at;
    gsize length = strnlen((const char *)key, chunk->size - at);
    at = MIN(at + length + 1, chunk->size);
    gsize size = strnlen((const char *)chunk->data + at, chunk->size - at);
    tell(FC_FAMILY_CAF, key, length, chunk->data + at, size, found, data);
    at += size + 1;
  }
}

gboolean fc_text_is_program(const fc_meta_chunk *chunk) {
  return chunk->size >= 4 && memcmp(chunk->id, "APPL", 4) == 0 && memcmp(chunk->data, "m3ga", 4) == 0;
}

/* Each of them has a date, the marker that it is about, or 0, and its length, and is filled up to an even
 * one. About a marker it is none of the sound; and what follows the last one is nobody knows what. */
static void find_remarks(const fc_meta_chunk *chunk, fc_text_found found, void *data) {
  enum { MARKER_AT = 4, SIZE_AT = 6, HEAD = 8, COUNT_BYTES = 2 };
  const guint8 *id = chunk->id;
  if (chunk->size < COUNT_BYTES) return;
  guint64 left = fc_big(chunk->data, COUNT_BYTES);
  gsize at = COUNT_BYTES;
  for (gsize size; left && chunk->size - at >= HEAD; left--, at += size) {
    const guint8 *remark = chunk->data + at;
    gsize length = MIN((gsize)fc_big(remark + SIZE_AT, 2), chunk->size - at - HEAD);
    gboolean marker = fc_big(remark + MARKER_AT, 2) != 0;
    tell(marker ? FC_FAMILY_NONE : FC_FAMILY_AIFF, id, 4, remark + HEAD, length, found, data);
    size = MIN(HEAD + length + (length & 1), chunk->size - at);
  }
  tell(FC_FAMILY_NONE, id, 4, chunk->data + at, chunk->size - at, found, data);
}

/* A program's name is behind who says it. */
static void find_aiff(const fc_meta_chunk *chunk, fc_text_found found, void *data) {
  const gsize head = fc_text_is_program(chunk) ? 4 : 0;
  if (head || fc_chunk_id_is_among(chunk->id, FC_AIFF_TEXTS))
    tell(FC_FAMILY_AIFF, chunk->id, 4, chunk->data + head, chunk->size - head, found, data);
  if (memcmp(chunk->id, "COMT", 4) == 0) find_remarks(chunk, found, data);
}

void fc_texts_find(fc_family family, const fc_meta_chunk *chunk, fc_text_found found, void *data) {
  if (family == FC_FAMILY_RIFF) find_riff(chunk, found, data);
  if (family == FC_FAMILY_CAF) find_caf(chunk, found, data);
  if (family == FC_FAMILY_AIFF) find_aiff(chunk, found, data);
}

void fc_texts_find_comment(const guint8 *field, gsize size, fc_text_found found, void *data) {
  const guint8 *equals = size ? memchr(field, '=', size) : NULL;
  gsize length = equals ? (gsize)(equals - field) : 0, head = equals ? length + 1 : 0;
  guint8 name[LONGEST + 1];
  for (gsize i = 0; i < MIN(length, sizeof name); i++) name[i] = (guint8)g_ascii_toupper((char)field[i]);
  tell(FC_FAMILY_NONE, name, MIN(length, sizeof name), field + head, size - head, found, data);
}

void fc_texts_find_annotation(const fc_input *input, fc_text_found found, void *data) {
  enum { HEAD = 24 };
  const gboolean big = memcmp(input->head, ".snd", 4) == 0, little = memcmp(input->head, "dns.", 4) == 0;
  if (!big && !little) return;
  const guint64 end = MIN((big ? fc_big : fc_little)(input->head + 4, 4), input->head_size);
  const gsize size = end > HEAD ? strnlen((const char *)input->head + HEAD, (gsize)end - HEAD) : 0;
  if (size) found("annotation", SF_STR_COMMENT, (const char *)input->head + HEAD, size, data);
}

/* What is no UTF-8 in a file that says nothing of it is most often Latin 1, as Windows has it: with these in
 * the place of 32 control characters, and nothing at five of them. */
static gunichar windows_character(guint8 byte) {
  static const guint16 low[32] = {0x20ac, 0x0081, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
                                  0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008d, 0x017d, 0x008f,
                                  0x0090, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                  0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x009d, 0x017e, 0x0178};
  return byte >= 0x80 && byte < 0xa0 ? low[byte - 0x80] : byte;
}

char *fc_text_to_utf8(const char *text) {
  enum { MOST = 3 }; /* bytes of such a character */
  gsize size = strlen(text), length = 0;
  gboolean as_is = g_utf8_validate(text, -1, NULL);
  char *to = g_try_malloc(MOST * size + 1);
  for (const char *at = text; to && *at; at++) {
    if (as_is)
      to[length++] = *at;
    else
      length += (gsize)g_unichar_to_utf8(windows_character((guint8)*at), to + length);
  }
  if (to) to[length] = 0;
  return to;
}
