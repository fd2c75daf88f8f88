/* SPDX-License-Identifier: MIT */
/*
 * ready.h - runs that a chain keeps for the next input of the same kind: plan, prepared operators, memory.
 *
 * A key is all that a plan follows from: formats, options, where the input and output are. The ones not used
 * longest go, but for those that a caller's graph was captured from.
 */
#ifndef FC_CORE_READY_H
#define FC_CORE_READY_H

#include "core/run/run.h"

G_BEGIN_DECLS

/* The run for this key, which is the caller's until it is kept again; NULL: there is none. `key` may be NULL.
 */
fc_run *fc_ready_take(fc_chain *chain, GBytes *key);
/* Takes the run over; with a NULL key it goes at once. */
void fc_ready_keep(fc_chain *chain, GBytes *key, fc_run *run);
/* The same, until fc_chain_release. */
void fc_ready_pin(fc_chain *chain, GBytes *key, fc_run *run);
/* fc_run_check of all. */
gboolean fc_ready_check(fc_chain *chain, GError **error);

G_END_DECLS

#endif
