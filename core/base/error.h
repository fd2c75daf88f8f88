/* SPDX-License-Identifier: MIT */
/*
 * error.h - errors of the engine: a GError of domain FC_ERROR whose code is an fc_status and whose message is
 * one line, without "filterchain:" and without a full stop.
 */
#ifndef FC_CORE_ERROR_H
#define FC_CORE_ERROR_H

#include "core/contract/filterchain.h"

G_BEGIN_DECLS

/* Sets `error` (which may be NULL) and returns FALSE, so: return fc_fail(...). */
gboolean fc_fail(GError **error, fc_status code, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* A number of bytes for a message: "0.5 MB", "3.6 GB"; g_free. */
char *fc_size_for_message(double bytes);

G_END_DECLS

#endif
