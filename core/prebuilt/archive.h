/* SPDX-License-Identifier: MIT */
/*
 * archive.h - a file of composed kernels, built ahead for one kind of chip. It is installed beside the
 * library, and only read.
 *
 * An entry is a key, as of core/device/kernel_cache.h, a digest of the code, and the code; the file is an
 * array of them in GLib's serialised form. Whatever is damaged or truncated is not found.
 */
#ifndef FC_CORE_ARCHIVE_H
#define FC_CORE_ARCHIVE_H

#include <glib.h>

G_BEGIN_DECLS

/* NULL: not there. Reads the whole file, about a megabyte. Any thread. */
GBytes *fc_archive_find(const char *path, const char *key);

/* Writes the file anew, from keys to GBytes; in the order of keys, so that equal content is an equal file. */
gboolean fc_archive_write(const char *path, GHashTable *codes, GError **error);

G_END_DECLS

#endif
