/* SPDX-License-Identifier: MIT */
/*
 * bytes_kernels.c - see bytes_kernels.h: one pass from bytes to bytes in registers, in the compiler's vector
 * types. Contraction is off.
 */
#include "filters/color/bytes_kernels.h"

#include "filters/base/pixels.h"
#include "filters/base/simd.h"
#include "filters/color/color_math.h"

#define TILE FC_PIXELS_TILE

/* ---- quotients ----------------------------------------------------------------------- */

/*
 * A quotient of floats by an integer b of at most 2^16, rounded as division rounds it, at a third of the
 * time: q = a y for y close to 1 / b (to 2^-21), and then q + (a - b q) y. Few multiples of the last place of
 * q make up a - b q, so that it is exact. Before its rounding the sum is off by less than 2^-17 of the last
 * place; and since a has no finer places than q, a / b lies at least 1 / (2 b) of the last place beside any
 * place where rounding changes, unless it lies on it, which takes a multiple of 2^17 as b.
 */
#if defined(__FMA__)
FC_INLINE fc_vf divided_by(fc_vf a, fc_vf b, fc_vf inverse) {
  const fc_vf q = a * inverse;
  return FC_VF_FMA(FC_VF_FMA(-q, b, a), inverse, q);
}

/* Close to 1 / b. */
FC_INLINE fc_vf inverse_of(fc_vf b) {
#if defined(__AVX512F__)
  const fc_vf near = (fc_vf)_mm512_rcp14_ps((__m512)b);
#else
  const fc_vf near = (fc_vf)_mm256_rcp_ps((__m256)b);
#endif
  return FC_VF_FMA(FC_VF_FMA(-near, b, fc_vf_splat(1)), near, near);
}
#else
#define divided_by(a, b, inverse) ((void)(inverse), (a) / (b))
#define inverse_of(b)             fc_vf_splat(0)
#endif

/* ---- vectors ------------------------------------------------------------------------- */

#if defined(__AVX512F__)
#define WHERE(a, is, b, x, y)                                                                                \
  ((fc_vf)_mm512_mask_blend_ps(_mm512_cmp_ps_mask((__m512)(a), (__m512)(b), is), (__m512)(y), (__m512)(x)))
#define LEAST(a, b) ((fc_vf)_mm512_min_ps((__m512)(a), (__m512)(b)))
#define MOST(a, b)  ((fc_vf)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define LESS        _CMP_LT_OQ
#elif defined(__AVX2__)
#define WHERE(a, is, b, x, y)                                                                                \
  ((fc_vf)_mm256_blendv_ps((__m256)(y), (__m256)(x), _mm256_cmp_ps((__m256)(a), (__m256)(b), is)))
#define LEAST(a, b) ((fc_vf)_mm256_min_ps((__m256)(a), (__m256)(b)))
#define MOST(a, b)  ((fc_vf)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define LESS        _CMP_LT_OQ
#else
#define CHOSEN(where, x, y)   ((fc_vf)(((fc_vi)(x) & (where)) | ((fc_vi)(y) & ~(where))))
#define WHERE(a, is, b, x, y) CHOSEN((a)is(b), x, y)
#define LEAST(a, b)           CHOSEN((a) < (b), a, b)
#define MOST(a, b)            CHOSEN((a) > (b), a, b)
#define LESS                  <
#endif

/* Values of 0 to 255, rounded half to even. */
FC_INLINE fc_vi rounded(fc_vf v) {
#if defined(__AVX512F__)
  return (fc_vi)_mm512_cvtps_epi32((__m512)v);
#elif defined(__AVX2__)
  return (fc_vi)_mm256_cvtps_epi32((__m256)v);
#else
  return (fc_vi)(v + fc_vf_splat(0x1.8p23f)) & 255;
#endif
}

FC_INLINE fc_vf limited(fc_vf v, fc_vf white) {
  return LEAST(MOST(v, fc_vf_splat(0)), white);
}

