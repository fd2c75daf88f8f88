/* SPDX-License-Identifier: MIT */
/*
 * color_kernels.c - loops over color.inc that the compiler vectorises: one decodes into `to`, whose three
 * channels hold R G B in between, and one encodes in place. Contraction is off.
 */
#include "filters/color/color_kernels.h"

#include "filters/color/color_math.h"

#define DEFINE_LOOPS(F, S)                                                                                   \
  static inline __attribute__((always_inline)) void decode_##S(                                              \
      F *restrict to, const F *restrict from, int64_t apart, int64_t count, const F *n, int space) {         \
    const int wide = space != FC_SPACE_GRAY;                                                                 \
    for (int64_t i = 0; i < count; i++) {                                                                    \
      const F x[3] = {from[i], from[i + wide * apart], from[i + 2 * wide * apart]};                          \
      F y[3];                                                                                                \
      fc_color_decode_##S(x, y, n, space);                                                                   \
      to[i] = y[0], to[i + apart] = y[1], to[i + 2 * apart] = y[2];                                          \
    }                                                                                                        \
  }                                                                                                          \
  static inline __attribute__((always_inline)) void encode_##S(F *restrict to, int64_t apart, int64_t count, \
                                                               const F *n, int space) {                      \
    for (int64_t i = 0; i < count; i++) {                                                                    \
      const F x[3] = {to[i], to[i + apart], to[i + 2 * apart]};                                              \
      F y[3] = {0, x[1], x[2]};                                                                              \
      fc_color_encode_##S(x, y, n, space);                                                                   \
      to[i] = y[0], to[i + apart] = y[1], to[i + 2 * apart] = y[2];                                          \
    }                                                                                                        \
  }                                                                                                          \
  static void convert_##S(const fc_color_conversion *c, F *to, const F *from, int64_t apart,                 \
                          int64_t count) {                                                                   \
    F n[FC_COLOR_NUMBERS];                                                                                   \
    for (int i = 0; i < FC_COLOR_NUMBERS; i++) n[i] = (F)c->numbers[i];                                      \
    switch (c->from) {                                                                                       \
    case FC_SPACE_GRAY: decode_##S(to, from, apart, count, n, FC_SPACE_GRAY); break;                         \
    case FC_SPACE_RGB: decode_##S(to, from, apart, count, n, FC_SPACE_RGB); break;                           \
    case FC_SPACE_LINEAR: decode_##S(to, from, apart, count, n, FC_SPACE_LINEAR); break;                     \
    case FC_SPACE_YCBCR: decode_##S(to, from, apart, count, n, FC_SPACE_YCBCR); break;                       \
    case FC_SPACE_HSV: decode_##S(to, from, apart, count, n, FC_SPACE_HSV); break;                           \
    default: decode_##S(to, from, apart, count, n, FC_SPACE_LAB);                                            \
    }                                                                                                        \
    switch (c->to) {                                                                                         \
    case FC_SPACE_GRAY: encode_##S(to, apart, count, n, FC_SPACE_GRAY); break;                               \
    case FC_SPACE_RGB: break;                                                                                \
    case FC_SPACE_LINEAR: encode_##S(to, apart, count, n, FC_SPACE_LINEAR); break;                           \
    case FC_SPACE_YCBCR: encode_##S(to, apart, count, n, FC_SPACE_YCBCR); break;                             \
    case FC_SPACE_HSV: encode_##S(to, apart, count, n, FC_SPACE_HSV); break;                                 \
    default: encode_##S(to, apart, count, n, FC_SPACE_LAB);                                                  \
    }                                                                                                        \
  }

DEFINE_LOOPS(float, f32)
DEFINE_LOOPS(double, f64)

const fc_color_kernels FC_ISA_NAME(fc_color_kernels) = {convert_f32, convert_f64};
