/* SPDX-License-Identifier: MIT */
/*
 * pool.c - see pool.h. Workers sleep on a condition between loops and take indices
 * from an atomic counter within one; nothing is allocated per loop. If a thread
 * cannot be started the others, down to the caller alone, do its work. Locks are POSIX
 * ones here and throughout the engine, because ThreadSanitizer cannot see into GLib's.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "core/pool.h"

#include "core/groups.h"
#include "core/patience.h"

#include <pthread.h>
#include <sched.h>

struct fc_pool {
  int threads;
  guint started; /* workers running, without the caller */
  GThread **workers;
  pthread_mutex_t mutex;
  pthread_cond_t wake, done;
  guint64 generation; /* counts loops; guarded by mutex */
  guint busy;         /* workers still in the current loop; guarded by mutex */
  gboolean stop;
  fc_pool_body body;
  void *data;
  guint count;
  gint next; /* atomic */
};

typedef struct worker {
  fc_pool *pool;
  guint number;
} worker;

static void take_indices(fc_pool *pool, guint number) {
  for (;;) {
    guint index = (guint)g_atomic_int_add(&pool->next, 1);
    if (index >= pool->count) return;
    pool->body(index, number, pool->data);
  }
}

static gpointer work(gpointer data) {
  worker *me = data;
  fc_pool *pool = me->pool;
  guint64 seen = 0;
  pthread_mutex_lock(&pool->mutex);
  for (;;) {
    while (!pool->stop && pool->generation == seen) pthread_cond_wait(&pool->wake, &pool->mutex);
    if (pool->stop) break;
    seen = pool->generation;
    pthread_mutex_unlock(&pool->mutex);
    take_indices(pool, me->number);
    pthread_mutex_lock(&pool->mutex);
    if (--pool->busy == 0) pthread_cond_signal(&pool->done);
  }
  pthread_mutex_unlock(&pool->mutex);
  g_free(me);
  return NULL;
}

/* Read once: the files take longer than a small image. */
static pthread_once_t quota_once = PTHREAD_ONCE_INIT;
static int quota;

static void read_quota(void) {
  quota = fc_groups_processors("");
}

int fc_processors(void) {
  cpu_set_t set;
  int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
  if (count <= 0) count = (int)g_get_num_processors(); /* more than a set holds, or another system */
  pthread_once(&quota_once, read_quota);
  return MIN(count, quota);
}

fc_pool *fc_pool_new(int threads) {
  fc_pool *pool = g_new0(fc_pool, 1);
  pool->threads = threads > 0 ? threads : fc_processors();
  pool->workers = g_new0(GThread *, pool->threads);
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->wake, NULL);
  fc_cond_init(&pool->done);
  return pool;
}

int fc_pool_threads(const fc_pool *pool) {
  return pool->threads;
}

static void start_workers(fc_pool *pool) {
  while ((int)pool->started + 1 < pool->threads) {
    worker *me = g_new(worker, 1);
    *me = (worker){pool, pool->started + 1};
    GThread *thread = g_thread_try_new("filterchain", work, me, NULL);
    if (!thread) {
      g_free(me);
      pool->threads = (int)pool->started + 1;
      return;
    }
    pool->workers[pool->started++] = thread;
  }
}

void fc_pool_run(fc_pool *pool, guint count, fc_pool_body body, void *data) {
  if (count <= 1 || pool->threads <= 1) {
    for (guint i = 0; i < count; i++) body(i, 0, data);
    return;
  }
  start_workers(pool);
  pthread_mutex_lock(&pool->mutex);
  pool->body = body, pool->data = data, pool->count = count;
  g_atomic_int_set(&pool->next, 0);
  pool->busy = pool->started;
  pool->generation++;
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
  take_indices(pool, 0);
  pthread_mutex_lock(&pool->mutex);
  while (pool->busy > 0)
    if (fc_cond_wait(&pool->done, &pool->mutex) != 0) pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
}

void fc_pool_free(fc_pool *pool) {
  if (!pool) return;
  pthread_mutex_lock(&pool->mutex);
  pool->stop = TRUE;
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
  for (guint i = 0; i < pool->started; i++) g_thread_join(pool->workers[i]);
  pthread_mutex_destroy(&pool->mutex);
  pthread_cond_destroy(&pool->wake);
  pthread_cond_destroy(&pool->done);
  g_free(pool->workers);
  g_free(pool);
}