FC_INLINE void put(uint8_t *to, const fc_vi v[4]) {
  const fc_vb bytes = fc_vb_pack(v[0], v[1], v[2], v[3]);
  memcpy(to, &bytes, sizeof bytes);
}

#define EACH_PART for (int q = 0; q < 4; q++)

typedef struct luma {
  fc_vf red, green, blue, sum, inverse;
} luma;

static luma luma_of(const fc_color_conversion *c) {
  const float sum = (float)c->numbers[3];
  return (luma){fc_vf_splat((float)c->numbers[0]), fc_vf_splat((float)c->numbers[1]),
                fc_vf_splat((float)c->numbers[2]), fc_vf_splat(sum), fc_vf_splat(1 / sum)};
}

/* The sum is an integer below 2^24, so it is exact however it is made. */
FC_INLINE fc_vf luma_at(const luma *l, fc_vf r, fc_vf g, fc_vf b) {
  return divided_by(FC_VF_FMA(r, l->red, FC_VF_FMA(g, l->green, b * l->blue)), l->sum, l->inverse);
}

/* ---- conversions --------------------------------------------------------------------- */

static void to_gray(const fc_color_conversion *c, const float *light, uint8_t *to, const uint8_t *from,
                    int64_t count) {
  const luma l = luma_of(c);
  (void)light;
  for (int64_t i = 0; i < count; i += FC_VECTOR_BYTES) {
    fc_vi made[4];
    FC_UNROLL
    EACH_PART {
      const uint8_t *at = from + i + q * FC_LANES_F32;
      made[q] = rounded(
          luma_at(&l, fc_vf_load_u8(at), fc_vf_load_u8(at + TILE), fc_vf_load_u8(at + 2 * (int64_t)TILE)));
    }
    put(to + i, made);
  }
}

static void to_ycbcr(const fc_color_conversion *c, const float *light, uint8_t *to, const uint8_t *from,
                     int64_t count) {
  const float n[4] = {(float)c->numbers[0], (float)c->numbers[1], (float)c->numbers[2], (float)c->numbers[3]};
  const luma l = luma_of(c);
  const fc_vf blue = fc_vf_splat(0.5f * n[3] / (n[3] - n[2])), red = fc_vf_splat(0.5f * n[3] / (n[3] - n[0]));
  const fc_vf white = fc_vf_splat((float)c->numbers[4]), middle = fc_vf_splat((float)c->numbers[5]);
  (void)light;
  for (int64_t i = 0; i < count; i += FC_VECTOR_BYTES) {
    fc_vi y[4], cb[4], cr[4];
    FC_UNROLL
    EACH_PART {
      const uint8_t *at = from + i + q * FC_LANES_F32;
      const fc_vf r = fc_vf_load_u8(at), g = fc_vf_load_u8(at + TILE),
                  b = fc_vf_load_u8(at + 2 * (int64_t)TILE);
      const fc_vf brightness = luma_at(&l, r, g, b);
      y[q] = rounded(brightness);
      cb[q] = rounded(limited((b - brightness) * blue + middle, white));
      cr[q] = rounded(limited((r - brightness) * red + middle, white));
    }
    put(to + i, y), put(to + TILE + i, cb), put(to + 2 * (int64_t)TILE + i, cr);
  }
}

/* What hue is made of, in integers: 0 across of a colour without depth, whose red is the most. */
static void hue_parts(const uint8_t *restrict from, uint8_t *restrict most, uint8_t *restrict depth,
                      int16_t *restrict across, uint8_t *restrict ahead) {
  for (int64_t i = 0; i < TILE; i++) {
    const uint8_t r = from[i], g = from[i + TILE], b = from[i + 2 * TILE];
    const uint8_t high = r > g ? r : g, low = r < g ? r : g;
    const uint8_t top = high > b ? high : b, bottom = low < b ? low : b;
    most[i] = top, depth[i] = (uint8_t)(top - bottom);
    ahead[i] = top == r ? 0 : top == g ? 2 : 4;
  }
  for (int64_t i = 0; i < TILE; i++) {
    const int16_t r = from[i], g = from[i + TILE], b = from[i + 2 * TILE], top = most[i];
    across[i] = (int16_t)(top == r ? g - b : top == g ? b - r : r - g);
  }
}

