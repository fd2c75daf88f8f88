/* SPDX-License-Identifier: MIT */
/* rifx.c - see rifx.h. Numbers stand where RIFF has them: cue, smpl and plst, lists, EBU Tech 3285, AES46. */
#include "media/audio/rifx.h"

#include <string.h>

#include "media/file/bytes.h"

enum { LIST_HEAD = 4, ENTRY_HEAD = 8, NONE = 0xffff };

/* Fields: 4 and 2 are numbers of so many bytes, a point is four bytes that are none. */
typedef struct known_chunk {
  const char *id;
  guint16 at;       /* where the fields begin */
  const char *once; /* and which they are */
  guint16 count_at; /* how many times others follow; NONE: they do not */
  const char *each; /* which */
  guint16 small[3]; /* numbers that are small, of which the first that is not 0 tells the order; 0 ends */
  guint8 small_bytes;
} known_chunk;

static const known_chunk known[] = {
    {"cue ", 0, "4", 0, "44.444", {0}, 4},
    {"plst", 0, "4", 0, "444", {0}, 4},
    {"smpl", 0, "444444444", 28, "444444", {28, 12, 8}, 4},
    {"bext", 338, "442................22222", NONE, "", {346}, 2},
    {"cart", 680, "4.4.4.4.4.4.4.4.4", NONE, "", {680}, 4},
};

/* In these there are bytes alone. */
static const char *const bytes_alone = "iXML axml id3  ID3  _PMX XMP  umid UMID inst";

/* Turns what there is of some fields; the place behind them. */
static gsize turn_fields(fc_meta_chunk *chunk, gsize at, const char *fields) {
  for (; *fields; fields++) {
    int bytes = *fields == '2' ? 2 : 4;
    if (at > chunk->size || chunk->size - at < (gsize)bytes) return chunk->size;
    if (*fields != '.') fc_put_little(chunk->data + at, fc_big(chunk->data + at, bytes), bytes);
    at += (gsize)bytes;
  }
  return at;
}

static gboolean is_as_in_riff(const known_chunk *as, const fc_meta_chunk *chunk) {
  for (gsize i = 0; i < G_N_ELEMENTS(as->small) && (i == 0 || as->small[i]); i++) {
    if (chunk->size < (gsize)as->small[i] + as->small_bytes) break;
    const guint8 *at = chunk->data + as->small[i];
    guint64 big = fc_big(at, as->small_bytes), little = fc_little(at, as->small_bytes);
    if (big || little) return little < big;
  }
  return FALSE;
}

static void turn_known(const known_chunk *as, fc_meta_chunk *chunk) {
  if (is_as_in_riff(as, chunk)) return;
  gsize at = turn_fields(chunk, as->at, as->once);
  if (as->count_at == NONE || chunk->size < (gsize)as->count_at + 4) return;
  guint64 count = fc_little(chunk->data + as->count_at, 4);
  while (count-- && at < chunk->size) at = turn_fields(chunk, at, as->each);
}

/* Whether a list is one in this order of bytes. */
static gboolean list_fits(const fc_meta_chunk *chunk, fc_family family) {
  gsize at = LIST_HEAD;
  while (at < chunk->size && chunk->size - at >= ENTRY_HEAD) {
    guint64 size = fc_chunk_get(fc_chunk_layout_of(family), chunk->data + at + 4, 4),
            left = chunk->size - at - ENTRY_HEAD;
    if (size > left) return FALSE;
    at += ENTRY_HEAD + (gsize)(size + (size & 1));
  }
  return TRUE;
}

/* Texts and, of a list that speaks of cue points, their numbers. */
static gboolean turn_list(fc_meta_chunk *chunk) {
  gboolean labels = chunk->size >= LIST_HEAD && memcmp(chunk->data, "adtl", 4) == 0;
  if (!list_fits(chunk, FC_FAMILY_RIFX)) return list_fits(chunk, FC_FAMILY_RIFF);
  for (gsize at = LIST_HEAD, next; at < chunk->size && chunk->size - at >= ENTRY_HEAD; at = next) {
    const guint8 *id = chunk->data + at;
    guint64 size = fc_big(id + 4, 4);
    next = at + ENTRY_HEAD + (gsize)(size + (size & 1));
    turn_fields(chunk, at, ".4");
    if (labels && size >= 4 && fc_chunk_id_is_among(id, "labl note")) turn_fields(chunk, at, "..4");
    if (labels && size >= 20 && memcmp(id, "ltxt", 4) == 0) turn_fields(chunk, at, "..44.2222");
  }
  return TRUE;
}

gboolean fc_rifx_turn(fc_meta_chunk *chunk) {
  if (memcmp(chunk->id, "LIST", 4) == 0) return turn_list(chunk);
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    if (memcmp(chunk->id, known[i].id, 4) == 0) {
      turn_known(&known[i], chunk);
      return TRUE;
    }
  return fc_chunk_id_is_among(chunk->id, bytes_alone);
}
