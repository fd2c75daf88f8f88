/* SPDX-License-Identifier: MIT */
/*
 * test_calls.c - what a call on a small image takes beside its filter: at most 20 us, with any number of
 * threads. Calls with threads are held against calls with one, which do nothing but filter and a little more,
 * in turns, and by their first decile: other work on the machine holds up many calls, not the tenth part of
 * them, unless it is very busy. So it is looked at again until the difference is small, for PATIENCE at most:
 * a call that wakes threads is slow in every look.
 */
#include "core/contract/filterchain.h"

#include <stdlib.h>
#include <time.h>

enum { SIDE = 64, CHANNELS = 3, OVERHEAD_US = 20 };
/* In a look, of each kind; in a turn; and between looks, us. */
enum { CALLS = 1000, TURN = 50, PAUSE = 50000 };
#define PATIENCE (10 * G_TIME_SPAN_SECOND)

#if defined(FC_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static int by_time(const void *a, const void *b) {
  const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
  return x < y ? -1 : x > y;
}

static gint64 now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (gint64)t.tv_sec * 1000000000 + t.tv_nsec;
}

typedef struct calls {
  fc_chain *chain;
  const fc_view *from, *to;
} calls;

static void take_turn(const calls *c, int threads, gint64 *took) {
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.threads = threads;
  g_autoptr(GError) error = NULL;
  for (int i = -1; i < TURN; i++) { /* the first one plans, for another number of threads than before */
    const gint64 start = now_ns();
    g_assert_true(fc_chain_run_host(c->chain, c->from, c->to, &options, NULL, &error));
    if (i >= 0) took[i] = now_ns() - start;
  }
}

static double first_decile(gint64 *took) {
  qsort(took, CALLS, sizeof *took, by_time);
  return (double)took[CALLS / 10] / 1000;
}

/* us of a call with one thread, and with so many, in turns. */
static void look(const calls *c, int threads, double *one, double *several) {
  static gint64 alone[CALLS], shared[CALLS];
  for (int i = 0; i < CALLS; i += TURN) take_turn(c, 1, alone + i), take_turn(c, threads, shared + i);
  *one = first_decile(alone), *several = first_decile(shared);
}

/* What calls with `threads` take beyond those with one, or, if that is 1, beyond nothing, is little. */
static void check_calls(const calls *c, const char *stage, int threads) {
  const gint64 end = g_get_monotonic_time() + PATIENCE;
  double one, several, beyond;
  int looks = 0;
  for (;;) {
    look(c, threads, &one, &several), looks++;
    beyond = threads > 1 ? several - one : several;
    if (beyond <= OVERHEAD_US || SANITIZED || g_get_monotonic_time() >= end) break;
    g_usleep(PAUSE);
  }
  g_test_message("%s: %d threads: %.1f us a call, 1 thread %.1f, look %d", stage, threads, several, one,
                 looks);
  if (!SANITIZED) g_assert_cmpfloat(beyond, <=, OVERHEAD_US);
}

static void test_calls(gconstpointer stage) {
  static const int threads[] = {2, 3, 4, 8, 16, 64};
  const char *const stages[] = {stage, NULL};
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_context) context = fc_context_new();
  g_autoptr(fc_chain) chain = fc_chain_parse(context, stages, &error);
  g_assert_no_error(error);
  static guint8 in[SIDE * SIDE * CHANNELS] = {7}, out[SIDE * SIDE * CHANNELS];
  const fc_view from = {.size = sizeof from,
                        .dtype = FC_U8,
                        .kind = FC_IMAGE,
                        .data = in,
                        .shape = {1, SIDE, SIDE, CHANNELS},
                        .stride = {sizeof in, SIDE * CHANNELS, CHANNELS, 1},
                        .extent = {1, SIDE, SIDE, CHANNELS}};
  fc_view to = from;
  to.data = out;
  const calls c = {chain, &from, &to};
  if (g_str_has_prefix(stage, "gain")) check_calls(&c, stage, 1); /* with the filter, which takes 1 or 2 us */
  for (guint i = 0; i < G_N_ELEMENTS(threads); i++) check_calls(&c, stage, threads[i]);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_data_func("/calls/gain", "gain:0.5", test_calls);
  g_test_add_data_func("/calls/gauss", "gauss:1", test_calls);
  g_test_add_data_func("/calls/median", "median:3", test_calls);
  return g_test_run();
}
