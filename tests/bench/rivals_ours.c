/* SPDX-License-Identifier: MIT */
/*
 * rivals_ours.c - see rivals_ours.h. The one part that knows GLib.
 */
#include "tests/bench/rivals_ours.h"

#include "core/contract/filterchain.h"

#include <stdio.h>
#include <stdlib.h>

struct ours_chain {
  fc_context *context;
  fc_chain *chain;
};

static void end(const char *text, const GError *error) {
  fprintf(stderr, "%.60s: %s\n", text, error->message);
  exit(1);
}

/* The signals are noise: that some of it was clipped tells nobody anything. */
static void log_nothing(fc_log_level level, const char *message, void *data) {}

ours_chain *ours_chain_new(const char *text) {
  ours_chain *c = g_new0(ours_chain, 1);
  g_auto(GStrv) stages = g_strsplit(text, " ", -1);
  GError *error = NULL;
  c->context = fc_context_new();
  fc_context_set_log(c->context, log_nothing, NULL);
  c->chain = fc_chain_parse(c->context, (const char *const *)stages, &error);
  if (!c->chain) end(text, error);
  return c;
}

void ours_chain_run(ours_chain *c, const fc_view *in, const fc_view *out, void *stream) {
  GError *error = NULL;
  if (!fc_chain_run_device(c->chain, in, out, stream, NULL, &error)) end("running on a stream", error);
}

void ours_chain_free(ours_chain *c) {
  fc_chain_free(c->chain);
  fc_context_free(c->context);
  g_free(c);
}
