/* SPDX-License-Identifier: MIT */
/*
 * overlap.c - see overlap.h.
 */
#include "core/compose/overlap.h"

#include <stdio.h>

gboolean fc_overlap_read(const fc_device_function *f, int *together, int *length) {
  return sscanf(f->entry, "fc_transforms<%d,%d>", length, together) == 2;
}

gboolean fc_overlap_lies_around(const fc_vectors *w) {
  enum { HALVES = 16384 }; /* the transform that exchanges by halves */
  return w->transform < HALVES || (w->overlap->before >= 0 && w->overlap->before < w->overlap->taps);
}

gint64 fc_overlap_shared(const fc_vectors *w) {
  const gint64 waiting = w->v / w->together - 1;
  return w->overlap->shared + w->overlap->groups * waiting * w->transform * 2 * (gint64)sizeof(float);
}

gboolean fc_overlap_take_apart(fc_vectors *w) {
  if (w->pixels || w->um <= w->together) return FALSE;
  w->ui = w->uo = 1, w->um = 1, w->v = w->together;
  return TRUE;
}

int fc_overlap_resident(const fc_vectors *w) {
  enum {
    OF_ALL = 227 << 10,
    OF_BLOCK = 1 << 10
  }; /* of a multiprocessor of sm_90; what the driver takes of a block */
  const gint64 fit = (OF_ALL + OF_BLOCK) / (fc_overlap_shared(w) + OF_BLOCK);
  return (int)MIN(w->overlap->resident, fit);
}
