/* SPDX-License-Identifier: MIT */
/*
 * flac_blocks.c - see audio_tags.h. Blocks after RFC 9639: one byte for the kind, whose upper bit marks the
 * last block, three bytes for the length, and the content.
 */
#include "media/audio/audio_tags.h"

#include <string.h>

#include "media/file/bytes.h"

enum { MARK = 4, HEAD = 4, LAST = 0x80 };
enum { STREAMINFO = 0, PADDING = 1, APPLICATION = 2, SEEKTABLE = 3, COMMENTS = 4, CUESHEET = 5, PICTURE = 6 };

static gsize size_of(const guint8 *head) {
  return (gsize)fc_big(head + 1, HEAD - 1);
}

static const char *name_of(int kind) {
  static const char *const names[] = {[APPLICATION] = "application data",
                                      [COMMENTS] = "comments",
                                      [CUESHEET] = "cue sheet",
                                      [PICTURE] = "picture"};
  return kind <= PICTURE && names[kind] ? names[kind] : "blocks of unknown kind";
}

/* ---- reading ------------------------------------------------------------------ */

/* A block with tags in it. FALSE when it is damaged. */
static gboolean take_block(fc_tags *tags, int kind, const guint8 *data, gsize size) {
  const guint8 id[4] = {(guint8)kind};
  if (kind == COMMENTS) return fc_comments_read(tags, data, size);
  if (kind == PICTURE && !fc_comments_is_picture(data, size)) return FALSE;
  if (kind == PICTURE)
    fc_tags_add_picture(tags, data, size);
  else
    fc_tags_put_chunk(tags, id, data, size, TRUE);
  return TRUE;
}

gboolean fc_flac_blocks_read(fc_tags *tags, fc_input *input) {
  guint8 head[HEAD] = {0};
  gboolean whole = TRUE;
  for (gint64 at = MARK; !(head[0] & LAST); at += (gint64)size_of(head)) {
    if (fc_input_read_at(input, at, head, HEAD, NULL) != HEAD) return FALSE;
    at += HEAD;
    const int kind = head[0] & ~LAST;
    const gsize size = size_of(head);
    if (kind == STREAMINFO || kind == PADDING || kind == SEEKTABLE) continue;
    if ((gint64)size > input->size - at) return FALSE;
    g_autofree guint8 *data = g_try_malloc(size + 1);
    tags->failed |= !data;
    if (!data || fc_input_read_at(input, at, data, size, NULL) != (gssize)size) return FALSE;
    whole &= take_block(tags, kind, data, size);
  }
  return whole;
}

/* ---- writing ------------------------------------------------------------------ */

/* Size of the beginning, once its last block has arrived; else 0. */
static gsize front_size(const fc_blob *held) {
  gsize at = MARK;
  while (at + HEAD <= held->size) {
    const gboolean last = held->data[at] & LAST;
    at += HEAD + size_of(held->data + at);
    if (last) return at <= held->size ? at : 0;
  }
  return 0;
}

static void put_block(fc_blob *to, int kind, const void *data, gsize size) {
  fc_blob_put_little(to, (guint64)kind, 1);
  fc_blob_put_big(to, size, HEAD - 1);
  fc_blob_put(to, data, size);
}

static void put_own(const fc_audio_spec *spec, fc_blob *to) {
  const fc_tags *tags = spec->tags;
  for (guint i = 0; tags && i < tags->pictures->len; i++) {
    const fc_blob *picture = &g_array_index(tags->pictures, fc_blob, i);
    put_block(to, PICTURE, picture->data, picture->size);
  }
  for (guint i = 0; tags && tags->family == FC_TAGS_FLAC && i < tags->chunks->len; i++) {
    const fc_tag_chunk *chunk = &g_array_index(tags->chunks, fc_tag_chunk, i);
    if (chunk->id[0] == CUESHEET && fc_audio_is_moved(spec))
      fc_media_add_word(spec->lost, name_of(CUESHEET));
    else
      put_block(to, chunk->id[0], chunk->data, chunk->size);
  }
}

void fc_flac_blocks_name_lost(const fc_tags *tags, GString *lost) {
  for (guint i = 0; i < tags->chunks->len; i++)
    fc_media_add_word(lost, name_of(g_array_index(tags->chunks, fc_tag_chunk, i).id[0]));
}

static void mark_last(fc_blob *front) {
  gsize at = MARK, last = at;
  for (; at < front->size; at += HEAD + size_of(front->data + at)) front->data[last = at] &= (guint8)~LAST;
  front->data[last] |= LAST;
}

/* The encoder's blocks, with our comments instead of its own, then pictures and other blocks. */
static void join(const fc_flac_front *front, fc_blob *joined) {
  const guint8 *own = front->held.data;
  fc_blob_put(joined, own, MARK);
  for (gsize at = MARK, size; at < front->before; at += HEAD + size) {
    const int kind = own[at] & ~LAST;
    size = size_of(own + at);
    g_auto(fc_blob) comments = {0};
    if (kind == COMMENTS) fc_comments_put(front->spec, own + at + HEAD, size, &comments);
    joined->failed |= comments.failed;
    put_block(joined, kind, kind == COMMENTS ? comments.data : own + at + HEAD,
              kind == COMMENTS ? comments.size : size);
  }
  put_own(front->spec, joined);
  if (!joined->failed) mark_last(joined);
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
