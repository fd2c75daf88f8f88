/* SPDX-License-Identifier: MIT */
/* window.c - see window.h. */
#include "media/file/window.h"

static gboolean holds(const fc_window *window, gint64 at, gsize size) {
  return at >= window->at && at - window->at <= (gint64)window->held &&
         size <= window->held - (gsize)(at - window->at);
}

const guint8 *fc_window_see(fc_window *window, gint64 at, gsize size) {
  if (!holds(window, at, size)) {
    gssize got = fc_input_read_at(window->input, at, window->bytes, sizeof window->bytes, NULL);
    window->at = at;
    window->held = (gsize)MAX(got, 0);
  }
  return holds(window, at, size) ? window->bytes + (at - window->at) : NULL;
}
