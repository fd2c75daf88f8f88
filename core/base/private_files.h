/* SPDX-License-Identifier: MIT */
/*
 * private_files.h - files under $XDG_CACHE_HOME/filterchain that are kept from run to run and that only this
 * user can have written.
 *
 * A file is used only if the folder and the file belong to this user, neither is writable by others, and
 * neither is a symbolic link of somebody else's. Files are written under a temporary name and renamed, so
 * concurrent processes do no harm. Nothing here fails: a file that cannot be read counts as missing, and one
 * that cannot be written is dropped.
 */
#ifndef FC_CORE_PRIVATE_FILES_H
#define FC_CORE_PRIVATE_FILES_H

#include <glib.h>

G_BEGIN_DECLS

/* $XDG_CACHE_HOME/filterchain, or NAME within it; NULL where FILTERCHAIN_NO_CACHE is set or there is no
 * such place. g_free. */
char *fc_private_folder(const char *name);

gboolean fc_private_is_ours(const char *folder);

/* The content of a file of `least` to `most` bytes; NULL: there is none. */
GBytes *fc_private_read(const char *folder, const char *name, gsize least, gsize most);

/* Creates the folder where it is missing, with up to `levels` - 1 of its parents. */
gboolean fc_private_write(const char *folder, int levels, const char *name, gconstpointer data, gsize size);

G_END_DECLS

#endif
