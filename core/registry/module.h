/* SPDX-License-Identifier: MIT */
/*
 * module.h - a plugin file as a loaded module: from a path to what its entry returns, unchecked except for
 * the version of the contract. Used by the registry and, for files outside our installation, first in the
 * scanner's child process.
 */
#ifndef FC_CORE_MODULE_H
#define FC_CORE_MODULE_H

#include "core/base/error.h"

#include <dlfcn.h>

G_BEGIN_DECLS

/* Runtimes of sanitizers refuse RTLD_DEEPBIND: their own functions must be found first. In such builds
 * equal names in plugins are not kept separate. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(RTLD_DEEPBIND)
#define FC_MODULE_OWN_NAMES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define FC_MODULE_OWN_NAMES 0
#endif
#endif
#ifndef FC_MODULE_OWN_NAMES
#define FC_MODULE_OWN_NAMES RTLD_DEEPBIND
#endif

/* Whether a file may be a plugin, by name and file type; reads no content. */
gboolean fc_module_check_file(const char *path, GError **error);

/* Whether it was built with a sanitizer whose runtime this process does not have: opening such a file ends
 * the process, with a message that the user does not see. Reads the file. */
gboolean fc_module_check_sanitizer(const char *path, GError **error);

/*
 * Opens it, which runs its constructors; it is never unloaded. `trusted`: one of ours, with lazy binding. For
 * others a missing function is an error now, and symbols that they define take precedence over those of this
 * process (a `crc32` that is not static, as in zlib). `path` is absolute.
 */
void *fc_module_open(const char *path, gboolean trusted, GError **error);

/* Calls its entry, after checking symbol, size and ABI version. */
const fc_plugin *fc_module_ask(void *module, GError **error);

G_END_DECLS

#endif
