/* SPDX-License-Identifier: MIT */
/*
 * pointwise_kernels.c - plain loops that the compiler vectorises, with one rounding per operation:
 * contraction is off. Only the affine form is a fused multiply-add, which a machine without the instruction
 * leaves to libm: slow there, but the same bits.
 */
#include "filters/pointwise/pointwise_kernels.h"

#include <math.h>

#include "filters/base/simd.h"
#include "filters/pointwise/curve.h"

#define FUSED_f32 fmaf
#define FUSED_f64 fma

#define DEFINE_LOOK_UP(F, S, T, NAME)                                                                        \
  static void look_up_##NAME##_##S(F *restrict to, const void *restrict from, int64_t step, int64_t count,   \
                                   const F *restrict table) {                                                \
    if (step == (int64_t)sizeof(T))                                                                          \
      for (int64_t i = 0; i < count; i++) to[i] = table[((const T *)from)[i]];                               \
    else                                                                                                     \
      for (int64_t i = 0; i < count; i++) to[i] = table[*(const T *)((const char *)from + i * step)];        \
  }

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
  static void affine_##S(F *restrict to, const F *restrict from, int64_t count, F factor, F add) {           \
    for (int64_t i = 0; i < count; i++) to[i] = FUSED_##S(from[i], factor, add);                             \
  }                                                                                                          \
  static void affine_each_##S(F *restrict to, const F *restrict from, int64_t count,                         \
                              const F *restrict factors, const F *restrict adds) {                           \
    for (int64_t i = 0; i < count; i++) to[i] = FUSED_##S(from[i], factors[i], adds[i]);                     \
  }                                                                                                          \
  static void curve_##S(F *restrict to, const F *restrict from, int64_t count, const fc_pointwise *p) {      \
    const F low = (F)p->from, factor = (F)p->factor, most = (F)p->high, exponent = (F)p->exponent;           \
    const F span = (F)p->span, add = (F)p->to;                                                               \
    if (p->exponent == 1) {                                                                                  \
      for (int64_t i = 0; i < count; i++)                                                                    \
        to[i] = fc_curve_value_##S(from[i], low, factor, most, 1, span, add, 0);                             \
      return;                                                                                                \
    }                                                                                                        \
    /* Two loops: the compiler cannot vectorise a single one. */                                             \
    for (int64_t i = 0; i < count; i++) to[i] = fc_curve_part_##S(from[i], low, factor, most);               \
    for (int64_t i = 0; i < count; i++) to[i] = fc_curve_power_##S(to[i], exponent, span, add);              \
  }                                                                                                          \
  static void threshold_##S(F *restrict to, const F *restrict from, int64_t count, const fc_pointwise *p) {  \
    const F level = (F)p->from, above = (F)p->high, below = (F)p->low;                                       \
    const int keeps = p->keeps;                                                                              \
    if (keeps == FC_POINTWISE_KEEPS_ABOVE)                                                                   \
      for (int64_t i = 0; i < count; i++) to[i] = fc_threshold_value_##S(from[i], level, above, below, 1);   \
    else if (keeps == FC_POINTWISE_KEEPS_BELOW)                                                              \
      for (int64_t i = 0; i < count; i++) to[i] = fc_threshold_value_##S(from[i], level, above, below, 2);   \
    else                                                                                                     \
      for (int64_t i = 0; i < count; i++) to[i] = fc_threshold_value_##S(from[i], level, above, below, 0);   \
  }                                                                                                          \
  DEFINE_LOOK_UP(F, S, uint8_t, u8)                                                                          \
  DEFINE_LOOK_UP(F, S, uint16_t, u16)                                                                        \
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

static void affine_each_bytes(float *restrict to, const uint8_t *restrict from, int64_t count,
                              const float *restrict factors, const float *restrict adds) {
  for (int64_t i = 0; i < count; i++) to[i] = fmaf((float)from[i], factors[i], adds[i]);
}

static inline void step_some(uint8_t *to, const uint8_t *from, int64_t count, int level,
                             const uint8_t kept[2], const uint8_t set[2]) {
  const uint8_t kept_0 = kept[0], kept_1 = kept[1], set_0 = set[0], set_1 = set[1], above = (uint8_t)level;
  for (int64_t i = 0; i < count; i++) {
    const uint8_t v = from[i], low = (uint8_t)((v & kept_0) | set_0), high = (uint8_t)((v & kept_1) | set_1);
    to[i] = v > above ? high : low;
  }
}

