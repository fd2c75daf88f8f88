/* SPDX-License-Identifier: MIT */
/*
 * arena.c - see arena.h.
 */
#include "core/device/arena.h"

#include "core/base/pool.h"

#include <pthread.h>
#include <sys/mman.h>

#define HUGE_PAGE ((gsize)2 << 20)
#define PIECE     ((gsize)256)
#define THREADS   4
/* Bytes that are worth a thread of their own. */
#define THREAD_BYTES ((gsize)64 << 20)

typedef struct share {
  pthread_t thread;
  char *from;
  gsize bytes;
  gboolean started, failed;
} share;

struct fc_arena {
  void *mapped;
  gsize mapped_bytes;
  char *memory;
  gsize bytes, taken;
  share shares[THREADS];
  gboolean waited, failed;
};

/* Touches the pages with madvise, which fails where memory is short; touching them directly would get the
 * process killed. */
static gboolean populate(char *from, gsize bytes) {
#ifdef MADV_POPULATE_WRITE
  return madvise(from, bytes, MADV_POPULATE_WRITE) == 0;
#else
  return FALSE;
#endif
}

static void *make_ready(void *data) {
  share *s = data;
  s->failed = !populate(s->from, s->bytes);
  return NULL;
}

static gsize round_up(gsize value, gsize unit) {
  return (value + unit - 1) / unit * unit;
}

static void start(fc_arena *a) {
  gsize threads = CLAMP(a->bytes / THREAD_BYTES, 1, (gsize)MIN(THREADS, fc_processors()));
  gsize each = round_up(a->bytes / threads, HUGE_PAGE), from = 0;
  for (gsize i = 0; i < threads && from < a->bytes; i++, from += each) {
    share *s = &a->shares[i];
    s->from = a->memory + from, s->bytes = MIN(each, a->bytes - from);
    s->started = pthread_create(&s->thread, NULL, make_ready, s) == 0;
    if (!s->started) s->failed = TRUE; /* otherwise the thread sets it */
  }
}

fc_arena *fc_arena_new(gsize bytes) {
  if (bytes == 0 || bytes > G_MAXSIZE / 4) return NULL;
  gsize size = round_up(bytes, HUGE_PAGE);
  void *mapped = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return NULL;
  fc_arena *a = g_new0(fc_arena, 1);
  a->mapped = mapped, a->mapped_bytes = size + HUGE_PAGE;
  a->memory = (char *)round_up((gsize)mapped, HUGE_PAGE);
  a->bytes = size;
#ifdef MADV_HUGEPAGE
  madvise(a->memory, a->bytes, MADV_HUGEPAGE);
#endif
  start(a);
  return a;
}

void *fc_arena_wait(fc_arena *a, gsize *bytes) {
  for (guint i = 0; !a->waited && i < THREADS; i++) {
    if (a->shares[i].started) pthread_join(a->shares[i].thread, NULL);
    a->failed |= a->shares[i].failed;
  }
  a->waited = TRUE;
  *bytes = a->bytes;
  return a->failed ? NULL : a->memory;
}

void *fc_arena_take(fc_arena *a, gsize bytes) {
  gsize size = round_up(MAX(bytes, 1), PIECE);
  if (size > a->bytes - a->taken) return NULL;
  a->taken += size;
  return a->memory + a->taken - size;
}

gboolean fc_arena_owns(const fc_arena *a, const void *memory) {
  return a && (const char *)memory >= a->memory && (const char *)memory < a->memory + a->bytes;
}

void fc_arena_free(fc_arena *a) {
  gsize bytes;
  if (!a) return;
  fc_arena_wait(a, &bytes);
  munmap(a->mapped, a->mapped_bytes);
  g_free(a);
}
