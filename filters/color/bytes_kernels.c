/* SPDX-License-Identifier: MIT */
/*
 * bytes_kernels.c - see bytes_kernels.h: one pass from bytes to bytes in registers, in the compiler's vector
 * types. Contraction is off.
 */
#include "filters/color/bytes_kernels.h"

#include <math.h>

#include "filters/base/pixels.h"
#include "filters/base/simd.h"
#include "filters/color/color_math.h"

#define TILE FC_PIXELS_TILE

/* ---- quotients ----------------------------------------------------------------------- */

/*
 * Quotients of floats by integers b of at most 2^16, rounded as division rounds them, for less. Before its
 * rounding each is off by less than 2^-17 of the last place; and since a has no finer places than the
 * quotient, a / b lies at least 1 / (2 b) of the last place beside any place where rounding changes, unless
 * it lies on it, which takes a multiple of 2^17 as b.
 */
#if defined(__FMA__)
/* For a constant b: `near` and `rest` make 1 / b to 2^-48. */
typedef struct divisor {
  fc_vf near, rest;
} divisor;
FC_INLINE divisor divisor_of(float b) {
  const float near = 1 / b;
  return (divisor){fc_vf_splat(near), fc_vf_splat((float)(1 / (double)b - (double)near))};
}
FC_INLINE fc_vf divided_by(fc_vf a, const divisor *d) {
  return FC_VF_FMA(a, d->near, a * d->rest);
}
#else
typedef fc_vf divisor;
FC_INLINE divisor divisor_of(float b) {
  return fc_vf_splat(b);
}
FC_INLINE fc_vf divided_by(fc_vf a, const divisor *b) {
  return a / *b;
}
#endif

/* a / b and c / d. With AVX-512, where a division takes twice as long as with AVX2, one reciprocal y of the
 * product serves for both quotients; q = a y for y close to 1 / b (to 2^-21), and then q + (a - b q) y. Few
 * multiples of the last place of q make up a - b q, so that it is exact. */
FC_INLINE void divide_two(fc_vf *a, fc_vf b, fc_vf *c, fc_vf d) {
#if defined(__AVX512F__)
  const fc_vf both = b * d, rough = (fc_vf)_mm512_rcp14_ps((__m512)both);
  const fc_vf inverse = FC_VF_FMA(FC_VF_FMA(-rough, both, fc_vf_splat(1)), rough, rough);
  const fc_vf of_b = inverse * d, of_d = inverse * b, first = *a * of_b, second = *c * of_d;
  *a = FC_VF_FMA(FC_VF_FMA(-first, b, *a), of_b, first);
  *c = FC_VF_FMA(FC_VF_FMA(-second, d, *c), of_d, second);
#else
  *a /= b, *c /= d;
#endif
}

/* ---- vectors ------------------------------------------------------------------------- */

/* Values of less than 2^22, rounded half to even. */
FC_INLINE fc_vi rounded(fc_vf v) {
#if defined(__AVX512F__)
  return (fc_vi)_mm512_cvtps_epi32((__m512)v);
#elif defined(__AVX2__)
  return (fc_vi)_mm256_cvtps_epi32((__m256)v);
#else
  return (fc_vi)((fc_vu)(v + fc_vf_splat(0x1.8p23f)) - 0x4b400000u);
#endif
}

FC_INLINE void put(uint8_t *to, const fc_vi v[4]) {
  const fc_vb bytes = fc_vb_pack(v[0], v[1], v[2], v[3]);
  memcpy(to, &bytes, sizeof bytes);
}

#define EACH_PART for (int q = 0; q < 4; q++)

typedef struct luma {
  fc_vf red, green, blue;
  divisor sum;
} luma;

static luma luma_of(const fc_color_conversion *c) {
  return (luma){fc_vf_splat((float)c->numbers[0]), fc_vf_splat((float)c->numbers[1]),
                fc_vf_splat((float)c->numbers[2]), divisor_of((float)c->numbers[3])};
}

/* The sum is an integer below 2^24, so it is exact however it is made. */
FC_INLINE fc_vf luma_at(const luma *l, fc_vf r, fc_vf g, fc_vf b) {
  return divided_by(FC_VF_FMA(r, l->red, FC_VF_FMA(g, l->green, b * l->blue)), &l->sum);
}

/* ---- conversions --------------------------------------------------------------------- */

#if defined(__AVX2__) && !defined(__AVX512F__)
/* Luma of 16 pixels as 16-bit codes, its sums made of integers: products of pairs, for weights below 2^15,
 * take three quarters of the instructions that floats do. */
FC_INLINE __m256i gray_sixteen(const uint8_t *at, __m256i red_green, __m256i blue, const divisor *sum) {
  const __m256i r = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)at)),
                g = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)(at + TILE))),
                b = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)(at + 2 * (int64_t)TILE)));
  const __m256i zero = _mm256_setzero_si256();
  const __m256i low = _mm256_add_epi32(_mm256_madd_epi16(_mm256_unpacklo_epi16(r, g), red_green),
                                       _mm256_madd_epi16(_mm256_unpacklo_epi16(b, zero), blue)),
                high = _mm256_add_epi32(_mm256_madd_epi16(_mm256_unpackhi_epi16(r, g), red_green),
                                        _mm256_madd_epi16(_mm256_unpackhi_epi16(b, zero), blue));
  return _mm256_packs_epi32((__m256i)rounded(divided_by((fc_vf)_mm256_cvtepi32_ps(low), sum)),
                            (__m256i)rounded(divided_by((fc_vf)_mm256_cvtepi32_ps(high), sum)));
}

