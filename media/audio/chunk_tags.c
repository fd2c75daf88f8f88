/* SPDX-License-Identifier: MIT */
/* chunk_tags.c - see audio_tags.h. bext after EBU Tech 3285. */
#include "media/audio/audio_tags.h"

#include <string.h>

#include "media/file/bytes.h"

/* A text's name in every family; of several rows with a name the first is written. */
static const struct {
  const char *name, *riff, *aiff, *caf;
} texts[] = {{"TITLE", "INAM", "NAME", "title"},
             {"COPYRIGHT", "ICOP", "(c) ", "copyright"},
             {"SOFTWARE", "ISFT", NULL, "software"},
             {"ENCODER", "ISFT", NULL, "encoder"},
             {"ENCODER", NULL, NULL, "encoding application"},
             {"ARTIST", "IART", "AUTH", "artist"},
             {"COMMENT", "ICMT", "ANNO", "comment"},
             {"COMMENT", NULL, NULL, "comments"},
             {"DESCRIPTION", "ICMT", "ANNO", "description"},
             {"DATE", "ICRD", NULL, "date"},
             {"ALBUM", "IPRD", NULL, "album"},
             {"TRACKNUMBER", "ITRK", NULL, "tracknumber"},
             {"TRACKNUMBER", "IPRT", NULL, "track number"},
             {"GENRE", "IGNR", NULL, "genre"},
             {"ENGINEER", "IENG", NULL, "engineer"},
             {"KEYWORDS", "IKEY", NULL, "keywords"},
             {"SUBJECT", "ISBJ", NULL, "subject"},
             {"LANGUAGE", "ILNG", NULL, "language"},
             {"SOURCE", "ISRC", NULL, "source"}};

/* Which chunks of a family are about the samples. */
typedef struct chunk_rules {
  fc_tag_family family;
  const char *layout;    /* the format, or derived from the samples: written anew */
  const char *positions; /* have sample positions */
  const char *channels;  /* are about channels */
  const char *texts;     /* only texts, which are tags too */
} chunk_rules;

static const chunk_rules rules[] = {
    {FC_TAGS_RIFF, "fmt  data fact PEAK ds64 JUNK junk PAD  FLLR filr levl MD5  slnt wavl", "cue  smpl plst",
     "chna", "bext"},
    {FC_TAGS_AIFF, "COMM SSND FVER PEAK", "MARK INST", "CHAN", "NAME AUTH (c)  ANNO COMT"},
    {FC_TAGS_CAF, "desc data free peak pakt kuki ovvw", "mark regn inst", "chan", "info"},
};

static const chunk_rules *rules_of(fc_tag_family family) {
  for (gsize i = 0; i < G_N_ELEMENTS(rules); i++)
    if (rules[i].family == family) return &rules[i];
  return NULL;
}

static const char *id_in(gsize row, fc_tag_family family) {
  return family == FC_TAGS_RIFF ? texts[row].riff : family == FC_TAGS_AIFF ? texts[row].aiff : texts[row].caf;
}

/* By its id in the family; an unknown id is the name. */
static const char *name_of(fc_tag_family family, const char *id) {
  for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
    if (id_in(i, family) && g_ascii_strcasecmp(id_in(i, family), id) == 0) return texts[i].name;
  return id;
}

static const char *id_of(fc_tag_family family, const char *name) {
  for (gsize i = 0; name && i < G_N_ELEMENTS(texts); i++)
    if (id_in(i, family) && g_ascii_strcasecmp(texts[i].name, name) == 0) return id_in(i, family);
  return NULL;
}

/* ---- reading ------------------------------------------------------------------ */

/* Up to the first zero; empty texts are ignored. */
static void add_text(fc_tags *tags, const char *name, const guint8 *value, gsize size) {
  const gsize length = strnlen((const char *)value, size);
  if (length) fc_tags_add_text(tags, name, value, (gssize)length);
}

/* Whether an entry of a LIST can begin at this position: it has a name and is complete. */
static gboolean is_entry_at(const fc_chunk_layout *layout, const guint8 *data, gsize size, gsize at) {
  if (at > size || size - at < 8) return FALSE;
  for (gsize i = 0; i < 4; i++)
    if (data[at + i] < ' ' || data[at + i] > '~') return FALSE;
  return fc_chunk_get(layout, data + at + 4, 4) <= size - at - 8;
}

