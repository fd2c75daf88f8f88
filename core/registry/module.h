/* SPDX-License-Identifier: MIT */
/*
 * module.h - a plugin file as a loaded module: from a path to what its entry
 * returns, unchecked but for the version of the contract. Used by the registry and,
 * for files that nobody vouches for, first in the scanner's child process.
 */
#ifndef FC_CORE_MODULE_H
#define FC_CORE_MODULE_H

#include "core/base/error.h"

#include <gmodule.h>

G_BEGIN_DECLS

/* Whether it is a file that may be a plugin, by name and kind; touches no content. */
gboolean fc_module_check_file(const char *path, GError **error);

/*
 * Opens it, which runs its constructors, and makes it resident: it is never
 * unloaded. `lazy` leaves functions to be found when they are first called; else a
 * missing one is an error now. `path` is absolute.
 */
GModule *fc_module_open(const char *path, gboolean lazy, GError **error);

/* Calls its entry; checks symbol, size and ABI version before anything else. */
const fc_plugin *fc_module_ask(GModule *module, GError **error);

G_END_DECLS

#endif
