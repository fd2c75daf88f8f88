/* SPDX-License-Identifier: MIT */
/*
 * ends.h - what a run goes between, opened: sources, further inputs, a sink; or views; and the question that
 * they put to the planner.
 */
#ifndef FC_CORE_ENDS_H
#define FC_CORE_ENDS_H

#include "core/run/run.h"

G_BEGIN_DECLS

/* The caller's options with fields that it does not know of at their defaults. */
fc_options fc_full_options(const fc_options *options);
/* A view of the caller's, checked, as one of the size that the library knows. */
gboolean fc_check_view(const fc_view *view, fc_view *full, const char *which, gboolean device,
                       GError **error);

typedef struct fc_opened {
  fc_chain *chain;
  const fc_options *options;
  fc_source *source; /* NULL: a generator, or views */
  fc_sink *sink;
  const fc_view *in, *out; /* views that are lent */
  guint n_sides;
  fc_source **sides;
  const fc_format **side_formats;
  const char **side_names;
  fc_format format;    /* of the chain's signal */
  char *once;          /* an input that can be read once only; NULL: all can be had again */
  fc_plan_query query; /* but for `touch` */
} fc_opened;

/* What a caller gives; the rest is NULL. */
typedef struct fc_between {
  const char *input, *output; /* files; the content of the first may be the options' in_bytes */
  const fc_view *in, *out; /* or views as fc_check_view made them, which must live on; on a device: for a run
                              on the caller's stream */
  gboolean later;          /* the output is a view that is not known yet */
} fc_between;

/* Nothing is created; the chain must have an input unless it begins with a generator. NULL on failure. */
fc_opened *fc_opened_new(fc_chain *chain, const fc_between *between, const fc_options *options,
                         GError **error);
/* Reads into memory what does not say how long it is. */
gboolean fc_opened_know_end(fc_opened *opened, GError **error);
/* Nothing but a format, for asking what comes of it, or for a session. */
fc_opened *fc_opened_formats(fc_chain *chain, const fc_format *in, int wanted, const fc_options *options,
                             GError **error);
void fc_opened_free(fc_opened *opened); /* NULL is allowed */

/* A plan between them. A source of unknown length is read into memory where a stage needs all of it. `touch`:
 * devices may be asked. */
fc_plan *fc_opened_plan(fc_opened *opened, gboolean touch, GError **error);
/* What the run is given; further inputs are cast, and read into memory where that must be. Valid as long as
 * both. */
gboolean fc_opened_ends(fc_opened *opened, const fc_plan *plan, fc_ends *ends, GError **error);

/* All that its plan follows from, for ready.h; after fc_opened_plan. NULL where a plan also follows from what
 * was measured before. */
GBytes *fc_opened_key(const fc_opened *opened);
GBytes *fc_view_key(const fc_chain *chain, const fc_view *in, int out_dtype, const void *stream,
                    const fc_options *options);

G_END_DECLS

#endif
