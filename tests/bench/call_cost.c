/* SPDX-License-Identifier: MIT */
/*
 * call_cost.c - what a call of fc_chain_run_host takes on an image in memory, the fastest of some rounds, in
 * us: what the Python package's calls are held against.
 *
 *   call_cost STAGE ROWS COLUMNS CHANNELS THREADS
 */
#include "core/contract/filterchain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 7, CALLS = 2000 };

static fc_view view_of(void *data, int dtype, gint64 rows, gint64 cols, gint64 channels) {
  const gint64 size = (gint64)fc_dtype_size(dtype);
  return (fc_view){.size = sizeof(fc_view),
                   .dtype = dtype,
                   .kind = FC_IMAGE,
                   .data = data,
                   .shape = {1, rows, cols, channels},
                   .stride = {size * channels * cols * rows, size * channels * cols, size * channels, size},
                   .extent = {1, rows, cols, channels}};
}

int main(int argc, char **argv) {
  if (argc != 6) return 2;
  const char *const stages[] = {argv[1], NULL};
  const gint64 rows = atoi(argv[2]), cols = atoi(argv[3]), channels = atoi(argv[4]);
  g_autoptr(GError) error = NULL;
  fc_context *context = fc_context_new();
  fc_chain *chain = fc_chain_parse(context, stages, &error);
  if (!chain) g_error("%s", error->message);
  g_autofree guint8 *in = g_malloc0((gsize)(rows * cols * channels));
  g_autofree float *out = g_malloc0(sizeof(float) * (gsize)(rows * cols * channels));
  fc_view from = view_of(in, FC_U8, rows, cols, channels), to = view_of(out, FC_F32, rows, cols, channels);
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu", options.threads = atoi(argv[5]);
  double best = 1e30;
  for (int round = 0; round < ROUNDS; round++) {
    const gint64 start = g_get_monotonic_time();
    for (int i = 0; i < CALLS; i++)
      if (!fc_chain_run_host(chain, &from, &to, &options, NULL, &error)) g_error("%s", error->message);
    best = MIN(best, (double)(g_get_monotonic_time() - start) / CALLS);
  }
  printf("%.3f\n", best);
  fc_chain_free(chain);
  fc_context_free(context);
  return 0;
}
