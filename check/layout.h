/* SPDX-License-Identifier: MIT */
/*
 * layout.h - layouts of samples in memory.
 */
#ifndef FC_CHECK_LAYOUT_H
#define FC_CHECK_LAYOUT_H

#include "core/contract/plugin.h"
#include "check/random.h"

enum layout {
  LAYOUT_INTERLEAVED, /* N Y X C, dense */
  LAYOUT_PLANAR,      /* N C Y X, dense */
  LAYOUT_ROWS,        /* interleaved, gaps between rows */
  LAYOUT_PLANES,      /* planar, gaps between rows and planes */
  LAYOUT_SCATTERED,   /* interleaved, gaps everywhere */
  LAYOUT_ENGINE,      /* interleaved, rows at multiples of 64 bytes */
  LAYOUT_COUNT
};

static inline const char *layout_name(int l) {
  static const char *const names[LAYOUT_COUNT] = {"interleaved",   "planar",    "padded rows",
                                                  "padded planes", "scattered", "aligned rows"};
  return names[l];
}

static inline int layout_is_planar(int l) {
  return l == LAYOUT_PLANAR || l == LAYOUT_PLANES;
}

/* Strides for a shape; returns the bytes needed, at least one element. */
static inline int64_t layout_strides(int l, const int64_t shape[FC_AXES], int64_t size, dice *d,
                                     int64_t stride[FC_AXES]) {
  static const int interleaved[] = {FC_AXIS_C, FC_AXIS_X, FC_AXIS_Y, FC_AXIS_N};
  static const int planar[] = {FC_AXIS_X, FC_AXIS_Y, FC_AXIS_C, FC_AXIS_N};
  const int *order = layout_is_planar(l) ? planar : interleaved;
  int64_t bytes = l == LAYOUT_SCATTERED ? size * dice_int(d, 1, 3) : size;
  for (int i = 0; i < FC_AXES; i++) {
    int axis = order[i];
    stride[axis] = bytes;
    bytes *= shape[axis] > 0 ? shape[axis] : 1;
    if (l == LAYOUT_SCATTERED || (l == LAYOUT_ROWS && axis == FC_AXIS_X) ||
        (l == LAYOUT_PLANES && axis != FC_AXIS_C))
      bytes += size * dice_int(d, 1, 7);
    if (l == LAYOUT_ENGINE && axis == FC_AXIS_X) bytes = (bytes + 63) / 64 * 64 + 64;
  }
  return bytes;
}

#endif
