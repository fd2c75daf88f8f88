/* SPDX-License-Identifier: MIT */
/*
 * fit.h - chunks and threads of a run, so that what operators work in fits into memory as well.
 */
#ifndef FC_CORE_FIT_H
#define FC_CORE_FIT_H

#include "core/plan/plan.h"

G_BEGIN_DECLS

/* After fc_plan_choose_chunk: prepares the stages that run on the CPU and asks them what they work in. Where
 * that and the buffers are more than is left of the limit, chunks get smaller, as long as that saves
 * something, then threads fewer: `threads` goes in as the options have it, and comes out as the number that
 * fits. Nothing is allocated. FALSE with FC_NO_MEMORY, and the smallest chunk, when nothing fits; the line
 * names limit and need. */
gboolean fc_plan_fit(fc_plan *plan, int *threads, GError **error);

G_END_DECLS

#endif
