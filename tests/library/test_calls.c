/* SPDX-License-Identifier: MIT */
/*
 * test_calls.c - what a call on a small image takes beside its filter: at most 20 us, with any number of
 * threads. The median of many calls is held against that of one thread, which does nothing but filter and a
 * little more; a machine with other work holds up some calls, not most.
 */
#include "core/contract/filterchain.h"

#include <stdlib.h>
#include <time.h>

enum { SIDE = 64, CHANNELS = 3, CALLS = 3000, OVERHEAD_US = 20 };

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

/* Of a call, in us. */
static double median(fc_chain *chain, const fc_view *from, const fc_view *to, int threads) {
  static gint64 took[CALLS];
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.threads = threads;
  g_autoptr(GError) error = NULL;
  for (int i = -10; i < CALLS; i++) {
    const gint64 start = now_ns();
    g_assert_true(fc_chain_run_host(chain, from, to, &options, NULL, &error));
    if (i >= 0) took[i] = now_ns() - start;
  }
  qsort(took, CALLS, sizeof *took, by_time);
  return (double)took[CALLS / 2] / 1000;
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
  const double one = median(chain, &from, &to, 1);
  g_test_message("%s: 1 thread: %.1f us a call", stages[0], one);
  if (!SANITIZED && g_str_has_prefix(stage, "gain"))
    g_assert_cmpfloat(one, <=, OVERHEAD_US); /* with the filter, which takes 1 or 2 of them */
  for (guint i = 0; i < G_N_ELEMENTS(threads); i++) {
    double best = G_MAXDOUBLE; /* of up to three looks: a machine may have been busy with something else */
    for (int look = 0; look < 3 && best > one + OVERHEAD_US; look++)
      best = MIN(best, median(chain, &from, &to, threads[i]));
    g_test_message("%s: %d threads: %.1f us a call", stages[0], threads[i], best);
    if (!SANITIZED) g_assert_cmpfloat(best, <=, one + OVERHEAD_US);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_data_func("/calls/gain", "gain:0.5", test_calls);
  g_test_add_data_func("/calls/gauss", "gauss:1", test_calls);
  g_test_add_data_func("/calls/median", "median:3", test_calls);
  return g_test_run();
}
