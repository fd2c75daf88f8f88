/* SPDX-License-Identifier: MIT */
/*
 * private_files.h - files under $XDG_CACHE_HOME/filterchain that are kept from run to run and that only this
 * user can have written.
 *
 * A file counts only where nobody but this user can have written it: the folder and the file are ours,
 * neither is writable by others, neither is a link that somebody else has laid. Files are written beside
 * their place and renamed, so processes that write at once do no harm; a digest shows damage. Nothing here
 * fails: what cannot be read is not there, what cannot be written is not kept.
 */
#ifndef FC_CORE_PRIVATE_FILES_H
#define FC_CORE_PRIVATE_FILES_H

#include <glib.h>

G_BEGIN_DECLS

/* $XDG_CACHE_HOME/filterchain, or NAME within it; NULL where FILTERCHAIN_NO_CACHE is set or there is no
 * such place. g_free. */
char *fc_private_folder(const char *name);

gboolean fc_private_is_ours(const char *folder);

/* What was written, if it is as much as a byte and at most so many; NULL: there is none. */
GBytes *fc_private_read(const char *folder, const char *name, gsize most);

/* Creates the folder where it is missing, with up to `levels` - 1 of its parents. */
gboolean fc_private_write(const char *folder, int levels, const char *name, gconstpointer data, gsize size);

G_END_DECLS

#endif