/* Some writers omit the padding byte after an odd size. */
static void read_info(fc_tags *tags, const fc_chunk_layout *layout, const guint8 *data, gsize size) {
  gsize at = 4;
  while (at < size && size - at >= 8) {
    const gsize left = size - at - 8, said = (gsize)fc_chunk_get(layout, data + at + 4, 4);
    const gsize length = MIN(said, left);
    char id[5] = "";
    memcpy(id, data + at, 4);
    add_text(tags, name_of(FC_TAGS_RIFF, id), data + at + 8, length);
    at += 8 + length;
    if (length & 1 && (is_entry_at(layout, data, size, at + 1) || !is_entry_at(layout, data, size, at))) at++;
  }
}

/* The texts of bext; the last is as long as it likes. */
static const struct {
  const char *name;
  guint16 at, size;
} bext_texts[] = {{"DESCRIPTION", 0, 256},           {"ORIGINATOR", 256, 32},
                  {"ORIGINATOR_REFERENCE", 288, 32}, {"ORIGINATION_DATE", 320, 10},
                  {"ORIGINATION_TIME", 330, 8},      {"CODING_HISTORY", 602, 0}};
enum {
  CLOCK_AT = 338,
  VERSION_AT = 346,
  UMID_AT = 348,
  LOUDNESS_AT = 412,
  LOUDNESS_END = 422,
  BEXT_SIZE = 602
};

static void read_bext(fc_tags *tags, const guint8 *data, gsize size) {
  for (gsize i = 0; i < G_N_ELEMENTS(bext_texts); i++) {
    const gsize at = bext_texts[i].at, most = bext_texts[i].size ? bext_texts[i].size : size - MIN(at, size);
    if (size >= at + most) add_text(tags, bext_texts[i].name, data + at, most);
  }
  const guint64 clock = size >= VERSION_AT ? fc_little(data + CLOCK_AT, 8) : 0;
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, clock);
  if (clock) fc_tags_add_text(tags, FC_TIME_REFERENCE, text, -1);
}

/* Pairs of a key and a text. */
static void read_caf_info(fc_tags *tags, const guint8 *data, gsize size) {
  gsize at = 4;
  while (at < size) {
    const gsize key = strnlen((const char *)data + at, size - at), value_at = MIN(at + key + 1, size);
    const gsize value = strnlen((const char *)data + value_at, size - value_at);
    g_autofree char *name =
        key <= FC_TAG_NAME_MAX ? g_ascii_strup((const char *)data + at, (gssize)key) : NULL;
    add_text(tags, name ? name_of(FC_TAGS_CAF, name) : NULL, data + value_at, value);
    at = value_at + value + 1;
  }
}

/* COMT, as sox writes it: each comment has a date, a marker's number or 0, and its length. */
static void read_comments(fc_tags *tags, const guint8 *data, gsize size) {
  enum { MARKER_AT = 4, SIZE_AT = 6, HEAD = 8, COUNT = 2 };
  guint64 left = size >= COUNT ? fc_big(data, COUNT) : 0;
  for (gsize at = COUNT; left && at < size && size - at >= HEAD; left--) {
    const gsize said = (gsize)fc_big(data + at + SIZE_AT, 2), length = MIN(said, size - at - HEAD);
    if (!fc_big(data + at + MARKER_AT, 2)) add_text(tags, "COMMENT", data + at + HEAD, length);
    at += HEAD + length + (length & 1);
  }
}

static void read_texts(fc_tags *tags, const fc_chunk_layout *layout, const fc_tag_chunk *chunk) {
  char id[5] = "";
  memcpy(id, chunk->id, 4);
  const gboolean list = strcmp(id, "LIST") == 0 && chunk->size >= 4 && memcmp(chunk->data, "INFO", 4) == 0;
  if (layout->family == FC_TAGS_RIFF && list) read_info(tags, layout, chunk->data, chunk->size);
  if (strcmp(id, "bext") == 0) read_bext(tags, chunk->data, chunk->size);
  if (layout->family == FC_TAGS_CAF && strcmp(id, "info") == 0) read_caf_info(tags, chunk->data, chunk->size);
  if (layout->family == FC_TAGS_AIFF && strcmp(id, "COMT") == 0)
    read_comments(tags, chunk->data, chunk->size);
  if (layout->family == FC_TAGS_AIFF && fc_id_is_among(chunk->id, "NAME AUTH (c)  ANNO"))
    add_text(tags, name_of(FC_TAGS_AIFF, id), chunk->data, chunk->size);
}

