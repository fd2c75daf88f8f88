/* SPDX-License-Identifier: MIT */
/*
 * exec.h - the streaming executor: a source, a plan, a sink.
 *
 * A reader thread fills slots from the source, the calling thread computes, a writer
 * thread empties them into the sink; FC_SLOTS chunks are in flight. A run of a single
 * chunk happens in the calling thread alone.
 */
#ifndef FC_CORE_EXEC_H
#define FC_CORE_EXEC_H

#include "core/plan/plan.h"
#include "core/run/stream.h"
#include "core/base/trace.h"

G_BEGIN_DECLS

/*
 * Runs the plan; `sink` may be NULL. The sink is begun but neither committed nor
 * freed: the caller does that once everything has succeeded. Fills in the result's
 * formats, counts and measurements. Before anything was read,
 * retries with smaller chunks when memory runs out, and on the CPU when a device fails that
 * the user did not ask for; both are said. Fails with FC_NO_MEMORY or FC_DEVICE otherwise.
 */
gboolean fc_execute(fc_plan *plan, fc_source *source, fc_sink *sink, const fc_options *options,
                    fc_trace *trace, fc_result *result, GError **error);

/*
 * A plan made ready for a caller's stream: runner, buffers and the one chunk, kept from
 * call to call. It owns plan and runner, also when it cannot be made (NULL).
 */
typedef struct fc_device_run fc_device_run;
fc_device_run *fc_device_run_new(fc_plan *plan, fc_runner *runner, GError **error);
const fc_plan *fc_device_run_plan(const fc_device_run *run);
/* Enqueues everything between two views in device memory that are as the plan says;
 * waits for nothing. */
gboolean fc_device_run_enqueue(fc_device_run *run, const fc_view *in, const fc_view *out, GError **error);
/* NULL is allowed. What is enqueued still finishes. */
void fc_device_run_free(fc_device_run *run);

G_END_DECLS

#endif
