/* SPDX-License-Identifier: MIT */
/*
 * alone.h - what a graph makes without the engine: one operator after another, each on the whole signal, by
 * the host of `filterchain check` (check/trial.h), with borders written from their definitions. Of the engine
 * only its plan is asked: the element types between stages, and where they are cast.
 */
#ifndef FC_TESTS_ENGINE_ALONE_H
#define FC_TESTS_ENGINE_ALONE_H

#include "check/trial.h"
#include "tests/engine/graph.h"

typedef struct alone {
  fc_format out;
  unsigned char *codes; /* dense; g_free */
  gboolean empty;       /* at some link, where blocks without an element may be measured, or not */
  GPtrArray *measured;  /* a GArray of measured (check/host.h) for each stage that measures */
} alone;

/* FALSE with a sentence in `why` (g_free). `b` is built with views. */
gboolean alone_run(const graph *g, const built *b, const source *signal, alone *made, char **why);
void alone_clear(alone *made);

/* Whether what chunks hold has room in what the plan counts on; FALSE with a sentence in `why` (g_free). */
gboolean alone_has_room(const graph *g, const built *b, gint64 chunk, char **why);

/* Whether no stage makes, or looks at, so much that a run takes more than milliseconds. */
gboolean alone_is_quick(const graph *g, const built *b);

#endif
