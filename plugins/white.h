/* SPDX-License-Identifier: MIT */
/*
 * white.h - the parameter `white` of operators that measure brightness relative to it.
 */
#ifndef FC_PLUGINS_WHITE_H
#define FC_PLUGINS_WHITE_H

#include "core/contract/fc_helpers.h"

#define WHITE_PARAM                                                                                          \
  FC_FLOAT_PARAM(0, "white",                                                                                 \
                 "The value of white. Without it, that of the image as it was read: 255 with 8 bits, 65535 " \
                 "with 16, also where an earlier operator has made floats of them; 1 of floats in a file.",  \
                 NULL, NULL, FC_FLOAT_BETWEEN(1e-30, 1e30))

/* The value of white in a signal of that format. */
static inline double white_of(const fc_arg *white, const fc_format *in) {
  static const double largest[FC_DTYPE_COUNT] = {255, 32767, 65535, 2147483647.0, 1, 1};
  if (white && white->count > 0) return white->floats[0];
  return FC_HAS(in, white) && in->white > 0 ? in->white : largest[in->dtype];
}

#endif
