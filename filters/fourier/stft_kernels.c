/* SPDX-License-Identifier: MIT */
/*
 * stft_kernels.c - see stft_kernels.h; for one instruction set.
 *
 * Has its own logarithm, since calling libm for each bin would take several times as long as the transform: x
 * = 2^e m with m within sqrt(1/2) .. sqrt(2), and ln m = 2 (s + s^3/3 + s^5/5 + ...), s = (m - 1) / (m + 1),
 * |s| < 0.172. Accurate to about 2 ulp of the larger of e and 1; for positive normal numbers only (smaller
 * ones are below the floor).
 */
#include <float.h>
#include <math.h>

#include "filters/base/simd.h"
#include "filters/fourier/stft_kernels.h"

#define LOG10_2 0.30102999566398119521
#define LOG10_E 0.43429448190325182765

FC_INLINE float log10_f32(float x) {
  int32_t bits, above;
  float m;
  memcpy(&bits, &x, sizeof bits);
  above = (bits - 0x3f3504f3) & (int32_t)0xff800000; /* e in the exponent's place; sqrt(1/2) is 0x3f3504f3 */
  bits -= above;
  memcpy(&m, &bits, sizeof m);
  float s = (m - 1) / (m + 1), z = s * s;
  float series = 2 + z * (2.f / 3 + z * (2.f / 5 + z * (2.f / 7 + z * (2.f / 9))));
  float result = FC_FMAF((float)(above >> 23), (float)LOG10_2, s * series * (float)LOG10_E);
  return x <= FLT_MAX ? result : x; /* infinity and NaN */
}

FC_INLINE double log10_f64(double x) {
  int64_t bits, above;
  double m;
  memcpy(&bits, &x, sizeof bits);
  above = (bits - 0x3fe6a09e667f3bcd) & (int64_t)0xfff0000000000000;
  bits -= above;
  memcpy(&m, &bits, sizeof m);
  double s = (m - 1) / (m + 1), z = s * s, series = 2.0 / 23;
  for (int k = 21; k >= 1; k -= 2) series = 2.0 / k + z * series;
  double result = FC_FMA((double)(above >> 52), LOG10_2, s * series * LOG10_E);
  return x <= DBL_MAX ? result : x;
}

#define FC_KERNELS "filters/fourier/stft_kernels.inc"
#include "filters/base/both_types.inc"

const fc_stft_kernel_pair FC_ISA_NAME(fc_stft_kernels) = {
    {gather_f32, scatter_f32, weave_f32, taint_f32, spread_f32, power_f32, magnitude_f32, decibels_f32,
     bands_f32, overlap_f32, divide_f32},
    {gather_f64, scatter_f64, weave_f64, taint_f64, spread_f64, power_f64, magnitude_f64, decibels_f64,
     bands_f64, overlap_f64, divide_f64},
};
