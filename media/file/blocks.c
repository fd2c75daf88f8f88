/* SPDX-License-Identifier: MIT */
/* blocks.c - see blocks.h. Those that came back last are taken first: they are in the processor's caches. */
#include "media/file/blocks.h"

/* Outputs of a batch are of one size, or of a few in turn. */
#define LOOKED_AT 16

typedef struct block {
  fc_blocks *of;
  void *memory;
  gsize bytes;
} block;

struct fc_blocks {
  gint references; /* its owner, and each GBytes */
  GMutex mutex;    /* of all below */
  GArray *unused;  /* block */
  gsize unused_bytes, keep;
};

fc_blocks *fc_blocks_new(gsize keep) {
  fc_blocks *b = g_new0(fc_blocks, 1);
  b->references = 1, b->keep = keep;
  b->unused = g_array_new(FALSE, FALSE, sizeof(block));
  g_mutex_init(&b->mutex);
  return b;
}

static void unref(fc_blocks *b) {
  if (!g_atomic_int_dec_and_test(&b->references)) return;
  for (guint i = 0; i < b->unused->len; i++) g_free(g_array_index(b->unused, block, i).memory);
  g_array_free(b->unused, TRUE);
  g_mutex_clear(&b->mutex);
  g_free(b);
}

/* One that is at most an eighth too large. */
static void *find(fc_blocks *b, gsize *bytes) {
  for (guint i = b->unused->len; i-- > 0 && i + LOOKED_AT >= b->unused->len;) {
    const block at = g_array_index(b->unused, block, i);
    if (at.bytes < *bytes || at.bytes > *bytes + *bytes / 8) continue;
    g_array_remove_index(b->unused, i);
    b->unused_bytes -= at.bytes;
    *bytes = at.bytes;
    return at.memory;
  }
  return NULL;
}

void fc_blocks_keep(fc_blocks *b, gsize keep) {
  g_mutex_lock(&b->mutex);
  b->keep = keep;
  g_mutex_unlock(&b->mutex);
}

void *fc_blocks_take(fc_blocks *b, gsize *bytes) {
  g_mutex_lock(&b->mutex);
  void *found = find(b, bytes);
  g_mutex_unlock(&b->mutex);
  if (!found) found = g_try_malloc(*bytes);
  if (found) return found;
  fc_blocks_trim(b);
  return g_try_malloc(*bytes);
}

/* With the mutex held, which it ends. Of what is too much the ones go that were not used for the longest
 * time. */
static void keep_and_unlock(fc_blocks *b, gsize keep) {
  g_autoptr(GArray) gone = NULL;
  guint n = 0;
  for (; b->unused_bytes > keep; n++) b->unused_bytes -= g_array_index(b->unused, block, n).bytes;
  if (n) {
    gone = g_array_sized_new(FALSE, FALSE, sizeof(block), n);
    g_array_append_vals(gone, b->unused->data, n);
    g_array_remove_range(b->unused, 0, n);
  }
  g_mutex_unlock(&b->mutex);
  for (guint i = 0; i < n; i++) g_free(g_array_index(gone, block, i).memory);
}

void fc_blocks_give(fc_blocks *b, void *memory, gsize bytes) {
  const block back = {b, memory, bytes};
  g_mutex_lock(&b->mutex);
  g_array_append_val(b->unused, back);
  b->unused_bytes += bytes;
  keep_and_unlock(b, b->keep);
}

void fc_blocks_trim(fc_blocks *b) {
  g_mutex_lock(&b->mutex);
  keep_and_unlock(b, 0);
}

void fc_blocks_free(fc_blocks *b) {
  if (!b) return;
  g_mutex_lock(&b->mutex);
  b->keep = 0;
  keep_and_unlock(b, 0);
  unref(b);
}

static void come_back(gpointer data) {
  g_autofree block *back = data;
  fc_blocks_give(back->of, back->memory, back->bytes);
  unref(back->of);
}

GBytes *fc_blocks_wrap(fc_blocks *b, void *memory, gsize bytes, gsize filled) {
  block *back = g_new(block, 1);
  *back = (block){b, memory, bytes};
  g_atomic_int_inc(&b->references);
  return g_bytes_new_with_free_func(memory, filled, come_back, back);
}
