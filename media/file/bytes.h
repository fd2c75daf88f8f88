/* SPDX-License-Identifier: MIT */
/*
 * bytes.h - numbers as files have them, of up to 8 bytes in either order. Without GLib's library: the
 * decoder's helper is linked without it.
 */
#ifndef FC_MEDIA_BYTES_H
#define FC_MEDIA_BYTES_H

#include <glib.h>

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

G_END_DECLS

#endif
