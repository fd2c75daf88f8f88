/* SPDX-License-Identifier: MIT */
/*
 * registry.h - finds operators: which plugin files there are, which of them are
 * fit, and what they define.
 *
 * Folders are searched in this order: those added, those of $FILTERCHAIN_PLUGIN_PATH, the built-in one; the
 * files of a folder in the order of their names. The first file that defines an operator counts, whatever it
 * is called; other definitions are reached by the qualified name PLUGIN-ID/OPERATOR. What takes the place of
 * a built-in operator is logged, once.
 *
 * A file from outside the built-in folder is first opened in a child process (scanner.h), so that one that
 * crashes or hangs takes only the child with it. An operator that is not fit is left out, with its reason,
 * and the rest of its plugin is used. Modules are never unloaded, and every descriptor handed out is a
 * full-sized copy: fields that the plugin's author did not know are zero, and `size` is this host's.
 *
 * Every function may be called from any thread. What is returned lives as long as the registry.
 */
#ifndef FC_CORE_REGISTRY_H
#define FC_CORE_REGISTRY_H

#include "core/base/error.h"

G_BEGIN_DECLS

typedef struct fc_registry fc_registry;

fc_registry *fc_registry_new(void);
void fc_registry_free(fc_registry *registry); /* NULL is allowed */

/* Where warnings go; called from the thread that looks something up. Before the first look-up. */
void fc_registry_set_log(fc_registry *registry, fc_log_fn log, void *data);

/* Before the first look-up. A folder that does not exist holds no plugins. */
void fc_registry_add_dir(fc_registry *registry, const char *dir);

/* For tests and programs that the engine is linked into: where the built-in folder
 * and the scanner's program are, instead of beside the library. */
void fc_registry_set_home(fc_registry *registry, const char *builtin, const char *helper);

/* The path of a program of ours: in a build tree in `folder` of it, else beside the built-in plugins'
 * folder; g_free. */
char *fc_registry_program(const fc_registry *registry, const char *folder, const char *name);

/* For tests: the folder of the cache (plugin_cache.h); NULL for none. */
void fc_registry_set_cache(fc_registry *registry, const char *folder);

/* The operator of that name, or of "id/name"; opens as few files as it can: none that is known from earlier
 * runs not to define it. NULL with FC_UNSUPPORTED and a "did you mean", or why the one there is is not fit.
 */
const fc_operator *fc_registry_find(fc_registry *registry, const char *name, GError **error);

/* All operators sorted by name, ending with NULL; g_free. Opens every plugin. */
const fc_operator **fc_registry_operators(fc_registry *registry, gsize *count);

/* Every plugin file, in search order: rejected with the reason, or accepted - where
 * `reason`, if not NULL, says which of its operators are not used: unfit, or defined by an earlier file;
 * g_free. Opens every plugin. */
fc_plugin_info *fc_registry_plugins(fc_registry *registry, gsize *count);

/* Opens one file, wherever it lies; its operators join the others unless their names
 * are taken. NULL with the reason. */
const fc_plugin *fc_registry_open(fc_registry *registry, const char *path, GError **error);

/* Adds the operators of a plugin in the program itself; FALSE when one is unfit, or its name is taken. */
gboolean fc_registry_add(fc_registry *registry, const fc_plugin *plugin, GError **error);

/* Which plugin an operator came from; `path` may be NULL. NULL for a stranger. */
const fc_plugin *fc_registry_plugin_of(fc_registry *registry, const fc_operator *op, const char **path);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_registry, fc_registry_free)

G_END_DECLS

#endif
