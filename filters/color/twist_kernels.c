/* SPDX-License-Identifier: MIT */
/*
 * twist_kernels.c - plain loops that the compiler vectorises. Contraction is off.
 */
#include "filters/color/twist_kernels.h"

#define DEFINE_TWIST(F, S)                                                                                   \
  static inline F limited_##S(F v, F white) {                                                                \
    v = v < 0 ? 0 : v;                                                                                       \
    return v > white ? white : v;                                                                            \
  }                                                                                                          \
  static void colors_##S(const fc_twist *t, F *restrict r, F *restrict g, F *restrict b, int64_t count) {    \
    F m[3][3];                                                                                               \
    const F offset = (F)t->offset, white = (F)t->white;                                                      \
    for (int i = 0; i < 9; i++) m[i / 3][i % 3] = (F)t->matrix[i / 3][i % 3];                                \
    for (int64_t i = 0; i < count; i++) {                                                                    \
      const F x = r[i], y = g[i], z = b[i];                                                                  \
      r[i] = limited_##S(m[0][0] * x + m[0][1] * y + m[0][2] * z + offset, white);                           \
      g[i] = limited_##S(m[1][0] * x + m[1][1] * y + m[1][2] * z + offset, white);                           \
      b[i] = limited_##S(m[2][0] * x + m[2][1] * y + m[2][2] * z + offset, white);                           \
    }                                                                                                        \
  }                                                                                                          \
  static void twist_##S(const fc_twist *t, F *values, int64_t apart, int64_t count) {                        \
    const F factor = (F)t->matrix[0][0], offset = (F)t->offset, white = (F)t->white;                         \
    if (t->colors == 3)                                                                                      \
      colors_##S(t, values, values + apart, values + 2 * apart, count);                                      \
    else                                                                                                     \
      for (int64_t i = 0; i < count; i++) values[i] = limited_##S(factor * values[i] + offset, white);       \
  }

DEFINE_TWIST(float, f32)
DEFINE_TWIST(double, f64)

const fc_twist_kernels FC_ISA_NAME(fc_twist_kernels) = {twist_f32, twist_f64};
