/* SPDX-License-Identifier: MIT */
/*
 * ways.h - a graph is run in every way there is, and always makes the same bits: what its operators make
 * alone (alone.h); whole, in chunks, by threads; from and into memory in several layouts, files and pipes;
 * pushed into and pulled from a session; a second time in the same chain, and by a clone of it.
 */
#ifndef FC_TESTS_ENGINE_WAYS_H
#define FC_TESTS_ENGINE_WAYS_H

#include "tests/engine/graph.h"

typedef struct tally {
  guint64 graphs, refused, alone, memory, sessions, no_sessions, files, pipes;
} tally;

typedef struct ways {
  fc_context *context;
  const char *device; /* "cpu", "cuda" */
  gboolean fake;      /* that is the fake device (tests/device), on which operators run their CPU versions */
  const char *folder; /* for files, of this process alone */
  guint memory;       /* how many random ways in memory */
  tally *count;
} ways;

/* FALSE with what differs, in `fault` (g_free). */
gboolean ways_try(const ways *w, const graph *g, char **fault);

#endif
