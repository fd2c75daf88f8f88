/* SPDX-License-Identifier: MIT */
/*
 * progress.c - see progress.h.
 */
#include "core/base/progress.h"

#include "core/base/error.h"

#define INTERVAL (G_TIME_SPAN_SECOND / 10)

gboolean fc_cancelled(const fc_options *options, GError **error) {
  if (!options->cancel || !g_atomic_int_get(options->cancel)) return FALSE;
  fc_fail(error, FC_IO, "interrupted");
  return TRUE;
}

gboolean fc_tell_progress(const fc_options *options, gint64 done, gint64 total, gint64 *last,
                          GError **error) {
  if (!options->progress) return TRUE;
  gint64 now = g_get_monotonic_time();
  if (now - *last < INTERVAL) return TRUE;
  *last = now;
  if (options->progress(done, total < 0 ? FC_UNKNOWN : total, options->progress_data)) return TRUE;
  return fc_fail(error, FC_IO, "stopped");
}
