/* SPDX-License-Identifier: MIT */
/*
 * passes.h - operators that must have measured the whole signal before they can make any of it
 * (FC_OP_TWO_PASSES). For each of them, from first to last, the chain up to it is run by itself, for its
 * measurements; then the whole chain. A chain with n of them reads its input n + 1 times, and keeps none of
 * it.
 */
#ifndef FC_CORE_PASSES_H
#define FC_CORE_PASSES_H

#include "core/context/chain.h"

G_BEGIN_DECLS

/* How many such stages there are. */
guint fc_passes_count(const fc_chain *chain);
/* FALSE, with a sentence about such a stage, where there is one from stage `from` on, whose measurements read
 * the signal - `what` - and it cannot be had again. */
gboolean fc_passes_check(const fc_chain *chain, guint from, gboolean again, const char *what, GError **error);

/* Runs the chain as it is when called, for its measurements. */
typedef gboolean (*fc_passes_fn)(void *data, GError **error);

/* Has each such stage measure what comes to it, by `run` of the chain shortened to end there. Afterwards the
 * stages are ready to be run; with `run` NULL they are as they were made. */
gboolean fc_passes_measure(fc_chain *chain, fc_passes_fn run, void *data, GError **error);

G_END_DECLS

#endif
