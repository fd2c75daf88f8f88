/* SPDX-License-Identifier: MIT */
/*
 * pointwise_kernels.c - plain loops that the compiler vectorises, each rounding once an
 * operation: contraction is off, and there is no fused multiply-add on purpose, for not every
 * machine has one.
 */
#include "filters/pointwise/pointwise_kernels.h"

#define DEFINE_KERNELS(F, S)                                                                                 \
  static void scale_##S(F *restrict to, const F *restrict from, int64_t count, F factor) {                   \
    for (int64_t i = 0; i < count; i++) to[i] = from[i] * factor;                                            \
  }                                                                                                          \
  static void scale_each_##S(F *restrict to, const F *restrict from, int64_t count,                          \
                             const F *restrict factors) {                                                    \
    for (int64_t i = 0; i < count; i++) to[i] = from[i] * factors[i];                                        \
  }                                                                                                          \
  static void map_##S(F *restrict to, const F *restrict from, int64_t count, F subtract, F factor, F add) {  \
    for (int64_t i = 0; i < count; i++) to[i] = (from[i] - subtract) * factor + add;                         \
  }                                                                                                          \
  static void clamp_##S(F *restrict to, const F *restrict from, int64_t count, F low, F high) {              \
    for (int64_t i = 0; i < count; i++) {                                                                    \
      F v = from[i] < low ? low : from[i];                                                                   \
      to[i] = v > high ? high : v;                                                                           \
    }                                                                                                        \
  }                                                                                                          \
  /* LANES running ranges, because the order of comparisons does not matter but the                          \
   * compiler may not know that without -ffast-math. */                                                      \
  static void range_##S(const F *restrict from, int64_t count, F limit, F *low, F *high) {                   \
    enum { LANES = 16 };                                                                                     \
    F lows[LANES], highs[LANES];                                                                             \
    for (int j = 0; j < LANES; j++) lows[j] = *low, highs[j] = *high;                                        \
    int64_t i = 0;                                                                                           \
    for (; i + LANES <= count; i += LANES)                                                                   \
      for (int j = 0; j < LANES; j++) {                                                                      \
        F v = from[i + j];                                                                                   \
        int counts = v >= -limit && v <= limit;                                                              \
        lows[j] = counts && v < lows[j] ? v : lows[j];                                                       \
        highs[j] = counts && v > highs[j] ? v : highs[j];                                                    \
      }                                                                                                      \
    for (; i < count; i++) {                                                                                 \
      F v = from[i];                                                                                         \
      int counts = v >= -limit && v <= limit;                                                                \
      lows[0] = counts && v < lows[0] ? v : lows[0];                                                         \
      highs[0] = counts && v > highs[0] ? v : highs[0];                                                      \
    }                                                                                                        \
    for (int j = 0; j < LANES; j++) {                                                                        \
      *low = lows[j] < *low ? lows[j] : *low;                                                                \
      *high = highs[j] > *high ? highs[j] : *high;                                                           \
    }                                                                                                        \
  }

DEFINE_KERNELS(float, f32)
DEFINE_KERNELS(double, f64)

const fc_pointwise_kernels FC_ISA_NAME(fc_pointwise_kernels) = {
    scale_f32, scale_f64, scale_each_f32, scale_each_f64, map_f32,
    map_f64,   clamp_f32, clamp_f64,      range_f32,      range_f64,
};
