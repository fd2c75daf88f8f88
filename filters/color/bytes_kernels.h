/* SPDX-License-Identifier: MIT */
/*
 * bytes_kernels.h - R G B of 8 bits to other colours of 8 bits, for one instruction set: the values of
 * color.inc in single precision, rounded. Channels are in planes of FC_PIXELS_TILE bytes.
 */
#ifndef FC_FILTERS_COLOR_BYTES_KERNELS_H
#define FC_FILTERS_COLOR_BYTES_KERNELS_H

#include "filters/base/isa.h"
#include "filters/color/color.h"

/* Weights of luma are integers, and their sum is at most this. */
#define FC_COLOR_WEIGHTS_MOST 65536

typedef struct fc_color_bytes {
  /* By colour space; NULL where there is none. Bytes beyond the `count` pixels, up to a whole tile, may be
   * read and overwritten. `light`: linear light of each code, for Lab. */
  void (*convert[FC_SPACES])(const fc_color_conversion *c, const float *light, uint8_t *to,
                             const uint8_t *from, int64_t count);
} fc_color_bytes;
FC_ISA_DECLARE(fc_color_bytes, fc_color_bytes);

#endif
