/* SPDX-License-Identifier: MIT */
/*
 * progress.h - reports a run's progress to its caller, and the caller's request to stop.
 */
#ifndef FC_CORE_PROGRESS_H
#define FC_CORE_PROGRESS_H

#include "core/contract/filterchain.h"

G_BEGIN_DECLS

/* TRUE with the error set when the caller has asked to stop. Any thread. */
gboolean fc_cancelled(const fc_options *options, GError **error);

/* Calls options->progress unless the last call, at *last, was less than a tenth of a second ago. FALSE
 * with the error when it asks to stop. A negative total is unknown. The caller's thread. */
gboolean fc_tell_progress(const fc_options *options, gint64 done, gint64 total, gint64 *last, GError **error);

G_END_DECLS

#endif