/* First up to a cache line: vectors of 64 bytes that lie across two lines take a tenth longer. */
static void step_bytes(uint8_t *to, const uint8_t *from, int64_t count, int level, const uint8_t kept[2],
                       const uint8_t set[2]) {
  const int64_t left = (int64_t)(-(uintptr_t)to % 64), head = left < count ? left : count;
  step_some(to, from, head, level, kept, set);
  step_some(to + head, from + head, count - head, level, kept, set);
}

#if defined(__AVX512BW__)
/* 32 codes at a time: words of two entries by permutations of 64 words, of which bit 7 of the code chooses
 * one and bit 0 a half. */
static int64_t look_up_vectors(uint8_t *to, const uint8_t *from, int64_t count, const uint8_t *table) {
  const __m512i a = _mm512_loadu_si512(table), b = _mm512_loadu_si512(table + 64),
                c = _mm512_loadu_si512(table + 128), d = _mm512_loadu_si512(table + 192);
  int64_t i = 0;
  for (; i + 32 <= count; i += 32) {
    const __m512i codes = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(from + i)));
    const __m512i word = _mm512_srli_epi16(codes, 1);
    const __mmask32 upper = _mm512_test_epi16_mask(codes, _mm512_set1_epi16(128));
    const __mmask32 odd = _mm512_test_epi16_mask(codes, _mm512_set1_epi16(1));
    const __m512i two = _mm512_mask_blend_epi16(upper, _mm512_permutex2var_epi16(a, word, b),
                                                _mm512_permutex2var_epi16(c, word, d));
    _mm256_storeu_si256((__m256i *)(void *)(to + i),
                        _mm512_cvtepi16_epi8(_mm512_mask_srli_epi16(two, odd, two, 8)));
  }
  return i;
}
#elif defined(__AVX2__)
/* 128 codes at a time: of each 16 entries those whose codes, less the first one's, are below 16. From others
 * a saturated sum leaves a high bit, for which the shuffle gives 0. */
static int64_t look_up_vectors(uint8_t *to, const uint8_t *from, int64_t count, const uint8_t *table) {
  enum { VECTORS = 4 };
  int64_t i = 0;
  for (; i + 32 * VECTORS <= count; i += 32 * VECTORS) {
    __m256i code[VECTORS], found[VECTORS];
    FC_UNROLL
    for (int j = 0; j < VECTORS; j++) {
      code[j] = _mm256_loadu_si256((const __m256i *)(const void *)(from + i + 32 * j));
      found[j] = _mm256_setzero_si256();
    }
    for (int first = 0; first < 256; first += 16) {
      const __m256i entries =
          _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(table + first)));
      FC_UNROLL
      for (int j = 0; j < VECTORS; j++) {
        const __m256i low = _mm256_adds_epu8(code[j], _mm256_set1_epi8(0x70));
        found[j] = _mm256_or_si256(found[j], _mm256_shuffle_epi8(entries, low));
        code[j] = _mm256_sub_epi8(code[j], _mm256_set1_epi8(16));
      }
    }
    FC_UNROLL
    for (int j = 0; j < VECTORS; j++) _mm256_storeu_si256((__m256i *)(void *)(to + i + 32 * j), found[j]);
  }
  return i;
}
#else
#define look_up_vectors(to, from, count, table) 0
#endif

static void look_up_bytes(uint8_t *to, const uint8_t *from, int64_t count, const uint8_t *table) {
  for (int64_t i = look_up_vectors(to, from, count, table); i < count; i++) to[i] = table[from[i]];
}

const fc_pointwise_kernels FC_ISA_NAME(fc_pointwise_kernels) = {
    scale_f32,       scale_f64,       scale_each_f32,    scale_each_f64, map_f32,
    map_f64,         clamp_f32,       clamp_f64,         affine_f32,     affine_f64,
    affine_each_f32, affine_each_f64, affine_each_bytes, curve_f32,      curve_f64,
    threshold_f32,   threshold_f64,   look_up_u8_f32,    look_up_u8_f64, look_up_u16_f32,
    look_up_u16_f64, look_up_bytes,   step_bytes,        range_f32,      range_f64,
};
