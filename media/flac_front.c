/* SPDX-License-Identifier: MIT */
/*
 * flac_front.c - see flac_front.h. Blocks after RFC 9639: a byte with the type, whose
 * upper bit marks the last one, three bytes of length, and the content.
 */
#include "media/flac_front.h"

#include <string.h>

#include "media/cue_sheet.h"

enum { STREAMINFO = 0, APPLICATION = 2, TAGS = 4, CUESHEET = 5, PICTURE = 6 };

#define MARK    4 /* "fLaC" */
#define HEAD    4 /* of a block */
#define LAST    0x80
#define ALL_MAX ((gsize)64 << 20)

static gsize block_size(const guint8 *head) {
  return HEAD + ((gsize)head[1] << 16 | (gsize)head[2] << 8 | head[3]);
}

static gboolean is_kept(int type, gboolean places) {
  return type == APPLICATION || type == TAGS || type == PICTURE || (type == CUESHEET && places);
}

/* ---- reading ----------------------------------------------------------- */

/* FALSE when there is no more of the file, or too much of it. */
static gboolean append_block(fc_input *input, gint64 at, gsize size, fc_blob *to) {
  if (to->size + size > ALL_MAX || (gint64)size > input->size - at) return FALSE;
  guint8 *block = fc_blob_grow(to, size);
  if (!block) return FALSE;
  if (fc_input_read_at(input, at, block, size, NULL) != (gssize)size) {
    to->size -= size;
    return FALSE;
  }
  block[0] &= (guint8)~LAST;
  return TRUE;
}

void fc_flac_blocks_read(fc_input *input, gboolean places, fc_blob *blocks) {
  if (!input->seekable || input->head_size < MARK || memcmp(input->head, "fLaC", MARK) != 0) return;
  guint8 head[HEAD] = {0};
  for (gint64 at = MARK; !(head[0] & LAST); at += (gint64)block_size(head)) {
    if (fc_input_read_at(input, at, head, HEAD, NULL) != HEAD) return;
    if (is_kept(head[0] & ~LAST, places) && !append_block(input, at, block_size(head), blocks)) return;
  }
}

void fc_flac_blocks_of_part(const fc_blob *blocks, gint64 lead, gint64 frames, fc_blob *to, guint *left_out) {
  gsize size;
  for (gsize at = 0; at + HEAD <= blocks->size; at += size) {
    const guint8 *block = blocks->data + at;
    size = block_size(block);
    if (block[0] == CUESHEET)
      fc_cue_sheet_part(block, size, lead, frames, to, left_out);
    else
      fc_blob_put(to, block, size);
  }
}

/* ---- writing ----------------------------------------------------------- */

static gboolean has_type(const fc_blob *blocks, int type) {
  for (gsize at = 0; at + HEAD <= blocks->size; at += block_size(blocks->data + at))
    if (blocks->data[at] == type) return TRUE;
  return FALSE;
}

void fc_flac_blocks_name(const fc_blob *blocks, GString *names) {
  static const struct {
    int type;
    const char *name;
  } known[] = {{APPLICATION, "application data"}, {CUESHEET, "cue sheet"}, {PICTURE, "picture"}};
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    if (has_type(blocks, known[i].type)) fc_media_add_word(names, known[i].name);
}

/* Size of the front, once its last block is there; else 0. */
static gsize front_size(const fc_blob *held) {
  gsize at = MARK;
  while (at + HEAD <= held->size) {
    gboolean last = held->data[at] & LAST;
    at += block_size(held->data + at);
    if (last) return at <= held->size ? at : 0;
  }
  return 0;
}

/* The encoder's own blocks, but for its tags where there are others, then ours. */
static void join(const fc_flac_front *front, fc_blob *joined) {
  const guint8 *own = front->held.data;
  fc_blob_put(joined, own, MARK);
  for (gsize at = MARK; at < front->before; at += block_size(own + at)) {
    if ((own[at] & ~LAST) == TAGS && has_type(front->blocks, TAGS)) continue;
    gsize start = joined->size;
    fc_blob_put(joined, own + at, block_size(own + at));
    if (!joined->failed) joined->data[start] &= (guint8)~LAST;
  }
  gsize at = joined->size;
  fc_blob_join(joined, front->blocks);
  if (joined->failed) return;
  while (at + block_size(joined->data + at) < joined->size) at += block_size(joined->data + at);
  joined->data[at] |= LAST;
}

gboolean fc_flac_front_feed(fc_flac_front *front, const void *from, gsize size) {
  fc_blob_put(&front->held, from, size);
  if (front->held.failed) return TRUE;
  front->before = front_size(&front->held);
  if (!front->before) return FALSE;
  fc_blob joined = {0};
  join(front, &joined);
  front->after = joined.size;
  fc_blob_put(&joined, front->held.data + front->before, front->held.size - front->before);
  fc_blob_clear(&front->held);
  front->held = joined;
  return TRUE;
}

gint64 fc_flac_front_place(const fc_flac_front *front, gint64 position) {
  return position < (gint64)front->before ? position
                                          : position - (gint64)front->before + (gint64)front->after;
}
