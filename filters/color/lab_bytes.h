/* SPDX-License-Identifier: MIT */
/*
 * lab_bytes.h - Lab of R G B in bytes, for color.cu and for the host, which tests it with all colours: in
 * single precision, which suffices unless a result lies so close to the middle between two codes that
 * rounding may differ; then in double. The codes are those of color.inc for each of the 2^24 colours
 * (tests/filters/test_color.c). Every operation is rounded as IEEE 754 says; fused ones are written.
 */
#ifndef FC_FILTERS_LAB_BYTES_H
#define FC_FILTERS_LAB_BYTES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define FC_LAB_FN static __device__ __forceinline__
FC_LAB_FN uint32_t fc_lab_bits(float v) {
  return __float_as_uint(v);
}
FC_LAB_FN float fc_lab_of_bits(uint32_t bits) {
  return __uint_as_float(bits);
}
FC_LAB_FN uint32_t fc_lab_third(uint32_t v) {
  return __umulhi(v, 0x55555556u);
}
#else
#define FC_LAB_FN static inline
FC_LAB_FN uint32_t fc_lab_bits(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}
FC_LAB_FN float fc_lab_of_bits(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
FC_LAB_FN uint32_t fc_lab_third(uint32_t v) {
  return (uint32_t)((uint64_t)v * 0x55555556u >> 32);
}
#endif

/* More than codes in single precision are off by: of a, and of L and b. */
#define FC_LAB_OFF_A 0.0002f
#define FC_LAB_OFF   0.0001f

/* x^(-1/3) to a few units of the last place, for normal x above 0. */
FC_LAB_FN float fc_lab_inverse_root(float x) {
  float r = fc_lab_of_bits(0x54a2fa8cu - fc_lab_third(fc_lab_bits(x)));
  float h = fmaf(-(x * r), r * r, 1.0f);
  r = fmaf(r * h, fmaf(h, fmaf(h, 14 / 81.0f, 2 / 9.0f), 1 / 3.0f), r);
  h = fmaf(-(x * r), r * r, 1.0f);
  return fmaf(r * h, 1 / 3.0f, r);
}

FC_LAB_FN float fc_lab_root(float t) {
  const float r = fc_lab_inverse_root(t), root = t * r * r;
  return t <= 0.008856452f ? fmaf(7.787037f, t, 0.13793103f) : root;
}

/* By a step of Newton's from the root in single precision. */
FC_LAB_FN double fc_lab_careful_root(double t) {
  const float r = fc_lab_inverse_root((float)t);
  const double q = (double)r * (double)r, y = t * q, root = y - (y * y * y - t) * (q * 0.3333333333333333);
  return t <= 0.008856451679035631 ? 7.787037037037036 * t + 0.13793103448275862 : root;
}

/* The nearest code in the low byte, as the value is above -1 and below 256. */
FC_LAB_FN uint32_t fc_lab_code(float v, float off, int *doubt) {
  const float rounded = v + 12582912.0f;
  *doubt |= fabsf(v - (rounded - 12582912.0f)) > 0.5f - off;
  return fc_lab_bits(rounded) & 255;
}

FC_LAB_FN uint32_t fc_lab_careful_code(double v) {
  const float code = rintf((float)v);
  return (uint32_t)(int32_t)(code < 0 ? 0 : code > 255 ? 255 : code);
}

/* Three codes in a word, of light from 0 to 255. */
FC_LAB_FN uint32_t fc_lab_close(float r, float g, float b, int *doubt) {
  const float x = fmaf(0.43395275f / 255, r, fmaf(0.37621942f / 255, g, 0.18982781f / 255 * b)),
              y = fmaf(0.212671f / 255, r, fmaf(0.715160f / 255, g, 0.072169f / 255 * b)),
              z = fmaf(0.01775791f / 255, r, fmaf(0.10947652f / 255, g, 0.87276557f / 255 * b));
  const float fx = fc_lab_root(x), fy = fc_lab_root(y), fz = fc_lab_root(z);
  *doubt = 0;
  const uint32_t l = fc_lab_code(fmaf(116 * 2.55f, fy, -16 * 2.55f), FC_LAB_OFF, doubt);
  const uint32_t a = fc_lab_code(fmaf(500, fx - fy, 128), FC_LAB_OFF_A, doubt);
  return l | a << 8 | fc_lab_code(fmaf(200, fy - fz, 128), FC_LAB_OFF, doubt) << 16;
}

/* The same, of light from 0 to 1. */
FC_LAB_FN uint32_t fc_lab_careful(double r, double g, double b) {
  const double fx = fc_lab_careful_root((0.412453 * r + 0.357580 * g + 0.180423 * b) * (1 / 0.950456)),
               fy = fc_lab_careful_root(0.212671 * r + 0.715160 * g + 0.072169 * b),
               fz = fc_lab_careful_root((0.019334 * r + 0.119193 * g + 0.950227 * b) * (1 / 1.088754));
  return fc_lab_careful_code((116.0 * fy - 16.0) * (255.0 / 100.0)) |
         fc_lab_careful_code(500.0 * (fx - fy) + 128.0) << 8 |
         fc_lab_careful_code(200.0 * (fy - fz) + 128.0) << 16;
}

#endif
