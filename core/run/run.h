/* SPDX-License-Identifier: MIT */
/*
 * run.h - the executor: acquire, stages, release, for one chunk after another.
 *
 *     acquire                    stages                       release
 *     read from the sources  ->  link 0 .. link n       ->    write to the sink
 *     or borrow                  in a workspace               or leave in place
 *
 * Each slot of each workspace has a worker, which takes a chunk through all three. Chunks are cut and read in
 * order, one at a time; computed at the same time in different workspaces, in order within one; and released
 * in order where somebody minds. So the ring of a device - upload, compute and download of three chunks at
 * once - and the crew of the CPU - a chunk for each core - are the same loop with other numbers of workspaces
 * and slots. What comes out does not depend on either.
 *
 * A run is kept ready by its chain for the next input of the same kind (fc_chain.ready): its memory, threads
 * and prepared operators stay.
 */
#ifndef FC_CORE_RUN_H
#define FC_CORE_RUN_H

#include "core/context/stream.h"
#include "core/plan/plan.h"

G_BEGIN_DECLS

typedef struct fc_run fc_run;

/* What a run goes between; all the caller's. */
typedef struct fc_ends {
  fc_source *source;       /* NULL: a generator, or borrowed */
  fc_source *const *sides; /* one for each further input; random ones in memory (memory.h), all of the type
                              the stage is given */
  fc_sink *sink;           /* NULL: measurements only, or borrowed */
  const fc_view *in, *out; /* of a plan that is borrowed */
  const char *name;        /* for messages about values */
} fc_ends;

/* With buffers for the plan, which it takes a reference of. `stream`: the caller's, else NULL. FALSE with
 * FC_NO_MEMORY when smaller chunks might help. */
fc_run *fc_run_new(fc_plan *plan, void *stream, GError **error);
void fc_run_free(gpointer run);
fc_plan *fc_run_plan(fc_run *run);

/* The whole of it; the sink is begun and written to, and neither committed nor freed. Fills in the result's
 * formats, counts and measurements. `began`: something may have been read or written. */
gboolean fc_run_execute(fc_run *run, const fc_ends *ends, const fc_options *options, fc_trace *trace,
                        fc_result *result, gboolean *began, GError **error);

/* On the caller's stream: enqueues and returns. */
gboolean fc_run_enqueue(fc_run *run, const fc_view *in, const fc_view *out, GError **error);
/* Whether a value that is not a number was to become an integer in what was enqueued and is done. */
gboolean fc_run_check(fc_run *run, const char *name, GError **error);

/* ---- in steps, for a session: one chunk at a time, in the caller's thread ---- */

gboolean fc_run_begin(fc_run *run, const fc_ends *ends, const fc_options *options, GError **error);
/* Takes chunks that look at no more than the first `have` elements of the signal; `ended`: these are all,
 * once. */
gboolean fc_run_step(fc_run *run, gint64 have, gboolean ended, GError **error);

/* Keeps the first measurements of a chain, as long as the result lives. */
gboolean fc_run_report(fc_run *run, fc_result *result, GError **error);

G_END_DECLS

#endif
