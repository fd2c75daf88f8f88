/* SPDX-License-Identifier: MIT */
/*
 * alpha.h - which channel of a picture says how much the others are seen: the last of 2 or 4, unless it is
 * said that there is none. Of arrays nothing is assumed.
 */
#ifndef FC_PLUGINS_ALPHA_H
#define FC_PLUGINS_ALPHA_H

#include "core/contract/fc_helpers.h"

static inline int alpha_is_there(const fc_format *in) {
  const int64_t channels = in->extent[FC_AXIS_C];
  const int said = in->alpha == FC_ALPHA_STRAIGHT || in->alpha == FC_ALPHA_PREMULTIPLIED;
  const int likely = in->alpha == FC_ALPHA_UNKNOWN && in->kind == FC_IMAGE && in->color != FC_COLOR_CMYK;
  return (said || likely) && (channels == 2 || channels == 4);
}

/* Does it weigh the others, which have not been multiplied by it? */
static inline int alpha_is_straight(const fc_format *in) {
  return alpha_is_there(in) && in->alpha != FC_ALPHA_PREMULTIPLIED;
}

/* The channels ahead of it. */
static inline int64_t alpha_colors(const fc_format *in) {
  return in->extent[FC_AXIS_C] - alpha_is_there(in);
}

#endif
