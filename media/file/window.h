/* SPDX-License-Identifier: MIT */
/*
 * window.h - a seekable input for whoever walks through it in small steps: so many of its bytes are read at
 * once, and held.
 */
#ifndef FC_MEDIA_WINDOW_H
#define FC_MEDIA_WINDOW_H

#include "media/file/internal.h"

G_BEGIN_DECLS

#define FC_WINDOW_SIZE 16384

/* Of an input, and zeroed else. */
typedef struct fc_window {
  fc_input *input;
  gint64 at; /* of the first byte that is held */
  gsize held;
  guint8 bytes[FC_WINDOW_SIZE];
} fc_window;

/* So many bytes at a place, FC_WINDOW_SIZE at most, until the next call; NULL where there are fewer, or they
 * cannot be read. */
const guint8 *fc_window_see(fc_window *window, gint64 at, gsize size);

G_END_DECLS

#endif
