/* SPDX-License-Identifier: MIT */
/*
 * axes.h - the parameter "axis" of the block transforms, dct and dft.
 */
#ifndef FC_PLUGINS_AXES_H
#define FC_PLUGINS_AXES_H

#include "core/contract/fc_helpers.h"

/* Choices beyond those of fc_axis. */
enum { AXIS_AUTO = 100, AXIS_XY = 101 };

/*
 * The meaning of auto: time, or both axes of images. An array of one row may be a one-dimensional signal,
 * which a block must not extend to several rows, so it is treated as such unless block gives two sizes
 * (`sizes`).
 */
static inline int axes_chosen(int axis, int64_t sizes, const fc_format *in) {
  if (axis != AXIS_AUTO) return axis;
  int flat = in->kind == FC_ARRAY && in->extent[FC_AXIS_Y] == 1 && sizes < 2;
  return in->kind == FC_AUDIO || flat ? FC_AXIS_X : AXIS_XY;
}

/* Whether that does not depend on the extents. */
static inline int axes_are_fixed(int axis, int64_t sizes, const fc_format *in) {
  return axis != AXIS_AUTO || in->kind != FC_ARRAY || sizes >= 2;
}

static inline fc_status axes_check(const fc_host *host, int axis, const fc_format *in) {
  if (in->kind != FC_AUDIO || (axis != FC_AXIS_Y && axis != AXIS_XY)) return FC_OK;
  return host->fail(host, FC_UNSUPPORTED, "sound has no rows: axis=y and axis=xy are for images");
}

#define AXES_CHOICES                                                                                         \
  FC_CHOICE(AXIS_AUTO, "auto", "time of sound, x and y of images and arrays, x of an array of one row"),     \
      FC_CHOICE(FC_AXIS_X, "x", "along the rows of images, or along time"),                                  \
      FC_CHOICE(FC_AXIS_X, "time", "the same as x"),                                                         \
      FC_CHOICE(FC_AXIS_Y, "y", "along the columns of images"),                                              \
      FC_CHOICE(AXIS_XY, "xy", "in two dimensions")

#endif
