/* SPDX-License-Identifier: MIT */
/*
 * test_pool.c - the crew of threads and the pool of memory, used by several at once; worth
 * most under ThreadSanitizer (see HACKING.md).
 */
#include <string.h>
#include <sys/resource.h>

#include "core/base/frame.h"
#include "core/base/pool.h"

/* ---- threads ----------------------------------------------------------- */

#define MOST 1000

typedef struct loop {
  guint threads;
  gint visits[MOST]; /* atomic: of each index */
  gint inside[16];   /* atomic: calls that a worker is in */
  guint64 plain;     /* written by one index, read after the loop: no lock of ours */
} loop;

static void visit(guint index, guint worker, void *data) {
  loop *l = data;
  g_assert_cmpuint(worker, <, l->threads);
  g_assert_cmpint(g_atomic_int_add(&l->inside[worker], 1), ==, 0);
  g_atomic_int_inc(&l->visits[index]);
  if (index == 0) l->plain++;
  g_atomic_int_add(&l->inside[worker], -1);
}

/* Loops of many lengths: each index once, by no worker twice at a time. */
static gpointer run_loops(gpointer data) {
  guint threads = GPOINTER_TO_UINT(data);
  fc_pool *pool = fc_pool_new((int)threads);
  loop *l = g_new0(loop, 1);
  guint runs = 0;
  l->threads = threads;
  for (guint count = 0; count <= MOST; count = count < 5 ? count + 1 : count * 2 - 3, runs++) {
    memset(l->visits, 0, sizeof l->visits);
    fc_pool_run(pool, count, visit, l);
    for (guint i = 0; i < MOST; i++) g_assert_cmpint(l->visits[i], ==, i < count);
  }
  g_assert_cmpuint(l->plain, ==, runs - 1); /* all but the empty one */
  g_assert_cmpint(fc_pool_threads(pool), <=, (int)threads);
  fc_pool_free(pool);
  g_free(l);
  return NULL;
}

static void test_loops(void) {
  for (guint threads = 1; threads <= 9; threads += 2) run_loops(GUINT_TO_POINTER(threads));
}

/* Crews do not meet. */
static void test_crews(void) {
  GThread *users[4];
  for (guint i = 0; i < G_N_ELEMENTS(users); i++)
    users[i] = g_thread_new("user", run_loops, GUINT_TO_POINTER(i + 2));
  for (guint i = 0; i < G_N_ELEMENTS(users); i++) g_thread_join(users[i]);
}

/* One that has done nothing is as easily freed, and so is none. */
static void test_idle(void) {
  fc_pool_free(fc_pool_new(4));
  fc_pool_free(NULL);
}

/* ---- memory ------------------------------------------------------------ */

#define KEEP (1 << 16)

static gpointer use_frames(gpointer data) {
  fc_frame_pool *pool = data;
  guint8 *held[8] = {NULL};
  static gint users;
  guint8 mark = (guint8)(g_atomic_int_add(&users, 1) + 1);
  for (guint i = 0; i < 2000; i++) {
    guint8 **slot = &held[i * 5 % G_N_ELEMENTS(held)];
    gsize bytes = 1 + i * 7919 % 20000;
    if (*slot) {
      g_assert_cmpuint((*slot)[0], ==, mark); /* ours still */
      g_assert_true(fc_frame_free(pool, *slot));
    }
    *slot = fc_frame_new(pool, bytes);
    g_assert_cmpuint((gsize)*slot % 256, ==, 0);
    (*slot)[0] = (*slot)[bytes - 1] = mark;
  }
  for (guint i = 0; i < G_N_ELEMENTS(held); i++) g_assert_true(fc_frame_free(pool, held[i]));
  return NULL;
}

/* One pool, several threads; what is another's is left alone. */
static void test_frames(void) {
  fc_frame_pool *pool = fc_frame_pool_new(KEEP, 0), *other = fc_frame_pool_new(KEEP, 0);
  guint8 *last = fc_frame_new(other, 5000);
  GThread *users[4];
  for (guint i = 0; i < G_N_ELEMENTS(users); i++) users[i] = g_thread_new("user", use_frames, pool);
  for (guint i = 0; i < G_N_ELEMENTS(users); i++) g_thread_join(users[i]);
  g_assert_false(fc_frame_free(pool, last));
  g_assert_false(fc_frame_free(pool, NULL));
  fc_frame_pool_free(pool);
  memset(last, 1, 5000);
  g_assert_true(fc_frame_free(other, last));
  fc_frame_pool_free(other);
  fc_frame_pool_free(NULL);
}

