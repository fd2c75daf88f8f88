/* SPDX-License-Identifier: MIT */
/*
 * border.h - what stands beyond the ends of a signal, for the tests of filters that make their border.
 */
#ifndef FC_TESTS_BORDER_H
#define FC_TESTS_BORDER_H

#include "core/contract/edges.h"

/* The position of a signal that stands for p, by walking there; -1: the constant. */
static inline int64_t source_of(int border, int64_t p, int64_t extent) {
  if (border == FC_BORDER_ZERO || border == FC_BORDER_CONSTANT) return p < 0 || p >= extent ? -1 : p;
  if (border == FC_BORDER_REPLICATE) return p < 0 ? 0 : p >= extent ? extent - 1 : p;
  const int64_t edge = border == FC_BORDER_REFLECT;
  while (p < 0 || p >= extent) {
    if (border == FC_BORDER_WRAP)
      p += p < 0 ? extent : -extent;
    else if (extent == 1)
      p = 0;
    else
      p = p < 0 ? -p - edge : 2 * extent - 2 + edge - p;
  }
  return p;
}

#endif
