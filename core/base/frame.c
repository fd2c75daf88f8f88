/* SPDX-License-Identifier: MIT */
/*
 * frame.c - see frame.h. Blocks stand in lists sorted by nothing: of unused ones there are
 * a dozen at most, one a link of the chains that ran last. To give one back allocates nothing: that happens
 * after an output is in place, when nothing may fail any more.
 */
#include "core/base/frame.h"

#include <pthread.h>
#include <stdlib.h>

#define ALIGNMENT 256

struct fc_frame_pool {
  pthread_mutex_t mutex;
  GQueue used, unused; /* block.link; of these the one unused longest first */
  gsize unused_bytes, keep, loose;
  gsize used_bytes, limit; /* of blocks in use; of both together */
  fc_alloc_fn alloc;
  fc_free_fn release; /* NULL: the memory is gone */
  void *data;
};

typedef struct block {
  GList link;
  void *memory;
  gsize bytes;
} block;

static void *alloc_plain(gsize bytes, gsize alignment, void *unused) {
  return aligned_alloc(alignment, bytes);
}

static void free_plain(void *memory, gsize bytes, void *unused) {
  free(memory);
}

fc_frame_pool *fc_frame_pool_new(gsize keep, gsize loose) {
  fc_frame_pool *pool = g_new0(fc_frame_pool, 1);
  pool->keep = keep, pool->loose = loose;
  pool->limit = G_MAXSIZE;
  pool->alloc = alloc_plain, pool->release = free_plain;
  g_queue_init(&pool->used);
  g_queue_init(&pool->unused);
  pthread_mutex_init(&pool->mutex, NULL);
  return pool;
}

void fc_frame_pool_set_limit(fc_frame_pool *pool, gsize limit) {
  pthread_mutex_lock(&pool->mutex);
  pool->limit = limit;
  pthread_mutex_unlock(&pool->mutex);
}

void fc_frame_pool_set_allocator(fc_frame_pool *pool, fc_alloc_fn alloc, fc_free_fn release, void *data) {
  pool->alloc = alloc ? alloc : alloc_plain, pool->release = alloc ? release : free_plain;
  pool->data = data;
}

static void destroy_block(fc_frame_pool *pool, block *b) {
  if (pool->release) pool->release(b->memory, b->bytes, pool->data);
  g_free(b);
}

static void drop_unused(fc_frame_pool *pool, gsize keep) {
  while (pool->unused_bytes > keep) {
    block *b = g_queue_pop_head_link(&pool->unused)->data;
    pool->unused_bytes -= b->bytes;
    destroy_block(pool, b);
  }
}

void fc_frame_pool_forget(fc_frame_pool *pool) {
  pool->release = NULL;
}

void fc_frame_pool_free(fc_frame_pool *pool) {
  if (!pool) return;
  drop_unused(pool, 0);
  pthread_mutex_destroy(&pool->mutex);
  g_free(pool);
}

gboolean fc_frame_pool_trim(fc_frame_pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  const gboolean any = pool->unused_bytes > 0;
  drop_unused(pool, 0);
  pthread_mutex_unlock(&pool->mutex);
  return any;
}

static gsize room(const fc_frame_pool *pool) {
  return pool->limit - MIN(pool->used_bytes, pool->limit);
}

gsize fc_frame_pool_room(fc_frame_pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  gsize bytes = room(pool);
  pthread_mutex_unlock(&pool->mutex);
  return bytes;
}

/* With the mutex held. Frees unused blocks where there is not enough room. */
static gboolean take(fc_frame_pool *pool, gsize bytes) {
  if (bytes > room(pool)) return FALSE;
  pool->used_bytes += bytes;
  drop_unused(pool, room(pool));
  return TRUE;
}

gboolean fc_frame_pool_take(fc_frame_pool *pool, gsize bytes) {
  pthread_mutex_lock(&pool->mutex);
  gboolean taken = take(pool, bytes);
  pthread_mutex_unlock(&pool->mutex);
  return taken;
}

void fc_frame_pool_give(fc_frame_pool *pool, gsize bytes) {
  pthread_mutex_lock(&pool->mutex);
  pool->used_bytes -= bytes;
  pthread_mutex_unlock(&pool->mutex);
}

/* The smallest unused block that fits without wasting more than half of it, where it is large. */
static block *take_unused(fc_frame_pool *pool, gsize bytes) {
  block *best = NULL;
  for (GList *at = pool->unused.head; at; at = at->next) {
    block *b = at->data;
    if (b->bytes < bytes || (b->bytes > pool->loose && b->bytes / 2 > bytes)) continue;
    if (!best || b->bytes < best->bytes) best = b;
  }
  if (!best) return NULL;
  g_queue_unlink(&pool->unused, &best->link);
  pool->unused_bytes -= best->bytes;
  return best;
}

/* Takes an unused block that serves, or else the right to a new one. */
static gboolean reserve(fc_frame_pool *pool, gsize bytes, block **b) {
  pthread_mutex_lock(&pool->mutex);
  *b = take_unused(pool, bytes);
  if (*b && (*b)->bytes > room(pool)) destroy_block(pool, g_steal_pointer(b));
  gboolean taken = take(pool, *b ? (*b)->bytes : bytes);
  pthread_mutex_unlock(&pool->mutex);
  return taken;
}

static block *new_block(fc_frame_pool *pool, gsize bytes) {
  void *memory = pool->alloc(bytes, ALIGNMENT, pool->data);
  if (!memory && fc_frame_pool_trim(pool)) {
    memory = pool->alloc(bytes, ALIGNMENT, pool->data);
  }
  if (!memory) return NULL;
  block *b = g_new0(block, 1);
  b->memory = memory, b->bytes = bytes, b->link.data = b;
  return b;
}

void *fc_frame_new(fc_frame_pool *pool, gsize bytes) {
  if (bytes > G_MAXSSIZE - ALIGNMENT) return NULL;
  bytes = MAX((bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, ALIGNMENT);
  block *b;
  if (!reserve(pool, bytes, &b)) return NULL;
  if (!b && !(b = new_block(pool, bytes))) {
    fc_frame_pool_give(pool, bytes);
    return NULL;
  }
  pthread_mutex_lock(&pool->mutex);
  g_queue_push_tail_link(&pool->used, &b->link);
  pthread_mutex_unlock(&pool->mutex);
  return b->memory;
}

/* The one had last first. */
static block *find_used(const fc_frame_pool *pool, const void *memory) {
  for (GList *at = pool->used.tail; at; at = at->prev)
    if (((const block *)at->data)->memory == memory) return at->data;
  return NULL;
}

gboolean fc_frame_free(fc_frame_pool *pool, void *memory) {
  pthread_mutex_lock(&pool->mutex);
  block *b = find_used(pool, memory);
  if (b) {
    g_queue_unlink(&pool->used, &b->link);
    g_queue_push_tail_link(&pool->unused, &b->link);
    pool->used_bytes -= b->bytes;
    pool->unused_bytes += b->bytes;
    drop_unused(pool, pool->keep);
  }
  pthread_mutex_unlock(&pool->mutex);
  return b != NULL;
}
