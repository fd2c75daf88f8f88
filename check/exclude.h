/* SPDX-License-Identifier: MIT */
/*
 * exclude.h - tests that may fail, with the reason, in a file beside the plugin: median.check for median.so.
 * One per line, # begins a comment:
 *
 *     OPERATOR[/BACKEND] TEST-OR-ITEM: REASON
 *
 * `*` is any operator. An item is the word in brackets behind a failure.
 */
#ifndef FC_CHECK_EXCLUDE_H
#define FC_CHECK_EXCLUDE_H

#include <glib.h>

/* For a plugin's file; NULL with an error where a line is invalid; empty if there is no such file. */
GPtrArray *exclusions_read(const char *plugin, GError **error);
/* The reason why a failure is allowed, or NULL. `op` and `backend` may be NULL. */
const char *exclusions_find(const GPtrArray *list, const char *op, const char *backend, const char *test,
                            const char *item);
/* Whether all of them name what there is: an operator, a backend, a test or item. */
gboolean exclusions_fit(const GPtrArray *list, gboolean (*is_operator)(const char *name, const void *data),
                        const void *data, gboolean (*is_test)(const char *name), GError **error);

#endif
