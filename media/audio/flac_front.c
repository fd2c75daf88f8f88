/* SPDX-License-Identifier: MIT */
/*
 * flac_front.c - see flac_front.h. Blocks after RFC 9639: a byte with the type, whose
 * upper bit marks the last one, three bytes of length, and the content.
 */
#include "media/audio/flac_front.h"

#include <string.h>

#include "media/file/bytes.h"
#include "media/audio/cue_sheet.h"
#include "media/file/warn.h"
#include "media/file/window.h"

#define MARK    4 /* "fLaC" */
#define HEAD    FC_FLAC_BLOCK_HEAD
#define LAST    0x80
#define ALL_MAX ((gsize)64 << 20)

static gsize block_size(const guint8 *head) {
  return HEAD + (gsize)fc_big(head + 1, HEAD - 1);
}

void fc_flac_block_head(guint8 *to, int kind, gsize size) {
  to[0] = (guint8)kind;
  fc_put_big(to + 1, size, HEAD - 1);
}

const guint8 *fc_flac_block_next(const fc_blob *blocks, gsize *at, gsize *size) {
  if (*at >= blocks->size) return NULL;
  const guint8 *block = blocks->data + *at;
  *size = block_size(block) - HEAD;
  *at += HEAD + *size;
  return block;
}

/* What nobody has heard of yet, too; but for the one that stands for no block at all. */
static gboolean is_kept(int kind) {
  enum { NONE = 127 };
  return kind == FC_FLAC_APPLICATION || (kind >= FC_FLAC_CUESHEET && kind < NONE);
}

/* ---- reading ----------------------------------------------------------- */

/* FALSE when there is no more of the file, or too much of it. */
static gboolean append_block(fc_window *window, gint64 at, gsize size, fc_blob *to) {
  if (to->size + size > ALL_MAX || (gint64)size > window->input->size - at) return FALSE;
  guint8 *block = fc_blob_grow(to, size);
  if (!block) return FALSE;
  const guint8 *seen = size <= FC_WINDOW_SIZE ? fc_window_see(window, at, size) : NULL;
  if (seen) memcpy(block, seen, size);
  if (!seen && fc_input_read_at(window->input, at, block, size, NULL) != (gssize)size) {
    to->size -= size;
    return FALSE;
  }
  block[0] &= (guint8)~LAST;
  return TRUE;
}

static gboolean append_comments(fc_window *window, gint64 at, gsize size, fc_comments *to) {
  g_auto(fc_blob) block = {0};
  gboolean whole = to->fields.size + size <= ALL_MAX && append_block(window, at, size, &block) &&
                   fc_comments_read(to, block.data + HEAD, size - HEAD);
  to->fields.failed |= block.failed;
  return whole;
}

gboolean fc_flac_front_read(fc_input *input, fc_blob *blocks, fc_comments *comments) {
  if (!input->seekable || input->head_size < MARK || memcmp(input->head, "fLaC", MARK) != 0) return TRUE;
  fc_window window = {.input = input};
  gboolean whole = TRUE, last = FALSE;
  gsize size;
  for (gint64 at = MARK; !last; at += (gint64)size) {
    const guint8 *head = fc_window_see(&window, at, HEAD);
    if (!head) return FALSE;
    const int kind = head[0] & ~LAST;
    last = (head[0] & LAST) != 0;
    size = block_size(head);
    if (kind == FC_FLAC_COMMENTS) whole &= append_comments(&window, at, size, comments);
    if (is_kept(kind)) whole &= append_block(&window, at, size, blocks);
  }
  return whole;
}

void fc_flac_blocks_without_places(const fc_blob *blocks, fc_blob *to) {
  const guint8 *block;
  for (gsize at = 0, size; (block = fc_flac_block_next(blocks, &at, &size));)
    if (*block != FC_FLAC_CUESHEET) fc_blob_put(to, block, HEAD + size);
}

void fc_flac_blocks_of_part(const fc_blob *blocks, gint64 lead, gint64 frames, fc_blob *to, guint *left_out) {
  gsize size;
  for (gsize at = 0; at + HEAD <= blocks->size; at += size) {
    const guint8 *block = blocks->data + at;
    size = block_size(block);
    if (block[0] == FC_FLAC_CUESHEET)
      fc_cue_sheet_part(block, size, lead, frames, to, left_out);
    else
      fc_blob_put(to, block, size);
  }
}

/* ---- writing ----------------------------------------------------------- */

void fc_flac_blocks_name(const fc_blob *blocks, gboolean pictures, GString *names) {
  static const char *const known[] = {[FC_FLAC_APPLICATION] = "application data",
                                      [FC_FLAC_CUESHEET] = "cue sheet",
                                      [FC_FLAC_PICTURE] = "picture"};
  const guint8 *block;
  for (gsize at = 0, size; (block = fc_flac_block_next(blocks, &at, &size));)
    if (*block != FC_FLAC_PICTURE || pictures)
      fc_media_add_word(names, *block <= FC_FLAC_PICTURE ? known[*block] : "blocks of unknown kind");
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

/* The encoder's comments, or those in their place, and the mask. */
static void put_comments(const fc_flac_front *front, const guint8 *own, fc_blob *to) {
  gsize at = to->size, size = block_size(own) - HEAD;
  fc_comments all = {0};
  if (front->comments) {
    fc_blob_join(&all.fields, &front->comments->fields);
    all.count = front->comments->count;
  } else {
    fc_comments_read(&all, own + HEAD, size);
  }
  if (front->mask) fc_comments_put_mask(&all, front->mask);
  fc_blob_put(to, own, HEAD);
  fc_comments_put(&all, own + HEAD, size, to);
  if (!to->failed) fc_flac_block_head(to->data + at, FC_FLAC_COMMENTS, to->size - at - HEAD);
  fc_comments_clear(&all);
}

static void mark_last(fc_blob *front) {
  gsize at = MARK, last = at;
  for (; at < front->size; at += block_size(front->data + at)) front->data[last = at] &= (guint8)~LAST;
  front->data[last] |= LAST;
}

gboolean fc_flac_front_joins(const fc_flac_front *front) {
  return front->blocks || front->comments || front->mask;
}

/* The encoder's own blocks, but for its comments where there are others, then ours. */
static void join(const fc_flac_front *front, fc_blob *joined) {
  const guint8 *own = front->held.data;
  fc_blob_put(joined, own, MARK);
  for (gsize at = MARK; at < front->before; at += block_size(own + at)) {
    if ((own[at] & ~LAST) == FC_FLAC_COMMENTS && (front->comments || front->mask))
      put_comments(front, own + at, joined);
    else
      fc_blob_put(joined, own + at, block_size(own + at));
  }
  if (front->blocks) fc_blob_join(joined, front->blocks);
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
