/* SPDX-License-Identifier: MIT */
/*
 * plugin_cache.h - remembers, from earlier runs, which operators each plugin file outside our own
 * installation defines (none, if it is not a valid plugin). A look-up can then skip files that are searched
 * before the one that has the operator.
 *
 * The cache only says which files need not be opened. A file that is opened always goes through the scanner
 * (scanner.h), since what loading a file does depends on more than the file. For the same reason a file that
 * could not be loaded, crashed or hung is not remembered: it is tried again, as without a cache.
 *
 * One file, $XDG_CACHE_HOME/filterchain/plugins. An entry is valid while the plugin's size, times and inode
 * are unchanged; the file is valid for the version, contract and scanner that wrote it. A cache that is
 * missing, damaged, owned by another user or writable by others is ignored, and one that cannot be written is
 * not written: nothing here fails. It is replaced as a whole by a rename; of several processes that write at
 * once the last one's stays, and the others' entries are made again.
 *
 * One thread at a time, under the registry's mutex.
 */
#ifndef FC_CORE_PLUGIN_CACHE_H
#define FC_CORE_PLUGIN_CACHE_H

#include "core/base/error.h"

G_BEGIN_DECLS

typedef struct fc_plugin_cache fc_plugin_cache;

/* Identifies the content of a file. */
typedef struct fc_plugin_mark {
  gint64 size, modified, changed; /* times in ns */
  guint64 inode;
  gboolean settled; /* FALSE: modified so recently that another change might not show */
} fc_plugin_mark;

/* Reads the cache in `folder`; NULL: one that is empty and is not kept. `helper` is the scanner's
 * program, whose verdicts these are. */
fc_plugin_cache *fc_plugin_cache_open(const char *folder, const char *helper);
void fc_plugin_cache_free(fc_plugin_cache *cache); /* NULL is allowed */

/* TRUE when the current content of the file is known not to define the operator `name`. */
gboolean fc_plugin_cache_lacks(const fc_plugin_cache *cache, const char *path, const char *name);

/* To be called before the file is opened; the result is passed to fc_plugin_cache_note. */
fc_plugin_mark fc_plugin_mark_of(const char *path);

/* Remembers what a file defines: with `plugin` NULL no operators. */
void fc_plugin_cache_note(fc_plugin_cache *cache, const char *path, const fc_plugin_mark *mark,
                          const fc_plugin *plugin);
void fc_plugin_cache_forget(fc_plugin_cache *cache, const char *path);

/* Writes the cache if an entry was added or removed. */
void fc_plugin_cache_save(fc_plugin_cache *cache);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_plugin_cache, fc_plugin_cache_free)

G_END_DECLS

#endif
