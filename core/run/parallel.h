/* SPDX-License-Identifier: MIT */
/*
 * parallel.h - the executor for signals that lie in host memory and are filtered on the
 * CPU: as any part can be had at any time, every worker takes a chunk by itself and
 * runs it through all stages, with buffers of its own that stay in its caches. The first stage
 * reads the caller's memory where it lies, but for what needs a border (parts.h).
 */
#ifndef FC_CORE_PARALLEL_H
#define FC_CORE_PARALLEL_H

#include "core/plan/plan.h"
#include "core/base/trace.h"

G_BEGIN_DECLS

/* Runs a plan that fc_plan_for_memory has taken. Views as in fc_chain_run_host; their
 * shapes have been checked. Fills in the result as fc_execute does. */
gboolean fc_execute_parallel(fc_plan *plan, const fc_view *in, const fc_view *out, const fc_options *options,
                             fc_trace *trace, fc_result *result, GError **error);

G_END_DECLS

#endif
