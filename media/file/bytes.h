/* SPDX-License-Identifier: MIT */
/*
 * bytes.h - parts of files: numbers of up to 8 bytes in either byte order, signatures, ids. Without GLib,
 * because the decoder's helper is linked without it.
 */
#ifndef FC_MEDIA_BYTES_H
#define FC_MEDIA_BYTES_H

#include <glib.h>
#include <string.h>

G_BEGIN_DECLS

/* Little-endian. */
static inline guint64 fc_little(const guint8 *at, int bytes) {
  guint64 value = 0;
  while (bytes--) value = value << 8 | at[bytes];
  return value;
}

/* Big-endian. */
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

/* Whether the data begin with these bytes. */
static inline gboolean fc_begins(const void *data, gsize size, const char *with, gsize with_size) {
  return size >= with_size && memcmp(data, with, with_size) == 0;
}

/* Whether an id of four characters is one of `words`, which are separated by blanks. */
static inline gboolean fc_id_is_among(const guint8 *id, const char *words) {
  for (; *words; words += words[4] ? 5 : 4)
    if (memcmp(id, words, 4) == 0) return TRUE;
  return FALSE;
}

G_END_DECLS

#endif
