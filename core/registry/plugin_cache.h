/* SPDX-License-Identifier: MIT */
/*
 * plugin_cache.h - what earlier runs learned of plugin files that are not of our own
 * installation: which operators each defines - none, where it is no fit plugin. So a look-up need not
 * open the files that are searched before the one that has the operator.
 *
 * The cache only says what need not be opened. It never vouches for a file: one that is
 * opened goes through the scanner (scanner.h) as ever, since what loading a file does depends on
 * more than the file. For the same reason a file that could not be loaded, crashed or hung is not
 * remembered: it is tried again, as without a cache.
 *
 * One file, $XDG_CACHE_HOME/filterchain/plugins. An entry counts while the plugin's size, times
 * and inode are what they were; the whole counts for the version, contract and scanner that wrote it.
 * A cache that is missing, damaged, somebody else's or open to others is no cache, and one that
 * cannot be written is not written: nothing here fails. It is replaced as a whole by a rename, so of
 * processes that write at once the last one's stays, and what the others learned is learned again.
 *
 * One thread at a time: the registry's mutex.
 */
#ifndef FC_CORE_PLUGIN_CACHE_H
#define FC_CORE_PLUGIN_CACHE_H

#include "core/base/error.h"

G_BEGIN_DECLS

typedef struct fc_plugin_cache fc_plugin_cache;

/* Which content of a file is meant. */
typedef struct fc_plugin_mark {
  gint64 size, modified, changed; /* times in ns */
  guint64 inode;
  gboolean settled; /* FALSE: so new that a change might not show */
} fc_plugin_mark;

/* Reads the cache in `folder`; NULL: one that is empty and is not kept. `helper` is the scanner's
 * program, whose verdicts these are. */
fc_plugin_cache *fc_plugin_cache_open(const char *folder, const char *helper);
void fc_plugin_cache_free(fc_plugin_cache *cache); /* NULL is allowed */

/* TRUE when the file, as it lies there now, is known not to define the operator `name`. */
gboolean fc_plugin_cache_lacks(const fc_plugin_cache *cache, const char *path, const char *name);

/* To be asked before the file is looked at, and handed to fc_plugin_cache_note then. */
fc_plugin_mark fc_plugin_mark_of(const char *path);

/* Remembers what a file defines: with `plugin` NULL nothing, whatever happens around it. */
void fc_plugin_cache_note(fc_plugin_cache *cache, const char *path, const fc_plugin_mark *mark,
                          const fc_plugin *plugin);
void fc_plugin_cache_forget(fc_plugin_cache *cache, const char *path);

/* Writes it when something was noted or forgotten since. */
void fc_plugin_cache_save(fc_plugin_cache *cache);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_plugin_cache, fc_plugin_cache_free)

G_END_DECLS

#endif
