/* SPDX-License-Identifier: MIT */
/*
 * ends.h - the opened ends of a run: sources, further inputs and a sink, or views; and the query that they
 * give the planner.
 */
#ifndef FC_CORE_ENDS_H
#define FC_CORE_ENDS_H

#include "core/run/run.h"

G_BEGIN_DECLS

/* The caller's options, with defaults for the fields that the caller's version does not have. */
fc_options fc_full_options(const fc_options *options);
/* Checks a caller's view and copies it to one of the library's size. */
gboolean fc_check_view(const fc_view *view, fc_view *full, const char *which, gboolean device,
                       GError **error);

/* The first GPU that the option `device` names; FC_HOST: it names none. */
gint32 fc_first_device(const char *device);
/* Begins to start that GPU, as fc_driver.start does; NULL: there is none, or no driver. */
fc_starting *fc_start_device(fc_chain *chain, const char *device);

typedef struct fc_opened {
  fc_chain *chain;
  const fc_options *options;
  fc_source *source; /* NULL: a generator, or views */
  fc_sink *sink;
  const fc_view *in, *out; /* borrowed views */
  guint n_sides;
  fc_source **sides;
  const fc_format **side_formats;
  const char **side_names;
  fc_format format; /* of the chain's signal */
  const char
      *drawn; /* borrowed; not NULL: the output, whatever its format, is a picture made from this file */
  char *once; /* an input that can be read once only; NULL: all can be read again */
  fc_plan_query query; /* but for `touch` */
} fc_opened;

/* What the caller gives; unused fields are NULL. */
typedef struct fc_between {
  const char *input, *output; /* files; in_bytes of the options may hold the content of the first */
  /* or views from fc_check_view, which must outlive this; views on a device: for a run on the caller's
   * stream */
  const fc_view *in, *out;
  gboolean later; /* the output is a view that is given later */
} fc_between;

/* Opens the inputs and creates nothing. The chain must have an input unless it begins with a generator.
 * NULL on failure. */
fc_opened *fc_opened_new(fc_chain *chain, const fc_between *between, const fc_options *options,
                         GError **error);
/* Reads inputs of unknown length into memory. */
gboolean fc_opened_know_end(fc_opened *opened, GError **error);
/* Formats only, to compute the output format, or for a session. */
fc_opened *fc_opened_formats(fc_chain *chain, const fc_format *in, int wanted, const fc_options *options,
                             GError **error);
void fc_opened_free(fc_opened *opened); /* NULL is allowed */

/* A plan between these ends. A source of unknown length is read into memory where a stage needs all of it.
 * `touch`: devices may be queried. */
fc_plan *fc_opened_plan(fc_opened *opened, gboolean touch, GError **error);
/* The ends as the executor takes them; further inputs are converted, and read into memory where necessary.
 * Valid while both arguments are. */
gboolean fc_opened_ends(fc_opened *opened, const fc_plan *plan, fc_ends *ends, GError **error);

/* Runs the chain between these ends, which are freed; NULL: they are opened. Otherwise fc_chain_run_file. */
gboolean fc_opened_run(fc_opened *opened, fc_chain *chain, const char *input, const char *output,
                       const fc_options *options, fc_result **result, GError **error);

/* A key of everything that the plan depends on, for ready.h; after fc_opened_plan. NULL where the plan
 * also depends on earlier measurements. */
GBytes *fc_opened_key(const fc_opened *opened);
GBytes *fc_view_key(const fc_chain *chain, const fc_view *in, int out_dtype, const void *stream,
                    const fc_options *options);

/*
 * joined.c: several sounds, one after another, as one source. Takes the sources over, also on failure; `n` is
 * at least 1. Rates, channels and what these mean must agree; the element type is one that holds all of
 * theirs exactly. The name is the first one's "and 2 more". It has no metadata: a sink that needs the first
 * source's is opened with that source.
 */
fc_source *fc_joined_source(fc_source **sources, guint n, GError **error);

G_END_DECLS

#endif
