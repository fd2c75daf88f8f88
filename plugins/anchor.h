/* SPDX-License-Identifier: MIT */
/*
 * anchor.h - the position of the smaller of two rectangles in the larger: the parameter `anchor` of crop and
 * pad.
 */
#ifndef FC_PLUGINS_ANCHOR_H
#define FC_PLUGINS_ANCHOR_H

#include "core/contract/fc_helpers.h"

/* The value of an anchor: 3 * row + column, each 0 (begin), 1 (middle) or 2 (end). */
enum { ANCHOR_BEGIN, ANCHOR_MIDDLE, ANCHOR_END };

static inline int anchor_x(const fc_arg *anchor) {
  return (int)anchor->ints[0] % 3;
}
static inline int anchor_y(const fc_arg *anchor) {
  return (int)anchor->ints[0] / 3;
}

/* How much of the remaining size is before the rectangle; half of an odd number is rounded to even, as in
 * torchvision. */
static inline int64_t anchor_offset(int where, int64_t left) {
  if (where == ANCHOR_BEGIN) return 0;
  return where == ANCHOR_END ? left : left / 2 + (left % 2 && left / 2 % 2);
}

#define ANCHOR_PARAM(doc, preset)                                                                            \
  FC_ENUM_PARAM(                                                                                             \
      0, "anchor", doc, preset,                                                                              \
      FC_CHOICES(FC_CHOICE(4, "centre", "in the middle"), FC_CHOICE(4, "center", "the same"),                \
                 FC_CHOICE(0, "top-left", "at the corner"), FC_CHOICE(1, "top", "in its middle"),            \
                 FC_CHOICE(2, "top-right", "at the corner"), FC_CHOICE(3, "left", "in its middle"),          \
                 FC_CHOICE(5, "right", "in its middle"), FC_CHOICE(6, "bottom-left", "at the corner"),       \
                 FC_CHOICE(7, "bottom", "in its middle"), FC_CHOICE(8, "bottom-right", "at the corner"),     \
                 FC_CHOICE(FC_REFUSED, "middle", "say centre")))

#endif
