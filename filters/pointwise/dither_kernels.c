/* SPDX-License-Identifier: MIT */
/*
 * dither_kernels.c - plain loops that the compiler vectorises: each number is independent of the others.
 */
#include "filters/pointwise/dither_kernels.h"

#define DEFINE_KERNEL(F, S)                                                                                  \
  static void add_##S(F *values, int64_t count, uint64_t state, F unit) {                                    \
    for (int64_t i = 0; i < count; i++)                                                                      \
      values[i] += (F)fc_dither_units(state + (uint64_t)i * FC_DITHER_GROWTH) * unit;                        \
  }

DEFINE_KERNEL(float, f32)
DEFINE_KERNEL(double, f64)

const fc_dither_kernels FC_ISA_NAME(fc_dither_kernels) = {add_f32, add_f64};
