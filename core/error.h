/* SPDX-License-Identifier: MIT */
/*
 * error.h - how the engine fails: a GError of domain FC_ERROR whose code is an
 * fc_status and whose message is one line, without "filterchain:" and without a
 * full stop.
 */
#ifndef FC_CORE_ERROR_H
#define FC_CORE_ERROR_H

#include "core/filterchain.h"

G_BEGIN_DECLS

/* Sets `error` (which may be NULL) and returns FALSE, so: return fc_fail(...). */
gboolean fc_fail(GError **error, fc_status code, const char *format, ...) G_GNUC_PRINTF(3, 4);

G_END_DECLS

#endif
