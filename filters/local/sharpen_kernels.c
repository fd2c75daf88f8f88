/* SPDX-License-Identifier: MIT */
/*
 * sharpen_kernels.c - plain loops that the compiler vectorises; contraction is off.
 */
#include "filters/local/sharpen_kernels.h"

#define DEFINE_LOOP(F, S)                                                                                    \
  static void sharpen_##S(F *restrict values, const F *restrict blurred, int64_t count, F amount,            \
                          F threshold) {                                                                     \
    for (int64_t i = 0; i < count; i++) {                                                                    \
      const F v = values[i], d = v - blurred[i], sharp = v + amount * d;                                     \
      values[i] = d > threshold || d < -threshold ? sharp : v;                                               \
    }                                                                                                        \
  }

DEFINE_LOOP(float, f32)
DEFINE_LOOP(double, f64)

const fc_sharpen_kernels FC_ISA_NAME(fc_sharpen_kernels) = {sharpen_f32, sharpen_f64};
