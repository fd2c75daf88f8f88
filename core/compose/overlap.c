/* SPDX-License-Identifier: MIT */
/*
 * overlap.c - see overlap.h.
 */
#include "core/compose/overlap.h"

#include <stdio.h>

int fc_overlap_together(const fc_device_function *f, int *length) {
  int n = 0, together = 0;
  const gboolean is = sscanf(f->entry, "fc_transforms<%d,%d>", &n, &together) == 2;
  if (length) *length = n;
  return is ? together : 0;
}

gboolean fc_overlap_lies_around(const fc_vectors *w) {
  enum { HALVES = 16384 }; /* the transform that exchanges by halves */
  int length = 0;
  fc_overlap_together(w->f, &length);
  return length < HALVES || (w->overlap->before >= 0 && w->overlap->before < w->overlap->taps);
}

gint64 fc_overlap_shared(const fc_vectors *w) {
  int length = 0;
  const int together = fc_overlap_together(w->f, &length);
  const gint64 waiting = w->v / together - 1;
  return w->overlap->shared + w->overlap->groups * waiting * length * 2 * (gint64)sizeof(float);
}

gboolean fc_overlap_take_apart(fc_vectors *w) {
  const int together = fc_overlap_together(w->f, NULL);
  if (w->pixels || w->um <= together) return FALSE;
  w->ui = w->uo = 1, w->um = 1, w->v = together;
  return TRUE;
}

int fc_overlap_resident(const fc_vectors *w) {
  enum { OF_ALL = 227 << 10, OF_BLOCK = 1 << 10 }; /* of a multiprocessor; what the driver takes of a block */
  const gint64 fit = (OF_ALL + OF_BLOCK) / (fc_overlap_shared(w) + OF_BLOCK);
  return (int)MIN(w->overlap->resident, fit);
}
