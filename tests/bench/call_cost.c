/* SPDX-License-Identifier: MIT */
/*
 * call_cost.c - what a call of fc_chain_run_host takes on an image in memory, the fastest of some rounds, in
 * us: what the Python package's calls are held against. With "cuda": fc_chain_run_device, which only
 * enqueues.
 *
 *   call_cost STAGE ROWS COLUMNS CHANNELS THREADS [cuda]
 */
#include "core/contract/filterchain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rounds are short, so that some are not disturbed by other work on the machine, and a stream's queue does
 * not fill up. */
enum { ROUNDS = 300, CALLS = 200 };

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

static void fail_unless(gboolean ok, const GError *error) {
  if (!ok) g_error("%s", error->message);
}

/* Zeros on the first GPU, or in host memory. */
static void *memory_for(fc_context *context, gboolean cuda, gsize bytes) {
  g_autoptr(GError) error = NULL;
  if (!cuda) return g_malloc0(bytes);
  void *memory = fc_device_alloc(context, FC_CUDA_DEVICE(0), bytes, &error);
  fail_unless(memory != NULL, error);
  return memory;
}

int main(int argc, char **argv) {
  if (argc != 6 && argc != 7) return 2;
  const gboolean cuda = argc == 7 && strcmp(argv[6], "cuda") == 0;
  const char *const stages[] = {argv[1], NULL};
  const gint64 rows = atoi(argv[2]), cols = atoi(argv[3]), channels = atoi(argv[4]);
  g_autoptr(GError) error = NULL;
  fc_context *context = fc_context_new();
  fc_chain *chain = fc_chain_parse(context, stages, &error);
  fail_unless(chain != NULL, error);
  const gsize count = (gsize)(rows * cols * channels);
  void *in = memory_for(context, cuda, count), *out = memory_for(context, cuda, sizeof(float) * count);
  fc_view from = view_of(in, FC_U8, rows, cols, channels), to = view_of(out, FC_F32, rows, cols, channels);
  fc_options options = FC_OPTIONS_INIT;
  options.threads = atoi(argv[5]);
  if (cuda)
    from.device = to.device = FC_CUDA_DEVICE(0);
  else
    options.device = "cpu";
  double best = 1e30;
  for (int round = 0; round < ROUNDS; round++) {
    /* Freeing waits for the device. */
    if (cuda) fc_device_free(context, FC_CUDA_DEVICE(0), memory_for(context, TRUE, 1));
    const gint64 start = g_get_monotonic_time();
    for (int i = 0; i < CALLS; i++)
      fail_unless(cuda ? fc_chain_run_device(chain, &from, &to, NULL, &options, &error)
                       : fc_chain_run_host(chain, &from, &to, &options, NULL, &error),
                  error);
    best = MIN(best, (double)(g_get_monotonic_time() - start) / CALLS);
  }
  printf("%.3f\n", best);
  fc_chain_free(chain);
  if (cuda) {
    fc_device_free(context, FC_CUDA_DEVICE(0), in);
    fc_device_free(context, FC_CUDA_DEVICE(0), out);
  } else
    g_free(in), g_free(out);
  fc_context_free(context);
  return 0;
}
