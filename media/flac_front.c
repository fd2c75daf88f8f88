/* SPDX-License-Identifier: MIT */
/*
 * flac_front.c - see flac_front.h. Blocks after RFC 9639: a byte with the type, whose
 * upper bit marks the last one, three bytes of length, and the content.
 */
#include "media/flac_front.h"

#include <string.h>

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

static gboolean append_block(fc_input *input, gint64 at, gsize size, GByteArray *to) {
  guint start = to->len;
  if (start + size > ALL_MAX) return FALSE;
  g_byte_array_set_size(to, start + (guint)size);
  if (fc_input_read_at(input, at, to->data + start, size, NULL) != (gssize)size) {
    g_byte_array_set_size(to, start);
    return FALSE;
  }
  to->data[start] &= (guint8)~LAST;
  return TRUE;
}

GByteArray *fc_flac_blocks_read(fc_input *input, gboolean places) {
  if (!input->seekable || input->head_size < MARK || memcmp(input->head, "fLaC", MARK) != 0) return NULL;
  GByteArray *blocks = g_byte_array_new();
  guint8 head[HEAD] = {0};
  for (gint64 at = MARK; !(head[0] & LAST); at += (gint64)block_size(head)) {
    if (fc_input_read_at(input, at, head, HEAD, NULL) != HEAD) break;
    if (is_kept(head[0] & ~LAST, places) && !append_block(input, at, block_size(head), blocks)) break;
  }
  if (blocks->len) return blocks;
  g_byte_array_unref(blocks);
  return NULL;
}

/* ---- writing ----------------------------------------------------------- */

static gboolean has_type(const GByteArray *blocks, int type) {
  for (gsize at = 0; at + HEAD <= blocks->len; at += block_size(blocks->data + at))
    if (blocks->data[at] == type) return TRUE;
  return FALSE;
}

/* Size of the front, once its last block is there; else 0. */
static gsize front_size(const GByteArray *held) {
  gsize at = MARK;
  while (at + HEAD <= held->len) {
    gboolean last = held->data[at] & LAST;
    at += block_size(held->data + at);
    if (last) return at <= held->len ? at : 0;
  }
  return 0;
}

/* The encoder's own blocks, but for its tags where there are others, then ours. */
static GByteArray *join(const fc_flac_front *front) {
  GByteArray *joined = g_byte_array_new();
  const guint8 *own = front->held->data;
  g_byte_array_append(joined, own, MARK);
  for (gsize at = MARK; at < front->before; at += block_size(own + at)) {
    if ((own[at] & ~LAST) == TAGS && has_type(front->blocks, TAGS)) continue;
    guint start = joined->len;
    g_byte_array_append(joined, own + at, (guint)block_size(own + at));
    joined->data[start] &= (guint8)~LAST;
  }
  guint start = joined->len;
  g_byte_array_append(joined, front->blocks->data, front->blocks->len);
  gsize at = start;
  while (at + block_size(joined->data + at) < joined->len) at += block_size(joined->data + at);
  joined->data[at] |= LAST;
  return joined;
}

gboolean fc_flac_front_feed(fc_flac_front *front, const void *from, gsize size) {
  g_byte_array_append(front->held, from, (guint)size);
  front->before = front_size(front->held);
  if (!front->before) return FALSE;
  GByteArray *joined = join(front);
  front->after = joined->len;
  g_byte_array_append(joined, front->held->data + front->before, front->held->len - (guint)front->before);
  g_byte_array_unref(front->held);
  front->held = joined;
  return TRUE;
}

gint64 fc_flac_front_place(const fc_flac_front *front, gint64 position) {
  return position < (gint64)front->before ? position
                                          : position - (gint64)front->before + (gint64)front->after;
}