/* Of small blocks each serves what fits into it, of large ones what takes half of them. */
static void test_loose(void) {
  fc_frame_pool *pool = fc_frame_pool_new(1 << 20, 4096);
  void *small = fc_frame_new(pool, 4096), *large = fc_frame_new(pool, 8192);
  fc_frame_free(pool, small);
  fc_frame_free(pool, large);
  void *first = fc_frame_new(pool, 1), *second = fc_frame_new(pool, 256);
  g_assert_true(first == small);
  g_assert_true(second != large);
  fc_frame_free(pool, first);
  fc_frame_free(pool, second);
  fc_frame_pool_free(pool);
}

/* What is over the limit is refused, unused blocks make way, and what is given back may be used again. */
static void test_limit(void) {
  fc_frame_pool *pool = fc_frame_pool_new(1 << 20, 0);
  fc_frame_pool_set_limit(pool, 10240);
  g_assert_null(fc_frame_new(pool, 10241));
  void *a = fc_frame_new(pool, 4096), *b = fc_frame_new(pool, 6000);
  g_assert_nonnull(a);
  g_assert_nonnull(b);
  g_assert_cmpuint(fc_frame_pool_room(pool), ==, 0); /* blocks are multiples of 256 */
  g_assert_null(fc_frame_new(pool, 1));
  g_assert_false(fc_frame_pool_take(pool, 1));
  fc_frame_free(pool, a);
  g_assert_cmpuint(fc_frame_pool_room(pool), ==, 4096);
  g_assert_true(fc_frame_pool_take(pool, 4096)); /* the unused block went for it */
  g_assert_null(fc_frame_new(pool, 4096));
  fc_frame_pool_give(pool, 4096);
  a = fc_frame_new(pool, 4096);
  g_assert_nonnull(a);
  fc_frame_pool_set_limit(pool, 100); /* what is handed out already stays */
  memset(a, 1, 4096);
  g_assert_cmpuint(fc_frame_pool_room(pool), ==, 0);
  fc_frame_free(pool, a);
  fc_frame_free(pool, b);
  fc_frame_pool_free(pool);
}

/* How many are wanted, of an address space of `gigabytes` and stacks of so many bytes. */
static int size_within(int wanted, rlim_t gigabytes, rlim_t stack) {
  struct rlimit space, stacks, changed;
  g_assert_cmpint(getrlimit(RLIMIT_AS, &space) | getrlimit(RLIMIT_STACK, &stacks), ==, 0);
  changed = (struct rlimit){gigabytes << 30, space.rlim_max};
  gboolean can = stack <= stacks.rlim_max && setrlimit(RLIMIT_AS, &changed) == 0;
  changed = (struct rlimit){stack, stacks.rlim_max};
  can = can && setrlimit(RLIMIT_STACK, &changed) == 0;
  int size = can ? fc_pool_size(wanted) : -1;
  g_assert_cmpint(setrlimit(RLIMIT_AS, &space) | setrlimit(RLIMIT_STACK, &stacks), ==, 0);
  return size;
}

/* A thread takes a stack and an arena of malloc's, and half of the space is for threads. */
static void test_address_space(void) {
  if (size_within(1, 1, 8 << 20) < 0) {
    g_test_skip("limits cannot be set here");
    return;
  }
  g_assert_cmpint(size_within(100, 1, 8 << 20), ==, 512 / 72);
  g_assert_cmpint(size_within(3, 1, 8 << 20), ==, 3);
  g_assert_cmpint(size_within(100, 1, 192 << 20), ==, 2);
  g_assert_cmpint(size_within(100, 4, 1 << 20), ==, 2048 / 65);
  rlim_t largest = ~(rlim_t)0 - (64 << 20) + 1; /* with the arena 0 */
  int size = size_within(100, 1, largest);
  g_assert_true(size == 1 || size == -1);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/pool/loops", test_loops);
  g_test_add_func("/pool/crews", test_crews);
  g_test_add_func("/pool/idle", test_idle);
  g_test_add_func("/pool/frames", test_frames);
  g_test_add_func("/pool/loose", test_loose);
  g_test_add_func("/pool/limit", test_limit);
  g_test_add_func("/pool/address-space", test_address_space);
  return g_test_run();
}
