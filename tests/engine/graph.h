/* SPDX-License-Identifier: MIT */
/*
 * graph.h - a chain with its signals as a value: drawn at random from descriptors, written as a command line,
 * made smaller.
 *
 * A further input is named by the format of a signal made up for it: "join:'audio,f32,1x1x30x2'".
 */
#ifndef FC_TESTS_ENGINE_GRAPH_H
#define FC_TESTS_ENGINE_GRAPH_H

#include "check/source.h"
#include "core/contract/filterchain.h"

typedef struct graph {
  fc_format in; /* of the signal; not looked at where a generator comes first */
  char **stages;
  int wanted;    /* the element type to be delivered; -1: the chain's own */
  int precision; /* FC_F32 or FC_F64 */
  guint64 seed;  /* of signals, and of the ways in which it is run */
} graph;

/* "audio,f32,1x1x500x2": kind, element type, N Y X C; FALSE: it is none. g_free. */
gboolean format_parse(const char *text, fc_format *format);
char *format_text(const fc_format *format);

/* What graphs are drawn from: the operators of the context, ours and the synthetic ones. */
typedef struct deck {
  fc_context *context;
  const fc_operator **ops, **synthetic, **generators; /* end with NULL */
} deck;

deck deck_of(fc_context *context);
void deck_clear(deck *d);

/* A random graph of up to `most` stages that takes its signal; NULL: none was found in some attempts. */
graph *graph_random(const deck *from, guint most, guint64 seed);
/* One stage on a signal of that format. */
graph *graph_of(const char *stage, const fc_format *in, guint64 seed);
graph *graph_copy(const graph *g);
/* The examples of all operators, and these with each border that can be named, as far as they take such a
 * signal (a generator: as far as there are some). */
GPtrArray *graph_examples(const deck *from, const fc_format *in);
void graph_free(graph *g); /* NULL is allowed */

/* Its options and stages, as a shell takes them; g_free. */
char *graph_text(const graph *g);
gboolean graph_generates(const deck *from, const graph *g);

/* A chain of it, with the signals of its further inputs. */
typedef struct built {
  fc_chain *chain;
  guint n_sides;
  source *sides;
  fc_view *views;
} built;

/* `paths`: of files that hold the further inputs, in their order; NULL: they are views. FALSE with an error.
 */
gboolean graph_build(const graph *g, fc_context *context, const char *const *paths, built *b, GError **error);
void built_clear(built *b);
/* What all its runs have in common: the precision, and what is drawn by lot. */
fc_options graph_options(const graph *g);
/* What it makes of its signal. */
gboolean graph_output(const graph *g, fc_chain *chain, fc_format *out, GError **error);

/* The dense view of a signal. */
fc_view dense_view(const fc_format *format, void *codes);
gsize format_bytes(const fc_format *format);

/* Whether `fails` of it, as little of it as is found in some attempts. */
graph *graph_shrink(const graph *g, gboolean (*fails)(const graph *g, void *data), void *data);

#endif