/* Only texts, which are tags too. */
static gboolean holds_texts(fc_tag_family family, const fc_tag_chunk *chunk) {
  const gboolean list = memcmp(chunk->id, "LIST", 4) == 0 && chunk->size >= 4;
  return (family == FC_TAGS_RIFF && list && memcmp(chunk->data, "INFO", 4) == 0) ||
         fc_id_is_among(chunk->id, rules_of(family)->texts);
}

/* The name of a chunk in warnings: a number if its id is not printable. */
static char *title_of(const fc_tag_chunk *chunk) {
  const guint8 *id = chunk->id;
  gboolean word = id[0] != ' ', labels = memcmp(id, "LIST", 4) == 0 && chunk->size >= 4;
  for (int i = 0; i < 4; i++) word &= id[i] >= ' ' && id[i] <= '~' && id[i] != ',';
  if (labels && memcmp(chunk->data, "adtl", 4) == 0) return g_strdup("labels");
  return word ? g_strchomp(g_strndup((const char *)id, 4))
              : g_strdup_printf("0x%02x%02x%02x%02x", id[0], id[1], id[2], id[3]);
}

/* RIFX chunks have big-endian numbers, so only their texts are used. */
static void drop_last(fc_tags *tags) {
  const fc_tag_chunk *last = &g_array_index(tags->chunks, fc_tag_chunk, tags->chunks->len - 1);
  if (!holds_texts(FC_TAGS_RIFF, last)) {
    g_autofree char *title = title_of(last);
    fc_tags_lose(tags, title);
  }
  g_array_set_size(tags->chunks, tags->chunks->len - 1);
}

gboolean fc_chunk_tags_read(fc_tags *tags, const fc_chunk_layout *layout, const fc_chunk *chunk,
                            gboolean ahead, fc_input *input, GError **error) {
  if (fc_id_is_among(chunk->id, rules_of(layout->family)->layout)) return TRUE;
  const fc_tag_chunk named = {.id = {chunk->id[0], chunk->id[1], chunk->id[2], chunk->id[3]}};
  g_autofree char *title = title_of(&named), *damaged = g_strdup_printf("%s (cut off)", title);
  if (input->seekable && chunk->size > input->size - chunk->offset) {
    fc_tags_lose(tags, damaged);
    return TRUE;
  }
  guint8 *data = fc_tags_add_chunk(tags, chunk->id, (gsize)chunk->size, ahead);
  if (!data) return TRUE; /* too large, or the tags have failed */
  const int there = fc_chunk_read(input, chunk->offset, data, (gsize)chunk->size, error);
  if (there <= 0) {
    g_array_set_size(tags->chunks, tags->chunks->len - 1);
    fc_tags_lose(tags, damaged);
    return there == 0;
  }
  read_texts(tags, layout, &g_array_index(tags->chunks, fc_tag_chunk, tags->chunks->len - 1));
  if (layout->family == FC_TAGS_RIFF && layout->big_endian) drop_last(tags);
  return TRUE;
}

/* ---- writing ------------------------------------------------------------------ */

/* The time of day of an excerpt is that of its first sample. */
static void move_clock(const fc_audio_spec *spec, fc_tag_chunk *bext) {
  if (bext->size < CLOCK_AT + 8 || !spec->lead || spec->unrelated || spec->tags->rate != spec->rate) return;
  guint8 *clock = bext->data + CLOCK_AT;
  fc_put_little(clock, fc_little(clock, 8) + (guint64)spec->lead, 8);
}

static void copy_own(const fc_audio_spec *spec, fc_tags *to) {
  const fc_tags *tags = spec->tags;
  const chunk_rules *known = rules_of(tags->family);
  for (guint i = 0; i < tags->chunks->len; i++) {
    const fc_tag_chunk *chunk = &g_array_index(tags->chunks, fc_tag_chunk, i);
    g_autofree char *title = title_of(chunk);
    const gboolean position = fc_id_is_among(chunk->id, known->positions) || strcmp(title, "labels") == 0;
    const gboolean channels = fc_id_is_among(chunk->id, known->channels);
    if ((position && fc_audio_is_moved(spec)) || (channels && tags->channels != spec->channels))
      fc_media_add_word(spec->lost, title);
    else
      fc_tags_put_chunk(to, chunk->id, chunk->data, chunk->size, chunk->ahead);
    if (to->chunks->len && strcmp(title, "bext") == 0)
      move_clock(spec, &g_array_index(to->chunks, fc_tag_chunk, to->chunks->len - 1));
  }
}