FC_INLINE fc_vf load_i16(const int16_t *from) {
#if defined(__AVX512F__)
  return (fc_vf)_mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256((const void *)from)));
#elif defined(__AVX2__)
  return (fc_vf)_mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const void *)from)));
#else
  return (fc_vf){from[0], from[1], from[2], from[3]};
#endif
}

/* One reciprocal of the product of both divisors serves for both quotients. */
static void to_hsv(const fc_color_conversion *c, const float *light, uint8_t *to, const uint8_t *from,
                   int64_t count) {
  const fc_vf white = fc_vf_splat((float)c->numbers[4]), one = fc_vf_splat(1), six = fc_vf_splat(6),
              sixth = fc_vf_splat(1 / 6.0f);
  uint8_t *most = to + 2 * (int64_t)TILE, depth[TILE], ahead[TILE];
  int16_t across[TILE];
  (void)light;
  hue_parts(from, most, depth, across, ahead);
  for (int64_t i = 0; i < count; i += FC_VECTOR_BYTES) {
    fc_vi hue[4], saturation[4];
    FC_UNROLL
    EACH_PART {
      const int64_t at = i + q * FC_LANES_F32;
      const fc_vf of = fc_vf_load_u8(depth + at);
      const fc_vf share = MOST(of, one), scale = MOST(fc_vf_load_u8(most + at), one);
      const fc_vf inverse = inverse_of(share * scale);
      const fc_vf sector =
          divided_by(load_i16(across + at), share, inverse * scale) + fc_vf_load_u8(ahead + at);
      const fc_vf turn = WHERE(sector, LESS, fc_vf_splat(0), sector + six, sector);
      hue[q] = rounded(divided_by(turn, six, sixth) * white);
      saturation[q] = rounded(divided_by(of, scale, inverse * share) * white);
    }
    put(to + i, hue), put(to + TILE + i, saturation);
  }
}

/* ---- Lab, by a table of light -------------------------------------------------------- */

/* More than what `close_to_lab` is off by at most in L, b and in a, 0.000089 and 0.00021 of all 2^24
 * colours. */
#define LAB_OFF 0.00012f
#define A_OFF   0.0003f
/* Pixels of a block in which doubtful ones are looked for. */
#define BLOCK 64

/* x^(1/3) to 3 units of the last place, for normal x above 0: of an estimate r of 1 / root the error
 * 1 - x r^3 says by how much to correct it. */
FC_INLINE float cube_root(float x) {
  union {
    float f;
    int32_t bits;
  } v = {x}, estimate;
  estimate.bits = 0x54a2fa8c - (int32_t)((float)v.bits * (1 / 3.0f));
  float r = estimate.f, h = FC_FMAF(-x * r, r * r, 1);
  r = FC_FMAF(r * h, FC_FMAF(h, FC_FMAF(h, 14 / 81.0f, 2 / 9.0f), 1 / 3.0f), r);
  h = FC_FMAF(-x * r, r * r, 1);
  r = FC_FMAF(r * h, 1 / 3.0f, r);
  return x * r * r;
}

FC_INLINE float close_to_root(float t) {
  const float is_dark = t <= 0.008856452f ? 1.0f : 0.0f;
  return is_dark * FC_FMAF(7.787037f, t, 0.13793103f) + (1 - is_dark) * cube_root(t + is_dark);
}

/* Of light in 0 .. 255. */
FC_INLINE float mixed_light(float r, float g, float b, float red, float green, float blue) {
  return FC_FMAF(red / 255, r, FC_FMAF(green / 255, g, blue / 255 * b));
}

