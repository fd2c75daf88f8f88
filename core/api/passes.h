/* SPDX-License-Identifier: MIT */
/*
 * passes.h - operators that must measure the whole signal before they make any output (FC_OP_TWO_PASSES). For
 * each of them, from first to last, the chain up to it is run by itself to measure; then the whole chain is
 * run. A chain with n of them reads its input n + 1 times and stores none of it.
 */
#ifndef FC_CORE_PASSES_H
#define FC_CORE_PASSES_H

#include "core/context/chain.h"

G_BEGIN_DECLS

/* How many such stages there are. */
guint fc_passes_count(const fc_chain *chain);
/* FALSE with an error if a two-pass stage from stage `from` on reads a signal - `what` - that cannot be
 * read again. */
gboolean fc_passes_check(const fc_chain *chain, guint from, gboolean again, const char *what, GError **error);

/* Runs the chain in its current state, for measurements only. */
typedef gboolean (*fc_passes_fn)(void *data, GError **error);

/* Lets each two-pass stage measure its input: `run` is called with the chain shortened to end at that
 * stage. Afterwards the stages are ready for the final run; with `run` NULL they are reset. */
gboolean fc_passes_measure(fc_chain *chain, fc_passes_fn run, void *data, GError **error);

G_END_DECLS

#endif
