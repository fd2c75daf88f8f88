/* SPDX-License-Identifier: MIT */
/* blob.c - see blob.h. The size doubles, so that many small pieces cost no more than their bytes. */
#include "media/file/blob.h"

#include <string.h>

#include "media/file/bytes.h"

#define ROOM_LEAST ((gsize)256)

static gboolean make_room(fc_blob *blob, gsize size) {
  if (size > G_MAXSSIZE / 4 - blob->size) return FALSE;
  gsize room = MAX(blob->room, ROOM_LEAST);
  while (room < blob->size + size) room *= 2;
  if (blob->data && room == blob->room) return TRUE;
  guint8 *data = g_try_realloc(blob->data, room);
  if (data) blob->data = data, blob->room = room;
  return data != NULL;
}

guint8 *fc_blob_grow(fc_blob *blob, gsize size) {
  if (!blob->failed && !make_room(blob, size)) blob->failed = TRUE;
  if (blob->failed) return NULL;
  guint8 *place = blob->data + blob->size;
  blob->size += size;
  return place;
}

void fc_blob_put(fc_blob *blob, const void *from, gsize size) {
  guint8 *to = fc_blob_grow(blob, size);
  if (to && size) memcpy(to, from, size);
}

void fc_blob_join(fc_blob *blob, const fc_blob *other) {
  fc_blob_put(blob, other->data, other->size);
  blob->failed |= other->failed;
}

void fc_blob_put_little(fc_blob *blob, guint64 value, int bytes) {
  guint8 *to = fc_blob_grow(blob, (gsize)bytes);
  if (to) fc_put_little(to, value, bytes);
}

void fc_blob_put_big(fc_blob *blob, guint64 value, int bytes) {
  guint8 *to = fc_blob_grow(blob, (gsize)bytes);
  if (to) fc_put_big(to, value, bytes);
}

void fc_blob_clear(fc_blob *blob) {
  g_free(blob->data);
  *blob = (fc_blob){0};
}

gboolean fc_blob_check(const fc_blob *blob, const char *name, GError **error) {
  return !blob->failed ||
         fc_fail(error, FC_NO_MEMORY, "%s: no memory for more than %" G_GSIZE_FORMAT " bytes of metadata",
                 name, blob->size);
}
