/* SPDX-License-Identifier: MIT */
/*
 * run.h - the executor: acquire, stages, release, for one chunk after another.
 *
 *     acquire                    stages                       release
 *     read from the sources  ->  link 0 .. link n       ->    write to the sink
 *     or borrow                  in a workspace               or leave in place
 *
 * Each slot of each workspace has a worker, which takes a chunk through all three. Chunks are cut and read in
 * order, one at a time; computed concurrently in different workspaces, in order within one; and released in
 * order if there is a sink or a measurement. So a device - upload, compute and download of three chunks at
 * once - and the CPU - a chunk for each core - run the same loop with different numbers of workspaces and
 * slots. The output does not depend on these numbers.
 *
 * A chain keeps its runs for the next input of the same kind (fc_chain.ready), with their memory, threads and
 * prepared operators.
 */
#ifndef FC_CORE_RUN_H
#define FC_CORE_RUN_H

#include "core/context/stream.h"
#include "core/plan/plan.h"

G_BEGIN_DECLS

typedef struct fc_run fc_run;

/* The ends of a run; all belong to the caller. */
typedef struct fc_ends {
  fc_source *source; /* NULL: a generator, or borrowed */
  /* one for each further input; inputs read out of order are in memory (memory.h); all have the type that
   * the stage gets */
  fc_source *const *sides;
  fc_sink *sink;           /* NULL: measurements only, or borrowed */
  const fc_view *in, *out; /* for a plan that is borrowed */
  const char *name;        /* for messages about values */
} fc_ends;

/* Allocates buffers for the plan and takes a reference to it. `stream`: the caller's, else NULL. FALSE
 * with FC_NO_MEMORY if smaller chunks might help. */
fc_run *fc_run_new(fc_plan *plan, void *stream, GError **error);
void fc_run_free(gpointer run);
fc_plan *fc_run_plan(fc_run *run);

/* Runs everything; the sink is begun and written to, but neither committed nor freed. Fills in the
 * result's formats, counts and measurements. `began`: something may have been read or written. */
gboolean fc_run_execute(fc_run *run, const fc_ends *ends, const fc_options *options, fc_trace *trace,
                        fc_result *result, gboolean *began, GError **error);

/* For a run on the caller's stream: enqueues and returns. */
gboolean fc_run_enqueue(fc_run *run, const fc_view *in, const fc_view *out, GError **error);
/* Whether a NaN was to be converted to an integer in the work that was enqueued and is done. */
gboolean fc_run_check(fc_run *run, const char *name, GError **error);
/* Whether a value was clipped in it. */
gboolean fc_run_clips(const fc_run *run);

/* TRUE with the error set when the caller has asked to stop. Any thread. */
gboolean fc_run_cancelled(const fc_options *options, GError **error);

/* ---- in steps, for a session: one chunk at a time, in the caller's thread ---- */

gboolean fc_run_begin(fc_run *run, const fc_ends *ends, const fc_options *options, GError **error);
/* Processes the chunks that need only the first `have` elements of the signal; `ended`: there are no more,
 * passed once. */
gboolean fc_run_step(fc_run *run, gint64 have, gboolean ended, GError **error);

/* Where and on what it has run, and the measurements of the chain; strings live as long as the result. */
gboolean fc_run_report(fc_run *run, fc_result *result, GError **error);

G_END_DECLS

#endif
