/* SPDX-License-Identifier: MIT */
/*
 * bytes.h - what files are made of: numbers of up to 8 bytes in either order, marks, ids. Without GLib's
 * library: the decoder's helper is linked without it.
 */
#ifndef FC_MEDIA_BYTES_H
#define FC_MEDIA_BYTES_H

#include <glib.h>
#include <string.h>

G_BEGIN_DECLS

/* The lowest byte first. */
static inline guint64 fc_little(const guint8 *at, int bytes) {
  guint64 value = 0;
  while (bytes--) value = value << 8 | at[bytes];
  return value;
}

/* The highest byte first. */
static inline guint64 fc_big(const guint8 *at, int bytes) {
  guint64 value = 0;
  while (bytes--) value = value << 8 | *at++;
  return value;
}

/* The low bytes of a value. */
static inline void fc_put_little(guint8 *to, guint64 value, int bytes) {
  for (; bytes--; value >>= 8) *to++ = (guint8)value;
}

static inline void fc_put_big(guint8 *to, guint64 value, int bytes) {
  for (; bytes--; value >>= 8) to[bytes] = (guint8)value;
}

/* Do so many bytes of data begin so? */
static inline gboolean fc_begins(const void *data, gsize size, const char *with, gsize with_size) {
  return size >= with_size && memcmp(data, with, with_size) == 0;
}

/* Is an id of four characters one of `words`, which are apart by a blank? */
static inline gboolean fc_id_is_among(const guint8 *id, const char *words) {
  for (; *words; words += words[4] ? 5 : 4)
    if (memcmp(id, words, 4) == 0) return TRUE;
  return FALSE;
}

G_END_DECLS

#endif
