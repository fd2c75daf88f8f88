/* SPDX-License-Identifier: MIT */
/*
 * ready.h - runs that a chain keeps for the next input of the same kind: plan, prepared operators, memory.
 *
 * The key holds everything that a plan depends on: formats, options, where input and output are. The least
 * recently used runs are freed, except those that a caller's graph was captured from.
 */
#ifndef FC_CORE_READY_H
#define FC_CORE_READY_H

#include "core/run/run.h"

G_BEGIN_DECLS

/* Takes the run with this key out of the list until it is kept again; NULL: there is none. `key` may be
 * NULL. */
fc_run *fc_ready_take(fc_chain *chain, GBytes *key);
/* Takes ownership of the run; with a NULL key it is freed. */
void fc_ready_keep(fc_chain *chain, GBytes *key, fc_run *run);
/* The same, but it is not evicted until fc_chain_release. */
void fc_ready_pin(fc_chain *chain, GBytes *key, fc_run *run);
/* fc_run_check of all kept runs. */
gboolean fc_ready_check(fc_chain *chain, GError **error);

G_END_DECLS

#endif
