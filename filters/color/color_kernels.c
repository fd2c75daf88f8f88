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

/* The sum is an integer below 2^24 and the quotient is rounded once; adding the constant rounds it half to
 * even: the bits of convert_f32 and a store. */
static inline __attribute__((always_inline)) void gray_of(const fc_color_conversion *c, uint8_t *restrict to,
                                                          const uint8_t *restrict from, int64_t step,
                                                          int64_t count) {
  const int32_t red = (int32_t)c->numbers[0], green = (int32_t)c->numbers[1], blue = (int32_t)c->numbers[2];
  const float sum = (float)c->numbers[3];
  for (int64_t i = 0; i < count; i++) {
    const uint8_t *at = from + i * step;
    const float luma = (float)(at[0] * red + at[1] * green + at[2] * blue) / sum;
    union {
      float f;
      uint32_t bits;
    } rounded = {luma + 0x1.8p23f};
    to[i] = (uint8_t)rounded.bits;
  }
}

static void gray_bytes(const fc_color_conversion *c, uint8_t *to, const uint8_t *from, int64_t step,
                       int64_t count) {
  if (step == 3)
    gray_of(c, to, from, 3, count);
  else
    gray_of(c, to, from, 4, count);
}

/* ---- R G B of 8 bits, whose light is a table ----------------------------------------- */

/* More than what `close_to_lab` is off by at most in L, b and in a, 0.000079 and 0.000184 of all 2^24
 * colours. */
#define LAB_OFF 0.0001f
#define A_OFF   0.0002f
/* Pixels of a block in which doubtful ones are looked for. */
#define BLOCK 64

/* x^(1/3) to 3 units of the last place, for normal x above 0: of an estimate r of 1 / root the error
 * 1 - x r^3 says by how much to correct it. */
static inline __attribute__((always_inline)) float cube_root(float x) {
  union {
    float f;
    int32_t bits;
  } v = {x}, estimate;
  estimate.bits = 0x54a2fa8c - (int32_t)((float)v.bits * (1 / 3.0f));
  float r = estimate.f, h = 1 - x * r * r * r;
  r += r * h * (1 / 3.0f + h * (2 / 9.0f + h * (14 / 81.0f)));
  h = 1 - x * r * r * r;
  r += r * h * (1 / 3.0f);
  return x * r * r;
}

static inline __attribute__((always_inline)) float close_to_root(float t) {
  const float is_dark = t <= 0.008856452f ? 1.0f : 0.0f;
  return is_dark * (7.787037f * t + 0.13793103f) + (1 - is_dark) * cube_root(t + is_dark);
}

/* Whether rounding what is close to the value may differ from rounding the value. */
static inline __attribute__((always_inline)) int is_doubtful(float v, float most) {
  const float rounded = (v + 0x1.8p23f) - 0x1.8p23f, off = v - rounded;
  return __builtin_fabsf(off) > 0.5f - most;
}

/* fc_color_to_lab in floats, of light in 0 .. 255; `doubt` tells which pixels must be computed exactly.
 * Returns whether any. */
static int close_to_lab(float *restrict to, int64_t apart, int32_t *restrict doubt, int64_t count) {
  int32_t any = 0;
  for (int64_t i = 0; i < count; i++) {
    const float r = to[i], g = to[i + apart], b = to[i + 2 * apart];
    const float fx = close_to_root(0.43395275f / 255 * r + 0.37621942f / 255 * g + 0.18982781f / 255 * b);
    const float fy = close_to_root(0.212671f / 255 * r + 0.715160f / 255 * g + 0.072169f / 255 * b);
    const float fz = close_to_root(0.01775791f / 255 * r + 0.10947652f / 255 * g + 0.87276557f / 255 * b);
    const float l = (116 * fy - 16) * 2.55f, x = 500 * (fx - fy) + 128, z = 200 * (fy - fz) + 128;
    any |= doubt[i] = is_doubtful(l, LAB_OFF) | is_doubtful(x, A_OFF) | is_doubtful(z, LAB_OFF);
    to[i] = l, to[i + apart] = x, to[i + 2 * apart] = z;
  }
  return any;
}

/* At most BLOCK pixels. Conversions are vectors; loads one by one are as fast as gathers. */
static void light_of(float *to, const float *codes, const float *light, int64_t apart, int64_t count) {
  int32_t index[BLOCK];
  for (int64_t c = 0; c < 3 * apart; c += apart) {
    for (int64_t i = 0; i < count; i++) index[i] = (int32_t)codes[c + i];
    for (int64_t i = 0; i < count; i++) to[c + i] = light[index[i]];
  }
}

/* At most BLOCK pixels, of which the doubtful ones are computed again. */
static void lab_f32(const fc_color_conversion *c, float *to, const float *from, int64_t apart,
                    int64_t count) {
  int32_t doubt[BLOCK], which[BLOCK];
  int64_t n = 0;
  if (!close_to_lab(to, apart, doubt, count)) return;
  float codes[3 * BLOCK] = {0}, exact[3 * BLOCK];
  for (int64_t i = 0; i < count; i++) which[n] = (int32_t)i, n += doubt[i];
  for (int64_t k = 0; k < 3 * n; k++) codes[k % 3 * BLOCK + k / 3] = from[k % 3 * apart + which[k / 3]];
  convert_f32(c, exact, codes, BLOCK, n);
  for (int64_t k = 0; k < 3 * n; k++) to[k % 3 * apart + which[k / 3]] = exact[k % 3 * BLOCK + k / 3];
}

static void lab_bytes(const fc_color_conversion *c, const float *light, float *to, const float *from,
                      int64_t apart, int64_t count) {
  for (int64_t i = 0; i < count; i += BLOCK) {
    const int64_t n = count - i < BLOCK ? count - i : BLOCK;
    light_of(to + i, from + i, light, apart, n);
    lab_f32(c, to + i, from + i, apart, n);
  }
}

const fc_color_kernels FC_ISA_NAME(fc_color_kernels) = {convert_f32, convert_f64, gray_bytes, lab_bytes};