static void put_riff_text(fc_blob *to, const char *id, const fc_tag_text *text) {
  fc_blob_put(to, id, 4);
  fc_blob_put_little(to, text->size + 1, 4);
  fc_blob_put(to, text->value, text->size + 1);
  if (!(text->size & 1)) fc_blob_put_little(to, 0, 1);
}

static void put_caf_text(fc_blob *to, const char *id, const fc_tag_text *text) {
  g_autofree char *utf8 = fc_text_to_utf8(text->value, strlen(text->value));
  to->failed |= !utf8;
  if (!utf8) return;
  fc_blob_put(to, id, strlen(id) + 1);
  fc_blob_put(to, utf8, strlen(utf8) + 1);
}

/* A text of the tags as the output has it, or NULL. */
static const char *text_now(const fc_audio_spec *spec, const char *name, char **own) {
  for (guint i = 0; i < spec->tags->texts->len; i++) {
    fc_tag_text text = g_array_index(spec->tags->texts, fc_tag_text, i);
    if (text.name && *text.value && g_ascii_strcasecmp(text.name, name) == 0)
      return fc_audio_move_text(spec, &text, own) ? text.value : NULL;
  }
  return NULL;
}

/* A chunk bext, where there are texts that have their place nowhere else: what it does not hold is named.
 * Returns the description that it has, or NULL. */
static const char *put_bext(const fc_audio_spec *spec, fc_tags *to) {
  enum { VERSION = 1 };
  g_autofree char *moved = NULL;
  guint8 head[BEXT_SIZE] = {[VERSION_AT] = VERSION};
  const char *history = "", *description = NULL, *clock = text_now(spec, FC_TIME_REFERENCE, &moved);
  gboolean needed = FALSE;
  guint64 frames;
  if (clock && g_ascii_string_to_unsigned(clock, 10, 0, G_MAXUINT64, &frames, NULL)) {
    needed = TRUE;
    fc_put_little(head + CLOCK_AT, frames, 8);
  } else if (clock)
    fc_media_add_word(spec->lost, FC_TIME_REFERENCE);
  for (gsize i = 0; i < G_N_ELEMENTS(bext_texts); i++) {
    const char *text = fc_tags_text(spec->tags, bext_texts[i].name);
    if (!text) continue;
    if (!bext_texts[i].size) history = text;
    if (strlen(text) <= bext_texts[i].size) {
      memcpy(head + bext_texts[i].at, text, strlen(text));
      if (!i) description = text;
    } else if (i && bext_texts[i].size)
      fc_media_add_word(spec->lost, bext_texts[i].name);
    needed |= i > 0;
  }
  if (!needed) return NULL;
  const gsize size = *history ? strlen(history) + 1 : 0;
  guint8 *body = fc_tags_add_chunk(to, "bext", sizeof head + size, TRUE);
  if (!body) return NULL;
  memcpy(body, head, sizeof head);
  memcpy(body + sizeof head, history, size);
  return description;
}

/* Is it in bext and nowhere else? */
static gboolean is_of_bext(const char *name) {
  for (gsize i = 1; name && i < G_N_ELEMENTS(bext_texts); i++)
    if (g_ascii_strcasecmp(name, bext_texts[i].name) == 0) return TRUE;
  return name && g_ascii_strcasecmp(name, FC_TIME_REFERENCE) == 0;
}

