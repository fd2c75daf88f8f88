/* SPDX-License-Identifier: MIT */
/*
 * progress.h - what a run tells its caller on the way, and the caller's wish to stop.
 */
#ifndef FC_CORE_PROGRESS_H
#define FC_CORE_PROGRESS_H

#include "core/contract/filterchain.h"

G_BEGIN_DECLS

/* TRUE with the error set when the caller wants the run to stop. Any thread. */
gboolean fc_cancelled(const fc_options *options, GError **error);

/* Calls options->progress unless that was less than a tenth of a second ago, by *last. FALSE
 * with the error when it says to stop. A total < 0 is not known. The caller's thread. */
gboolean fc_tell_progress(const fc_options *options, gint64 done, gint64 total, gint64 *last, GError **error);

G_END_DECLS

#endif
