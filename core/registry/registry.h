/* SPDX-License-Identifier: MIT */
/*
 * registry.h - finds operators: lists plugin files, checks them, and knows what they define.
 *
 * Search order of folders: those added, those of $FILTERCHAIN_PLUGIN_PATH, the built-in one; within a folder,
 * files by name. The first file that defines an operator is used, whatever the file's name; other definitions
 * are available by the qualified name PLUGIN-ID/OPERATOR. A definition that replaces a built-in operator is
 * logged, once.
 *
 * A file outside the built-in folder is first opened in a child process (scanner.h), so that one that crashes
 * or hangs does not affect this process. An invalid operator is left out, with the reason, and the rest of
 * its plugin is used. Modules are never unloaded, and every descriptor returned is a full-sized copy: fields
 * that the plugin's author did not know are zero, and `size` is this host's.
 *
 * Every function may be called from any thread. Results live as long as the registry.
 */
#ifndef FC_CORE_REGISTRY_H
#define FC_CORE_REGISTRY_H

#include "core/base/error.h"

G_BEGIN_DECLS

typedef struct fc_registry fc_registry;

fc_registry *fc_registry_new(void);
void fc_registry_free(fc_registry *registry); /* NULL is allowed */

/* Receives warnings, in the thread that looks something up. Before the first look-up. */
void fc_registry_set_log(fc_registry *registry, fc_log_fn log, void *data);

/* Before the first look-up. A folder that does not exist is treated as empty. */
void fc_registry_add_dir(fc_registry *registry, const char *dir);

/* For tests and programs that link the engine statically: where the built-in folder and the scanner's
 * program are, instead of beside the library. */
void fc_registry_set_home(fc_registry *registry, const char *builtin, const char *helper);

/* The path of one of our programs: in `folder` of a build tree, else beside the folder of the built-in
 * plugins; g_free. */
char *fc_registry_program(const fc_registry *registry, const char *folder, const char *name);

/* For tests: the folder of the cache (plugin_cache.h); NULL for none. */
void fc_registry_set_cache(fc_registry *registry, const char *folder);

/* The operator of that name, or of "id/name"; opens as few files as possible: none that is known from
 * earlier runs not to define it. NULL with FC_UNSUPPORTED and a "did you mean", or with what is wrong with
 * the only definition. */
const fc_operator *fc_registry_find(fc_registry *registry, const char *name, GError **error);

/* All operators sorted by name, ending with NULL; g_free. Opens every plugin. */
const fc_operator **fc_registry_operators(fc_registry *registry, gsize *count);

/* Every plugin file, in search order: rejected with the reason, or accepted - then `reason`, if not NULL,
 * says which of its operators are not used: invalid, or defined by an earlier file; g_free. Opens every
 * plugin. */
fc_plugin_info *fc_registry_plugins(fc_registry *registry, gsize *count);

/* Opens one file by path; its operators are added unless their names are in use. NULL with the reason. */
const fc_plugin *fc_registry_open(fc_registry *registry, const char *path, GError **error);

/* Adds the operators of a plugin in the program itself; FALSE when one is invalid, or its name is in use. */
gboolean fc_registry_add(fc_registry *registry, const fc_plugin *plugin, GError **error);

/* Which plugin an operator came from; `path` may be NULL. NULL if the operator is not the registry's. */
const fc_plugin *fc_registry_plugin_of(fc_registry *registry, const fc_operator *op, const char **path);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_registry, fc_registry_free)

G_END_DECLS

#endif
