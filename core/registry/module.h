/* SPDX-License-Identifier: MIT */
/*
 * module.h - a plugin file as a loaded module: from a path to what its entry
 * returns, unchecked but for the version of the contract. Used by the registry and,
 * for files that nobody vouches for, first in the scanner's child process.
 */
#ifndef FC_CORE_MODULE_H
#define FC_CORE_MODULE_H

#include "core/base/error.h"

#include <dlfcn.h>

G_BEGIN_DECLS

/* The runtimes of sanitizers refuse it: their own functions must be found first. So a collision of names is
 * not kept apart in such builds. */
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

/* Whether it is a file that may be a plugin, by name and kind; touches no content. */
gboolean fc_module_check_file(const char *path, GError **error);

/* Whether it is built with a sanitizer whose runtime this process has not: opening such a file ends the
 * process, with a message of the runtime's that nobody sees. Reads the file. */
gboolean fc_module_check_sanitizer(const char *path, GError **error);

/*
 * Opens it, which runs its constructors; it is never unloaded. `trusted`: one of ours, whose functions are
 * found when they are first called. Of others a missing function is an error now, and names that they define
 * are their own, also where a library of this process has the same (a `crc32` that is not static, beside
 * zlib's). `path` is absolute.
 */
void *fc_module_open(const char *path, gboolean trusted, GError **error);

/* Calls its entry; checks symbol, size and ABI version before anything else. */
const fc_plugin *fc_module_ask(void *module, GError **error);

G_END_DECLS

#endif
