/* SPDX-License-Identifier: MIT */
/*
 * ours.c - see ours.h. The one part of the comparisons that knows GLib.
 */
#include "tests/bench/ours.h"

#include "core/contract/filterchain.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ours_chain {
  fc_context *context;
  fc_chain *chain;
  fc_result *result;
};

G_NORETURN static void end(const char *text, const char *why) {
  fprintf(stderr, "%.60s: %s\n", text, why);
  exit(1);
}

/* The signals are noise: that some of it was clipped tells nobody anything. */
static void log_nothing(fc_log_level level, const char *message, void *data) {}

static ours_chain *chain_of(const char *const *stages) {
  ours_chain *c = g_new0(ours_chain, 1);
  GError *error = NULL;
  c->context = fc_context_new();
  fc_context_set_log(c->context, log_nothing, NULL);
  c->chain = fc_chain_parse(c->context, stages, &error);
  if (!c->chain) end(stages[0], error->message);
  return c;
}

ours_chain *ours_chain_new(const char *text) {
  g_auto(GStrv) stages = g_strsplit(text, " ", -1);
  return chain_of((const char *const *)stages);
}

/* As .npy, which takes a fraction of the time of text. */
static void write_table(int fd, const char *path, const double *values, long rows, long columns,
                        int by_columns) {
  FILE *file = fdopen(fd, "wb");
  if (!file) end(path, g_strerror(errno));
  g_autofree char *header = g_strdup_printf("{'descr': '<f8', 'fortran_order': %s, 'shape': (%ld, %ld), }",
                                            by_columns ? "True" : "False", rows, columns);
  const int padded = 128 - 10;
  fwrite("\x93NUMPY\x01\x00", 1, 8, file);
  fputc(padded, file), fputc(0, file);
  fprintf(file, "%-*s\n", padded - 1, header);
  fwrite(values, sizeof *values, (size_t)rows * (size_t)columns, file);
  if (ferror(file) || fclose(file) != 0) end(path, "cannot be written");
}

ours_chain *ours_chain_of_table(const char *stage, const double *values, long rows, long columns,
                                int by_columns) {
  char *path = NULL;
  GError *error = NULL;
  const int fd = g_file_open_tmp("filterchain-bench-XXXXXX.npy", &path, &error);
  if (fd < 0) end(stage, error->message);
  write_table(fd, path, values, rows, columns, by_columns);
  g_auto(GStrv) parts = g_strsplit(stage, "%s", 2);
  char *whole = g_strjoinv(path, parts);
  ours_chain *chain = chain_of((const char *const[]){whole, NULL});
  (void)g_unlink(path);
  g_free(path), g_free(whole);
  return chain;
}

void ours_chain_run(ours_chain *c, const fc_view *in, const fc_view *out, void *stream) {
  fc_options options = FC_OPTIONS_INIT;
  GError *error = NULL;
  options.fuse = FC_FUSE_WAIT;
  if (!fc_chain_run_device(c->chain, in, out, stream, &options, &error))
    end("running on a stream", error->message);
}

void ours_chain_run_host(ours_chain *c, const fc_view *in, const fc_view *out) {
  fc_options options = FC_OPTIONS_INIT;
  GError *error = NULL;
  options.device = "cpu", options.threads = 1;
  g_clear_pointer(&c->result, fc_result_free);
  const gboolean ok = out ? fc_chain_run_host(c->chain, in, out, &options, &c->result, &error)
                          : fc_chain_save_file(c->chain, in, NULL, &options, &c->result, &error);
  if (!ok) end("running on the CPU", error->message);
}

const char *ours_chain_measured(const ours_chain *c, const char *name) {
  for (gsize i = 0; c->result && i < c->result->n_measured; i++)
    if (strcmp(c->result->measured[i]->name, name) == 0 && c->result->measured[i]->exact)
      return c->result->measured[i]->exact;
  end(name, "was not measured");
}

void ours_chain_free(ours_chain *c) {
  if (!c) return;
  g_clear_pointer(&c->result, fc_result_free);
  fc_chain_free(c->chain);
  fc_context_free(c->context);
  g_free(c);
}