/* The rounded value, and whether rounding what is close to the value may differ from rounding the value. */
FC_INLINE uint8_t rounded_lab(float v, float most, int32_t *doubt) {
  const float whole = v + 0x1.8p23f, off = v - (whole - 0x1.8p23f);
  union {
    float f;
    uint32_t bits;
  } code = {whole};
  *doubt |= __builtin_fabsf(off) > 0.5f - most;
  return (uint8_t)code.bits;
}

/* fc_color_to_lab in floats, of BLOCK pixels; `doubt` tells which must be computed exactly. Returns whether
 * any. */
static int close_to_lab(uint8_t *restrict to, const float *restrict light, int32_t *restrict doubt) {
  int32_t any = 0;
  for (int64_t i = 0; i < BLOCK; i++) {
    const float r = light[i], g = light[i + BLOCK], b = light[i + 2 * BLOCK];
    const float fx = close_to_root(mixed_light(r, g, b, 0.43395275f, 0.37621942f, 0.18982781f));
    const float fy = close_to_root(mixed_light(r, g, b, 0.212671f, 0.715160f, 0.072169f));
    const float fz = close_to_root(mixed_light(r, g, b, 0.01775791f, 0.10947652f, 0.87276557f));
    int32_t doubtful = 0;
    to[i] = rounded_lab(FC_FMAF(295.8f, fy, -40.8f), LAB_OFF, &doubtful);
    to[i + TILE] = rounded_lab(FC_FMAF(500, fx - fy, 128), A_OFF, &doubtful);
    to[i + 2 * TILE] = rounded_lab(FC_FMAF(200, fy - fz, 128), LAB_OFF, &doubtful);
    any |= doubt[i] = doubtful;
  }
  return any;
}

/* As the definition has it: pixels `which` of a block. */
static void exact_lab(const fc_color_conversion *c, uint8_t *to, const uint8_t *from, const int32_t *which,
                      int64_t count) {
  float n[FC_COLOR_NUMBERS], made[3][BLOCK], codes[3][BLOCK] = {{0}};
  for (int i = 0; i < FC_COLOR_NUMBERS; i++) n[i] = (float)c->numbers[i];
  for (int64_t k = 0; k < 3; k++)
    for (int64_t i = 0; i < count; i++) codes[k][i] = from[k * TILE + which[i]];
  for (int64_t i = 0; i < count; i++) {
    const float x[3] = {codes[0][i], codes[1][i], codes[2][i]};
    float y[3];
    fc_color_to_lab_f32(x, y, n);
    made[0][i] = y[0], made[1][i] = y[1], made[2][i] = y[2];
  }
  for (int64_t k = 0; k < 3; k++)
    for (int64_t i = 0; i < count; i++)
      to[k * TILE + which[i]] = (uint8_t)(int32_t)((made[k][i] + 0x1.8p23f) - 0x1.8p23f);
}

static void to_lab(const fc_color_conversion *c, const float *light, uint8_t *to, const uint8_t *from,
                   int64_t count) {
  for (int64_t at = 0; at < count; at += BLOCK) {
    float lights[3 * BLOCK];
    int32_t doubt[BLOCK], which[BLOCK];
    int64_t n = 0;
    /* Loads one by one are as fast as gathers. */
    for (int64_t k = 0; k < 3; k++)
      for (int64_t i = 0; i < BLOCK; i++) lights[k * BLOCK + i] = light[from[k * TILE + at + i]];
    if (!close_to_lab(to + at, lights, doubt)) continue;
    for (int64_t i = 0; i < BLOCK; i++) which[n] = (int32_t)i, n += doubt[i];
    exact_lab(c, to + at, from + at, which, n);
  }
}

const fc_color_bytes FC_ISA_NAME(fc_color_bytes) = {{[FC_SPACE_GRAY] = to_gray,
                                                     [FC_SPACE_YCBCR] = to_ycbcr,
                                                     [FC_SPACE_HSV] = to_hsv,
                                                     [FC_SPACE_LAB] = to_lab}};
