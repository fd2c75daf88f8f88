/* SPDX-License-Identifier: MIT */
/*
 * alpha.h - the alpha channel of images: the last of 2 or 4 channels, if the format says that there is one
 * (image files do). Operators that change brightness leave it unchanged.
 */
#ifndef FC_PLUGINS_ALPHA_H
#define FC_PLUGINS_ALPHA_H

#include "core/contract/fc_helpers.h"

/* Whether the format says that there is alpha. */
static inline int alpha_is_told(const fc_format *in) {
  const int64_t channels = in->extent[FC_AXIS_C];
  const int said = in->alpha == FC_ALPHA_STRAIGHT || in->alpha == FC_ALPHA_PREMULTIPLIED;
  return said && (channels == 2 || channels == 4);
}

/* Whether there probably is, for an image without such information. */
static inline int alpha_is_there(const fc_format *in) {
  const int64_t channels = in->extent[FC_AXIS_C];
  const int likely = in->alpha == FC_ALPHA_UNKNOWN && in->kind == FC_IMAGE && in->color != FC_COLOR_CMYK;
  return alpha_is_told(in) || (likely && (channels == 2 || channels == 4));
}

/* Whether alpha is straight: colours have not been multiplied by it. */
static inline int alpha_is_straight(const fc_format *in) {
  return alpha_is_there(in) && in->alpha != FC_ALPHA_PREMULTIPLIED;
}

/* The number of channels before alpha. */
static inline int64_t alpha_colors(const fc_format *in) {
  return in->extent[FC_AXIS_C] - alpha_is_told(in);
}

/* `count` channels of a view from `first` on, counted in the whole signal; empty if the view has none of
 * them. */
static inline fc_view alpha_channels(const fc_view *v, int64_t first, int64_t count) {
  fc_view part = *v;
  int64_t lo = first - v->origin[FC_AXIS_C], hi = lo + count;
  const int64_t all = v->shape[FC_AXIS_C];
  lo = lo < 0 ? 0 : lo > all ? all : lo, hi = hi < lo ? lo : hi > all ? all : hi;
  part.data = (char *)v->data + lo * v->stride[FC_AXIS_C];
  part.origin[FC_AXIS_C] += lo, part.shape[FC_AXIS_C] = hi - lo;
  return part;
}

#endif
