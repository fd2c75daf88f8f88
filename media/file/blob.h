/* SPDX-License-Identifier: MIT */
/*
 * blob.h - bytes that are put together, of which there may be as many as a file likes: unlike
 * GLib's arrays, which end the process, they say at the end that there was no memory.
 */
#ifndef FC_MEDIA_BLOB_H
#define FC_MEDIA_BLOB_H

#include "media/file/media.h"

G_BEGIN_DECLS

/* Empty when zeroed. */
typedef struct fc_blob {
  guint8 *data; /* g_free */
  gsize size, room;
  gboolean failed; /* something is missing in it */
} fc_blob;

/* Room for so many more bytes at the end, uninitialised; NULL, and failed from then on, when there is none.
 */
guint8 *fc_blob_grow(fc_blob *blob, gsize size);
/* Appends; nothing to one that has failed. */
void fc_blob_put(fc_blob *blob, const void *from, gsize size);
/* What another one holds, or its failure. */
void fc_blob_join(fc_blob *blob, const fc_blob *other);
/* The value's low bytes, the lowest or the highest first. */
void fc_blob_put_little(fc_blob *blob, guint64 value, int bytes);
void fc_blob_put_big(fc_blob *blob, guint64 value, int bytes);
void fc_blob_clear(fc_blob *blob);

/* FALSE with an error that starts with `name` when it has failed. */
gboolean fc_blob_check(const fc_blob *blob, const char *name, GError **error);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(fc_blob, fc_blob_clear)

G_END_DECLS

#endif
