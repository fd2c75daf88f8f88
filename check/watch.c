/* SPDX-License-Identifier: MIT */
/*
 * watch.c - see watch.h. Live blocks are in a table of fixed size, since nothing can be allocated while an
 * allocation is being recorded. Beyond its size blocks are not counted.
 */
#include "check/watch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define ROOM 65536 /* a power of two */

typedef struct live_block {
  void *memory; /* NULL: free */
  size_t bytes;
} live_block;

static _Thread_local watch_phase phase;
static atomic_int allocations, sees;
static int own_phase, *last_phase = &own_phase;
static atomic_size_t first_bytes, least_bytes;
static _Atomic(const char *) first_function;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static live_block blocks[ROOM];
static atomic_int n_live;
static size_t live_bytes;

watch_phase watch_enter(watch_phase next) {
  const watch_phase was = phase;
  phase = next;
  __atomic_store_n(last_phase, (int)next, __ATOMIC_RELAXED);
  return was;
}

const char *watch_phase_name(watch_phase p) {
  static const char *const names[] = {"between its callbacks", "in a callback", "in process"};
  return names[p];
}

const char *watch_doing(void) {
  return watch_phase_name((watch_phase)__atomic_load_n(last_phase, __ATOMIC_RELAXED));
}

void watch_share(int *where) {
  last_phase = where;
}

bool watch_sees(void) {
  return atomic_load(&sees) != 0;
}

void watch_can_see(void) {
  atomic_store(&sees, 1);
}

void watch_reset(void) {
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < ROOM; i++) blocks[i].memory = NULL;
  atomic_store(&n_live, 0), live_bytes = 0;
  atomic_store(&allocations, 0);
  pthread_mutex_unlock(&mutex);
}

void watch_ignore_below(size_t bytes) {
  atomic_store(&least_bytes, bytes);
}

int watch_allocations(size_t *bytes, const char **function) {
  *bytes = atomic_load(&first_bytes), *function = atomic_load(&first_function);
  return atomic_load(&allocations);
}

size_t watch_live(int *count) {
  pthread_mutex_lock(&mutex);
  *count = atomic_load(&n_live);
  const size_t bytes = live_bytes;
  pthread_mutex_unlock(&mutex);
  return bytes;
}

/* ---- the table: open addressing, linear; a removal moves the following entries ------------- */

static unsigned home_of(const void *memory) {
  return (unsigned)(((uintptr_t)memory >> 4) * 0x9e3779b97f4a7c15u >> 48) & (ROOM - 1);
}

static void insert(void *memory, size_t bytes) {
  unsigned i = home_of(memory);
  if (atomic_load(&n_live) > ROOM / 2) return;
  while (blocks[i].memory) i = (i + 1) & (ROOM - 1);
  blocks[i] = (live_block){memory, bytes};
  live_bytes += bytes;
  atomic_fetch_add(&n_live, 1);
}

static void take_out(void *memory) {
  unsigned i = home_of(memory);
  while (blocks[i].memory && blocks[i].memory != memory) i = (i + 1) & (ROOM - 1);
  if (!blocks[i].memory) return;
  live_bytes -= blocks[i].bytes;
  atomic_fetch_sub(&n_live, 1);
  for (unsigned j = (i + 1) & (ROOM - 1);; j = (j + 1) & (ROOM - 1)) {
    blocks[i].memory = NULL;
    while (blocks[j].memory && ((j - home_of(blocks[j].memory)) & (ROOM - 1)) < ((j - i) & (ROOM - 1)))
      j = (j + 1) & (ROOM - 1);
    if (!blocks[j].memory) return;
    blocks[i] = blocks[j], i = j;
  }
}

void watch_allocated(void *memory, size_t bytes, const char *function) {
  if (phase == WATCH_OFF || !memory) return;
  if (phase == WATCH_PROCESS) {
    if (bytes < atomic_load(&least_bytes)) return;
    if (atomic_fetch_add(&allocations, 1) == 0)
      atomic_store(&first_bytes, bytes), atomic_store(&first_function, function);
    return;
  }
  pthread_mutex_lock(&mutex);
  insert(memory, bytes);
  pthread_mutex_unlock(&mutex);
}

void watch_freed(void *memory) {
  if (!memory || atomic_load_explicit(&n_live, memory_order_relaxed) == 0) return;
  pthread_mutex_lock(&mutex);
  take_out(memory);
  pthread_mutex_unlock(&mutex);
}
