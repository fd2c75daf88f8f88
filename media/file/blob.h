/* SPDX-License-Identifier: MIT */
/*
 * blob.h - a growing block of bytes, whose size may depend on a file: unlike GLib's arrays, which end the
 * process when memory is lacking, it records the failure, to be checked at the end.
 */
#ifndef FC_MEDIA_BLOB_H
#define FC_MEDIA_BLOB_H

#include "media/file/media.h"

G_BEGIN_DECLS

/* Empty when zeroed. */
typedef struct fc_blob {
  guint8 *data; /* g_free */
  gsize size, room;
  gboolean failed; /* an allocation failed: bytes are missing */
} fc_blob;

/* Reserves this many bytes at the end, uninitialised; NULL, and failed from then on, if there is no
 * memory. */
guint8 *fc_blob_grow(fc_blob *blob, gsize size);
/* Appends; does nothing after a failure. */
void fc_blob_put(fc_blob *blob, const void *from, gsize size);
/* Appends another blob's content, or its failure. */
void fc_blob_join(fc_blob *blob, const fc_blob *other);
/* The value's low bytes, in little- or big-endian order. */
void fc_blob_put_little(fc_blob *blob, guint64 value, int bytes);
void fc_blob_put_big(fc_blob *blob, guint64 value, int bytes);
void fc_blob_clear(fc_blob *blob);

/* FALSE with an error that starts with `name` after a failure. */
gboolean fc_blob_check(const fc_blob *blob, const char *name, GError **error);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(fc_blob, fc_blob_clear)

G_END_DECLS

#endif
