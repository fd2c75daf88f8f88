/* SPDX-License-Identifier: MIT */
/*
 * overlap.c - see overlap.h.
 */
#include "core/compose/overlap.h"

#include <stdio.h>

int fc_overlap_together(const fc_device_function *f) {
  int n = 0, together = 0;
  return sscanf(f->entry, "fc_transforms<%d,%d>", &n, &together) == 2 ? together : 0;
}

/* `digits` are, of each channel behind some functions, the channel that it was ahead of them, that of channel
 * 0 last: and behind one more function. FALSE: this does more than exchange channels. */
static gboolean exchange(int *digits, const fc_device_function *f) {
  int m[5] = {0}, was = *digits;
  if (f->in != f->out || !(f->flags & FC_FUNCTION_KEEPS_ALL) ||
      sscanf(f->entry, "fc_mix<%d,%d,%d,%d,%d", &m[0], &m[1], &m[2], &m[3], &m[4]) != (int)f->in + 1)
    return FALSE;
  *digits = 0;
  for (guint k = 0; k < f->in; k++) *digits |= (was >> 4 * m[k + 1] & 15) << 4 * k;
  return TRUE;
}

gboolean fc_overlap_places(fc_vectors *w, const fc_composition *c) {
  int ahead = 0x3210, behind = 0x3210;
  for (guint i = 0; i < c->n; i++)
    if (c->stages[i].function->out > 0 && !exchange(i < c->window ? &ahead : &behind, c->stages[i].function))
      return FALSE;
  w->from = ahead, w->to = 0;
  for (int k = 0; k < w->step; k++) w->to |= k << 4 * (behind >> 4 * k & 15);
  return TRUE;
}
