/* SPDX-License-Identifier: MIT */
/*
 * pool.c - see pool.h. Workers sleep between loops, each on its own semaphore, and take indices from an
 * atomic counter during one; nothing is allocated per loop. If a thread cannot be started the others, or the
 * caller alone, do its work.
 *
 * A worker is in a loop from when it finds it open until it leaves it. When no index is left the caller
 * closes the loop and waits only for the workers inside; a worker that wakes up later finds it closed and
 * sleeps on, so that a loop never waits for a thread that has nothing to do. Each worker that is woken wakes
 * two more while there are indices, so that the caller need not wake 31 threads one by one.
 *
 * Each worker has a stack for signal handlers, so that a handler that a program installs with SA_ONSTACK can
 * still report an operator that overflowed the worker's own stack.
 *
 * Semaphores, not condition variables: those of glibc 2.27 to 2.40 can lose a wake-up when several threads
 * wait (bug 25847). ThreadSanitizer understands them and GLib's atomics, but not GLib's locks.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "core/base/pool.h"

#include "core/base/budget.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define CLOSED (1 << 30)

typedef struct worker {
  fc_pool *pool;
  guint number; /* from 1; 0 is the caller */
  sem_t go;     /* may also be posted for a loop that has ended, which costs one check */
  GThread *thread;
} worker;

struct fc_pool {
  int threads;
  guint started;   /* workers running, without the caller */
  worker *workers; /* number N at index N - 1 */
  gint stop;       /* atomic */
  /* The current loop; read only by workers that are inside it. */
  fc_pool_body body;
  void *data;
  guint count, helpers;
  gint next;   /* atomic */
  gint inside; /* atomic: the number of workers inside, and the flag CLOSED */
  sem_t left;  /* posted by the last worker to leave a closed loop */
};

/* ---- loops ------------------------------------------------------------ */

static void pass(sem_t *semaphore) {
  while (sem_wait(semaphore) != 0) continue; /* EINTR */
}

static void take_indices(fc_pool *pool, guint number) {
  for (;;) {
    guint index = (guint)g_atomic_int_add(&pool->next, 1);
    if (index >= pool->count) return;
    pool->body(index, number, pool->data);
  }
}

static gboolean enter(fc_pool *pool) {
  for (;;) {
    gint inside = g_atomic_int_get(&pool->inside);
    if (inside & CLOSED) return FALSE;
    if (g_atomic_int_compare_and_exchange(&pool->inside, inside, inside + 1)) return TRUE;
  }
}

static void leave(fc_pool *pool) {
  if (g_atomic_int_add(&pool->inside, -1) == (CLOSED | 1)) sem_post(&pool->left);
}

static void wake_two(fc_pool *pool, guint number) {
  for (guint n = 2 * number + 1; n <= 2 * number + 2 && n <= pool->helpers; n++)
    if ((guint)g_atomic_int_get(&pool->next) < pool->count) sem_post(&pool->workers[n - 1].go);
}

/* What our handler needs, besides the saved registers of the processor. */
#define HANDLER_BYTES (64 * 1024)

/* NULL: the thread has one already (from a sanitizer), or there is no memory. */
static void *lend_signal_stack(void) {
  stack_t there = {0}, stack = {.ss_size = HANDLER_BYTES + (gsize)MAX(sysconf(_SC_MINSIGSTKSZ), 0)};
  if (sigaltstack(NULL, &there) != 0 || !(there.ss_flags & SS_DISABLE)) return NULL;
  stack.ss_sp = malloc(stack.ss_size);
  if (stack.ss_sp && sigaltstack(&stack, NULL) == 0) return stack.ss_sp;
  free(stack.ss_sp);
  return NULL;
}

static void return_signal_stack(void *memory) {
  const stack_t none = {.ss_flags = SS_DISABLE};
  if (memory) sigaltstack(&none, NULL);
  free(memory);
}

static gpointer work(gpointer data) {
  worker *me = data;
  fc_pool *pool = me->pool;
  void *signal_stack = lend_signal_stack();
  for (;;) {
    pass(&me->go);
    if (g_atomic_int_get(&pool->stop)) break;
    if (!enter(pool)) continue;
    wake_two(pool, me->number);
    take_indices(pool, me->number);
    leave(pool);
  }
  return_signal_stack(signal_stack);
  return NULL;
}

/* Starts up to this many. */
static void start_workers(fc_pool *pool, guint wanted) {
  while (pool->started < wanted) {
    worker *me = &pool->workers[pool->started];
    *me = (worker){.pool = pool, .number = pool->started + 1};
    sem_init(&me->go, 0, 0);
    me->thread = g_thread_try_new("filterchain", work, me, NULL);
    if (!me->thread) {
      sem_destroy(&me->go);
      pool->threads = (int)pool->started + 1;
      return;
    }
    pool->started++;
  }
}

void fc_pool_run(fc_pool *pool, guint count, fc_pool_body body, void *data) {
  if (count <= 1 || pool->threads <= 1) {
    for (guint i = 0; i < count; i++) body(i, 0, data);
    return;
  }
  start_workers(pool, MIN(count, (guint)pool->threads) - 1);
  pool->body = body, pool->data = data, pool->count = count;
  pool->helpers = MIN(count - 1, pool->started);
  g_atomic_int_set(&pool->next, 0);
  g_atomic_int_set(&pool->inside, 0);
  wake_two(pool, 0);
  take_indices(pool, 0);
  if (g_atomic_int_add(&pool->inside, CLOSED) > 0) pass(&pool->left);
}

/* ---- crews ------------------------------------------------------------ */

/* Read once: reading the files takes longer than filtering a small image. */
static pthread_once_t quota_once = PTHREAD_ONCE_INIT;
static int quota;

static void read_quota(void) {
  quota = fc_groups_processors("");
}

int fc_processors(void) {
  cpu_set_t set;
  int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
  /* more processors than a cpu_set_t holds, or another system */
  if (count <= 0) count = (int)g_get_num_processors();
  pthread_once(&quota_once, read_quota);
  return MIN(count, quota);
}

int fc_pool_size(int threads) {
  return MIN(threads > 0 ? threads : fc_processors(), fc_budget_threads());
}

fc_pool *fc_pool_new(int threads) {
  fc_pool *pool = g_new0(fc_pool, 1);
  pool->threads = fc_pool_size(threads);
  pool->workers = g_new0(worker, pool->threads);
  pool->inside = CLOSED;
  sem_init(&pool->left, 0, 0);
  return pool;
}

int fc_pool_threads(const fc_pool *pool) {
  return pool->threads;
}

void fc_pool_free(fc_pool *pool) {
  if (!pool) return;
  g_atomic_int_set(&pool->stop, TRUE);
  for (guint i = 0; i < pool->started; i++) sem_post(&pool->workers[i].go);
  for (guint i = 0; i < pool->started; i++) {
    g_thread_join(pool->workers[i].thread);
    sem_destroy(&pool->workers[i].go);
  }
  sem_destroy(&pool->left);
  g_free(pool->workers);
  g_free(pool);
}
