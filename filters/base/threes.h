/* SPDX-License-Identifier: MIT */
/*
 * threes.h - pixels of three bytes to and from three planes, for files that are compiled once for each
 * instruction set.
 *
 * Of three vectors of 16 bytes of pixels, those bytes of a channel that lie in one vector are at places that
 * leave one remainder by 3, in each vector another. So two blends make a vector of a channel's 16 bytes,
 * which one shuffle puts in order: 3 shuffles and 6 blends for 16 pixels in each lane, both ways. What the
 * compiler makes of the plain loops takes three times as long.
 */
#ifndef FC_FILTERS_THREES_H
#define FC_FILTERS_THREES_H

#include "filters/base/simd.h"

#if defined(__AVX2__)

#if defined(__AVX512BW__)
typedef __m512i fc_threes;
#define FC_THREES_LANES 4
/* x where i % 3 is `part` in each lane, else y. */
FC_INLINE __m512i fc_threes_blend(__m512i x, __m512i y, int part) {
  return _mm512_mask_blend_epi8((UINT64_C(0x9249) << part & 0xffff) * UINT64_C(0x1000100010001), y, x);
}
#define FC_THREES_SHUFFLE(v, order) _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(order))
FC_INLINE __m512i fc_threes_load(const uint8_t *at, int64_t apart) {
  const __m128i *a = (const void *)at, *b = (const void *)(at + apart), *c = (const void *)(at + 2 * apart),
                *d = (const void *)(at + 3 * apart);
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(a)), _mm_loadu_si128(b),
                                              1),
                high = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(c)), _mm_loadu_si128(d),
                                               1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
FC_INLINE void fc_threes_store(uint8_t *at, int64_t apart, __m512i v) {
  _mm_storeu_si128((__m128i *)(void *)at, _mm512_castsi512_si128(v));
  _mm_storeu_si128((__m128i *)(void *)(at + apart), _mm512_extracti32x4_epi32(v, 1));
  _mm_storeu_si128((__m128i *)(void *)(at + 2 * apart), _mm512_extracti32x4_epi32(v, 2));
  _mm_storeu_si128((__m128i *)(void *)(at + 3 * apart), _mm512_extracti32x4_epi32(v, 3));
}
#else
typedef __m256i fc_threes;
#define FC_THREES_LANES             2
FC_INLINE __m256i fc_threes_blend(__m256i x, __m256i y, int part) {
  const __m128i one = part == 0   ? _mm_setr_epi8(-1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1)
                      : part == 1 ? _mm_setr_epi8(0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0)
                                  : _mm_setr_epi8(0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0);
  return _mm256_blendv_epi8(y, x, _mm256_broadcastsi128_si256(one));
}
#define FC_THREES_SHUFFLE(v, order) _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(order))
FC_INLINE __m256i fc_threes_load(const uint8_t *at, int64_t apart) {
  const __m128i *a = (const void *)at, *b = (const void *)(at + apart);
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(a)), _mm_loadu_si128(b), 1);
}
FC_INLINE void fc_threes_store(uint8_t *at, int64_t apart, __m256i v) {
  _mm_storeu_si128((__m128i *)(void *)at, _mm256_castsi256_si128(v));
  _mm_storeu_si128((__m128i *)(void *)(at + apart), _mm256_extracti128_si256(v, 1));
}
#endif

#define FC_THREES_STEP (16 * FC_THREES_LANES) /* pixels at a time */

/* Of channel c's bytes in the order of their pixels: where each lies among those that were blended, and the
 * reverse. */
#define FC_THREES_GATHER(c, i)  (((c) + 3 * (i)) % 16)
#define FC_THREES_SCATTER(c, i) ((16 * (((i) % 3 * 2 + 3 - (c)*2 % 3) % 3) + (i) - (c)) / 3)
#define FC_THREES_ORDER(of, c)                                                                               \
  _mm_setr_epi8(of(c, 0), of(c, 1), of(c, 2), of(c, 3), of(c, 4), of(c, 5), of(c, 6), of(c, 7), of(c, 8),    \
                of(c, 9), of(c, 10), of(c, 11), of(c, 12), of(c, 13), of(c, 14), of(c, 15))

/* x where i % 3 is 0 in each lane, y where it is 1, z where it is 2. */
FC_INLINE fc_threes fc_threes_of(fc_threes x, fc_threes y, fc_threes z) {
  return fc_threes_blend(x, fc_threes_blend(y, z, 1), 0);
}

FC_INLINE void fc_threes_put(uint8_t *to, fc_threes v, __m128i order) {
  v = FC_THREES_SHUFFLE(v, order);
  memcpy(to, &v, sizeof v);
}

/* Byte i of vector k of a lane is of channel (i + k) % 3. */
FC_INLINE void fc_threes_split(const uint8_t *from, uint8_t *to, int64_t apart) {
  const fc_threes a = fc_threes_load(from, 48), b = fc_threes_load(from + 16, 48),
                  c = fc_threes_load(from + 32, 48);
  fc_threes_put(to, fc_threes_of(a, c, b), FC_THREES_ORDER(FC_THREES_GATHER, 0));
  fc_threes_put(to + apart, fc_threes_of(b, a, c), FC_THREES_ORDER(FC_THREES_GATHER, 1));
  fc_threes_put(to + 2 * apart, fc_threes_of(c, b, a), FC_THREES_ORDER(FC_THREES_GATHER, 2));
}

FC_INLINE void fc_threes_join(const uint8_t *from, int64_t apart, uint8_t *to) {
  fc_threes r, g, b;
  memcpy(&r, from, sizeof r), memcpy(&g, from + apart, sizeof g), memcpy(&b, from + 2 * apart, sizeof b);
  r = FC_THREES_SHUFFLE(r, FC_THREES_ORDER(FC_THREES_SCATTER, 0));
  g = FC_THREES_SHUFFLE(g, FC_THREES_ORDER(FC_THREES_SCATTER, 1));
  b = FC_THREES_SHUFFLE(b, FC_THREES_ORDER(FC_THREES_SCATTER, 2));
  fc_threes_store(to, 48, fc_threes_of(r, g, b));
  fc_threes_store(to + 16, 48, fc_threes_of(g, b, r));
  fc_threes_store(to + 32, 48, fc_threes_of(b, r, g));
}

#endif

/* `count` pixels; rows of planes are `apart` bytes from each other. */
FC_INLINE void fc_split_threes(uint8_t *to, int64_t apart, const uint8_t *from, int64_t count) {
  int64_t i = 0;
#ifdef FC_THREES_STEP
  for (; i + FC_THREES_STEP <= count; i += FC_THREES_STEP) fc_threes_split(from + 3 * i, to + i, apart);
#endif
  for (; i < count; i++)
    to[i] = from[3 * i], to[i + apart] = from[3 * i + 1], to[i + 2 * apart] = from[3 * i + 2];
}

FC_INLINE void fc_join_threes(uint8_t *to, const uint8_t *from, int64_t apart, int64_t count) {
  int64_t i = 0;
#ifdef FC_THREES_STEP
  for (; i + FC_THREES_STEP <= count; i += FC_THREES_STEP) fc_threes_join(from + i, apart, to + 3 * i);
#endif
  for (; i < count; i++)
    to[3 * i] = from[i], to[3 * i + 1] = from[i + apart], to[3 * i + 2] = from[i + 2 * apart];
}

#endif
