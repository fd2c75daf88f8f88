/* SPDX-License-Identifier: MIT */
/*
 * frame.c - see frame.h. Unused blocks are in an unsorted list: there are a dozen at most, one for each link
 * of the chains that ran last. Freeing a block allocates nothing: that happens after an output is in place,
 * when nothing may fail any more.
 */
#include "core/base/frame.h"

#include <pthread.h>
#include <stdlib.h>

#define ALIGNMENT 256

struct fc_frame_pool {
  gint references;
  pthread_mutex_t mutex;
  GQueue unused; /* of fc_frame.link */
  gsize unused_bytes, keep;
  gsize used_bytes, limit; /* bytes of blocks in use, and of those with the unused ones */
  fc_alloc_fn alloc;       /* NULL: aligned_alloc */
  fc_free_fn release;
  void *data;
};

struct fc_frame {
  GList link; /* its place in the list of unused blocks */
  fc_frame_pool *pool;
  void *memory;
  gsize bytes;
};

fc_frame_pool *fc_frame_pool_new(gsize keep) {
  fc_frame_pool *pool = g_new0(fc_frame_pool, 1);
  pool->references = 1;
  pool->keep = keep;
  pool->limit = G_MAXSIZE;
  g_queue_init(&pool->unused);
  pthread_mutex_init(&pool->mutex, NULL);
  return pool;
}

void fc_frame_pool_set_limit(fc_frame_pool *pool, gsize limit) {
  pthread_mutex_lock(&pool->mutex);
  pool->limit = limit;
  pthread_mutex_unlock(&pool->mutex);
}

fc_frame_pool *fc_frame_pool_ref(fc_frame_pool *pool) {
  g_atomic_int_inc(&pool->references);
  return pool;
}

void fc_frame_pool_set_allocator(fc_frame_pool *pool, fc_alloc_fn alloc, fc_free_fn release, void *data) {
  pool->alloc = alloc, pool->release = release, pool->data = data;
}

static void *raw_alloc(const fc_frame_pool *pool, gsize bytes) {
  return pool->alloc ? pool->alloc(bytes, ALIGNMENT, pool->data) : aligned_alloc(ALIGNMENT, bytes);
}

static void destroy_frame(fc_frame *frame) {
  fc_frame_pool *pool = frame->pool;
  if (pool->alloc)
    pool->release(frame->memory, frame->bytes, pool->data);
  else
    free(frame->memory);
  g_free(frame);
}

static void drop_unused(fc_frame_pool *pool, gsize keep) {
  while (pool->unused_bytes > keep) {
    fc_frame *frame = g_queue_pop_head_link(&pool->unused)->data; /* the least recently used one */
    pool->unused_bytes -= frame->bytes;
    destroy_frame(frame);
  }
}

void fc_frame_pool_unref(fc_frame_pool *pool) {
  if (!pool || !g_atomic_int_dec_and_test(&pool->references)) return;
  drop_unused(pool, 0);
  pthread_mutex_destroy(&pool->mutex);
  g_free(pool);
}

void fc_frame_pool_trim(fc_frame_pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  drop_unused(pool, 0);
  pthread_mutex_unlock(&pool->mutex);
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

/* The smallest unused block that fits and wastes no more than half of its size. */
static fc_frame *take_unused(fc_frame_pool *pool, gsize bytes) {
  fc_frame *best = NULL;
  for (GList *at = pool->unused.head; at; at = at->next) {
    fc_frame *f = at->data;
    if (f->bytes < bytes || f->bytes / 2 > bytes) continue;
    if (!best || f->bytes < best->bytes) best = f;
  }
  if (!best) return NULL;
  g_queue_unlink(&pool->unused, &best->link);
  pool->unused_bytes -= best->bytes;
  return best;
}

static void *allocate(fc_frame_pool *pool, gsize bytes) {
  void *memory = raw_alloc(pool, bytes);
  if (memory) return memory;
  pthread_mutex_lock(&pool->mutex);
  drop_unused(pool, 0);
  pthread_mutex_unlock(&pool->mutex);
  return raw_alloc(pool, bytes);
}

/* Takes an unused block that fits, or reserves the bytes of a new one. */
static gboolean reserve(fc_frame_pool *pool, gsize bytes, fc_frame **frame) {
  pthread_mutex_lock(&pool->mutex);
  *frame = take_unused(pool, bytes);
  if (*frame && (*frame)->bytes > room(pool)) destroy_frame(g_steal_pointer(frame));
  gboolean taken = take(pool, *frame ? (*frame)->bytes : bytes);
  pthread_mutex_unlock(&pool->mutex);
  return taken;
}

fc_frame *fc_frame_new(fc_frame_pool *pool, gsize bytes) {
  if (bytes > G_MAXSSIZE - ALIGNMENT) return NULL;
  bytes = MAX((bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, ALIGNMENT);
  fc_frame *frame;
  if (!reserve(pool, bytes, &frame)) return NULL;
  if (!frame) {
    void *memory = allocate(pool, bytes);
    if (!memory) {
      fc_frame_pool_give(pool, bytes);
      return NULL;
    }
    frame = g_new0(fc_frame, 1);
    frame->memory = memory, frame->bytes = bytes;
    frame->link.data = frame;
  }
  frame->pool = pool;
  g_atomic_int_inc(&pool->references);
  return frame;
}

void fc_frame_free(fc_frame *frame) {
  if (!frame) return;
  fc_frame_pool *pool = frame->pool;
  pthread_mutex_lock(&pool->mutex);
  g_queue_push_tail_link(&pool->unused, &frame->link);
  pool->used_bytes -= frame->bytes;
  pool->unused_bytes += frame->bytes;
  drop_unused(pool, pool->keep);
  pthread_mutex_unlock(&pool->mutex);
  fc_frame_pool_unref(pool);
}

void *fc_frame_memory(fc_frame *frame) {
  return frame->memory;
}