/* Whether it did. */
static int gray_by_integers(const fc_color_conversion *c, uint8_t *to, const uint8_t *from, int64_t count) {
  const double *n = c->numbers;
  const divisor sum = divisor_of((float)n[3]);
  if (n[0] > INT16_MAX || n[1] > INT16_MAX || n[2] > INT16_MAX) return 0;
  const __m256i red_green = _mm256_set1_epi32((int32_t)n[0] | (int32_t)n[1] << 16),
                blue = _mm256_set1_epi32((int32_t)n[2]);
  for (int64_t i = 0; i < count; i += 32) {
    const __m256i both = _mm256_packus_epi16(gray_sixteen(from + i, red_green, blue, &sum),
                                             gray_sixteen(from + i + 16, red_green, blue, &sum));
    _mm256_storeu_si256((__m256i *)(void *)(to + i), _mm256_permute4x64_epi64(both, 0xd8));
  }
  return 1;
}
#else
#define gray_by_integers(c, to, from, count) 0
#endif

static void to_gray(const fc_color_conversion *c, const float *light, uint8_t *to, const uint8_t *from,
                    int64_t count) {
  const luma l = luma_of(c);
  (void)light;
  if (gray_by_integers(c, to, from, count)) return;
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
  const fc_vf middle = fc_vf_splat((float)c->numbers[5]);
  const uint8_t white = (uint8_t)lrintf((float)c->numbers[4]);
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
      cb[q] = rounded((b - brightness) * blue + middle);
      cr[q] = rounded((r - brightness) * red + middle);
    }
    put(to + i, y), put(to + TILE + i, cb), put(to + 2 * (int64_t)TILE + i, cr);
  }
  for (int p = 1; white < 255 && p < 3; p++)
    for (uint8_t *at = to + p * (int64_t)TILE, *end = at + count; at < end; at++)
      *at = *at < white ? *at : white;
}

/* What hue and saturation are made of, in integers. The divisors `most` and `depth` are 1 where they are 0;
 * `ahead` is 6 where hue would be less than red's; `hued` is 255 where there is any hue. */
typedef struct hue_parts {
  uint8_t most[TILE], depth[TILE], hued[TILE], ahead[TILE], over[TILE], under[TILE];
  int16_t across[TILE]; /* over - under */
} hue_parts;

static void part_hues(const uint8_t *restrict from, uint8_t *restrict value, hue_parts *restrict p,
                      int64_t count) {
  FC_ROLLED
  for (int64_t i = 0; i < count; i++) {
    const uint8_t r = from[i], g = from[i + TILE], b = from[i + 2 * TILE];
    const uint8_t high = r > g ? r : g, low = r < g ? r : g;
    const uint8_t top = high > b ? high : b, bottom = low < b ? low : b, depth = (uint8_t)(top - bottom);
    value[i] = top, p->most[i] = top > 1 ? top : 1, p->depth[i] = depth > 1 ? depth : 1;
    p->hued[i] = depth ? 255 : 0;
  }
  FC_ROLLED
  for (int64_t i = 0; i < count; i++) {
    const uint8_t r = from[i], g = from[i + TILE], b = from[i + 2 * TILE], top = value[i];
    const uint8_t red = top == r ? 255 : 0, green = top == g ? 255 : 0, back = b > g ? 6 : 0;
    const uint8_t x = (uint8_t)((b & green) | (r & ~green)), y = (uint8_t)((r & green) | (g & ~green));
    p->over[i] = (uint8_t)((g & red) | (x & ~red)), p->under[i] = (uint8_t)((b & red) | (y & ~red));
    p->ahead[i] = (uint8_t)((back & red) | (((2 & green) | (4 & ~green)) & ~red));
  }
  FC_ROLLED
  for (int64_t i = 0; i < count; i++) p->across[i] = (int16_t)(p->over[i] - p->under[i]);
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

static void to_hsv(const fc_color_conversion *c, const float *light, uint8_t *to, const uint8_t *from,
                   int64_t count) {
  const fc_vf white = fc_vf_splat((float)c->numbers[4]);
  const divisor six = divisor_of(6);
  hue_parts p;
  (void)light;
  part_hues(from, to + 2 * (int64_t)TILE, &p,
            (count + FC_VECTOR_BYTES - 1) / FC_VECTOR_BYTES * FC_VECTOR_BYTES);
  for (int64_t i = 0; i < count; i += FC_VECTOR_BYTES) {
    fc_vi hue[4], saturation[4];
    FC_UNROLL
    EACH_PART {
      const int64_t at = i + q * FC_LANES_F32;
      const fc_vf depth = fc_vf_load_u8(p.depth + at);
      fc_vf sector = load_i16(p.across + at), share = depth;
      divide_two(&sector, depth, &share, fc_vf_load_u8(p.most + at));
      hue[q] = rounded(divided_by(sector + fc_vf_load_u8(p.ahead + at), &six) * white);
      saturation[q] = rounded(share * white);
    }
    put(to + i, hue), put(to + TILE + i, saturation);
  }
  for (int64_t i = 0; i < count; i++) to[i + TILE] &= p.hued[i];
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