/* CAF holds every text; a zero ends it. */
static void put_texts(const fc_audio_spec *spec, fc_tag_family family, fc_tags *to) {
  const fc_tags *tags = spec->tags;
  g_auto(fc_blob) body = {0};
  guint32 count = 0;
  if (family == FC_TAGS_RIFF) fc_blob_put(&body, "INFO", 4);
  if (family == FC_TAGS_CAF) fc_blob_put_big(&body, 0, 4);
  const char *description = family == FC_TAGS_RIFF ? put_bext(spec, to) : NULL;
  for (guint i = 0; i < tags->texts->len; i++) {
    g_autofree char *moved = NULL;
    fc_tag_text holds = g_array_index(tags->texts, fc_tag_text, i);
    const fc_tag_text *text = &holds;
    if (fc_comments_is_mask(text) || text->value == description ||
        (family == FC_TAGS_RIFF && is_of_bext(text->name)) || !fc_audio_move_text(spec, &holds, &moved))
      continue;
    g_autofree char *own = text->name ? g_ascii_strdown(text->name, -1) : NULL;
    const char *id = id_of(family, text->name);
    if (!id && family == FC_TAGS_CAF) id = own;
    if (text->size && !id) fc_media_add_word(spec->lost, fc_tag_text_title(text));
    if (!text->size || !id) continue;
    if (family == FC_TAGS_RIFF) put_riff_text(&body, id, text);
    if (family == FC_TAGS_CAF) put_caf_text(&body, id, text);
    if (family == FC_TAGS_AIFF) fc_tags_put_chunk(to, id, text->value, text->size, TRUE);
    count++;
  }
  to->failed |= body.failed;
  if (body.failed || family == FC_TAGS_AIFF || !count) return;
  if (family == FC_TAGS_CAF) fc_put_big(body.data, count, 4);
  fc_tags_put_chunk(to, family == FC_TAGS_RIFF ? "LIST" : "info", body.data, body.size, TRUE);
}

void fc_chunk_tags_name_lost(const fc_tags *tags, GString *lost) {
  for (guint i = 0; rules_of(tags->family) && i < tags->chunks->len; i++) {
    const fc_tag_chunk *chunk = &g_array_index(tags->chunks, fc_tag_chunk, i);
    g_autofree char *title = title_of(chunk);
    const gboolean speakers =
        fc_id_is_among(chunk->id, "CHAN chan") && (tags->speakers || tags->channels == 1);
    if (!holds_texts(tags->family, chunk) && !speakers) fc_media_add_word(lost, title);
    if (memcmp(chunk->id, "bext", 4) != 0 || chunk->size < LOUDNESS_END) continue;
    for (gsize at = UMID_AT; at < LOUDNESS_END; at++)
      if (chunk->data[at]) fc_media_add_word(lost, at < LOUDNESS_AT ? "UMID" : "loudness");
  }
}

fc_tags *fc_chunk_tags_choose(const fc_audio_spec *spec, fc_tag_family family, const char *name,
                              GError **error) {
  g_autoptr(fc_tags) chosen = fc_tags_new(family);
  if (spec->tags && spec->tags->family == family)
    copy_own(spec, chosen);
  else if (spec->tags)
    put_texts(spec, family, chosen);
  fc_media_add_word(spec->lost, chosen->lost->str);
  return fc_tags_check(chosen, name, error) ? g_steal_pointer(&chosen) : NULL;
}

void fc_chunk_tags_put(const fc_tags *chunks, const fc_chunk_layout *layout, gboolean ahead, fc_blob *to) {
  for (guint i = 0; i < chunks->chunks->len; i++) {
    const fc_tag_chunk *chunk = &g_array_index(chunks->chunks, fc_tag_chunk, i);
    if (chunk->ahead != ahead) continue;
    fc_chunk_put_head(to, layout, (const char *)chunk->id, chunk->size);
    fc_blob_put(to, chunk->data, chunk->size);
    fc_chunk_put_padding(to, layout);
  }
}

gboolean fc_chunk_tags_append(const fc_tags *chunks, const fc_chunk_layout *layout, const char *name,
                              fc_output *output, GError **error) {
  static const guint8 zeros[8];
  g_auto(fc_blob) all = {0}, total = {0};
  const gsize odd = (gsize)(-fc_output_size(output) & (layout->align - 1));
  if (!chunks->chunks->len) return TRUE;
  fc_chunk_tags_put(chunks, layout, TRUE, &all);
  fc_chunk_tags_put(chunks, layout, FALSE, &all);
  if (!fc_blob_check(&all, name, error) || !fc_output_write(output, zeros, odd, error) ||
      !fc_output_write(output, all.data, all.size, error))
    return FALSE;
  fc_chunk_put(&total, layout, (guint64)fc_output_size(output) - layout->total_leaves_out,
               layout->size_bytes);
  return !layout->total_at || (fc_blob_check(&total, name, error) &&
                               fc_output_write_at(output, layout->total_at, total.data, total.size, error));
}
