/* SPDX-License-Identifier: MIT */
/*
 * bytes_kernels.c - the loops of resample.c over bytes and the values of 16 bits between its passes. On x86
 * with intrinsics, for the multiply-add of pairs of 16 bits, which the compiler does not find: taps are
 * processed in pairs. Elsewhere plain loops.
 */
#include "filters/base/integers.h"
#include "filters/base/simd.h"
#include "filters/resample/resample_kernels.h"
#include "filters/resample/resample_math.h"

#define LANES (FC_VECTOR_BYTES / 2)

/* ---- an element at a time ----------------------------------------------------- */

/* Of the first pass (bytes) and of the second (values): sums down columns of T are U; T turned, and T again.
 */
#define DEFINE_PLAIN(name, T, U, pass)                                                                       \
  static void down_##name##_from(const T *const *rows, const int16_t *w, int64_t taps, U *to, int64_t from,  \
                                 int64_t count) {                                                            \
    for (int64_t i = from; i < count; i++) {                                                                 \
      int32_t sum = 0;                                                                                       \
      for (int64_t k = 0; k < taps; k++) sum += w[k] * rows[k][i];                                           \
      to[i] = (U)fc_resample_finished(sum, pass, 0);                                                         \
    }                                                                                                        \
  }                                                                                                          \
  static void turn_##name##_from(const T *const *rows, int64_t from, int64_t count, int16_t *to) {           \
    for (int64_t i = from; i < count; i++)                                                                   \
      for (int r = 0; r < LANES; r++) to[i * LANES + r] = rows[r][i];                                        \
  }                                                                                                          \
  static void back_##name##_from(const int16_t *from, int64_t begin, int64_t count, void *const *rows) {     \
    for (int64_t i = begin; i < count; i++)                                                                  \
      for (int r = 0; r < LANES; r++) ((T *)rows[r])[i] = (T)from[i * LANES + r];                            \
  }

DEFINE_PLAIN(bytes, uint8_t, int16_t, 0)
DEFINE_PLAIN(values, int16_t, uint8_t, 1)

#if defined(__x86_64__)

/* ---- vectors ------------------------------------------------------------------- */

#if defined(__AVX512BW__)
typedef __m512i vec;
#define OP(name)     _mm512_##name
#define LOADV(p)     _mm512_loadu_si512((const void *)(p))
#define STOREV(p, v) _mm512_storeu_si512((void *)(p), v)
#define ZERO()       _mm512_setzero_si512()
/* Packs of 128 bits 0 4 1 5 2 6 3 7 of a and b: the order left by unpacking and packing. */
#define FIRST_OF_LANES(a, b)  _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), b)
#define SECOND_OF_LANES(a, b) _mm512_permutex2var_epi64(a, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), b)
#define IN_ORDER(v)           _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), v)
#elif defined(__AVX2__)
typedef __m256i vec;
#define OP(name)              _mm256_##name
#define LOADV(p)              _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STOREV(p, v)          _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define ZERO()                _mm256_setzero_si256()
#define FIRST_OF_LANES(a, b)  _mm256_permute2x128_si256(a, b, 0x20)
#define SECOND_OF_LANES(a, b) _mm256_permute2x128_si256(a, b, 0x31)
#define IN_ORDER(v)           _mm256_permute4x64_epi64(v, 0xd8)
#else
typedef __m128i vec;
#define OP(name)              _mm_##name
#define LOADV(p)              _mm_loadu_si128((const __m128i *)(const void *)(p))
#define STOREV(p, v)          _mm_storeu_si128((__m128i *)(void *)(p), v)
#define ZERO()                _mm_setzero_si128()
#define FIRST_OF_LANES(a, b)  (a)
#define SECOND_OF_LANES(a, b) (b)
#define IN_ORDER(v)           (v)
#endif

/* Weights k and k + 1 as a pair. */
FC_INLINE vec weight_pair(const int16_t *w) {
  int32_t both;
  memcpy(&both, w, sizeof both);
  return OP(set1_epi32)(both);
}

FC_INLINE vec shifted(vec sum, int pass) {
  return OP(srai_epi32)(sum, FC_RESAMPLE_SHIFT(pass));
}

FC_INLINE vec half(int pass) {
  return OP(set1_epi32)(1 << (FC_RESAMPLE_SHIFT(pass) - 1));
}

/* 16 bits each of two vectors of sums. */
FC_INLINE vec packed(vec a, vec b, int pass) {
  return OP(packs_epi32)(shifted(a, pass), shifted(b, pass));
}

#define ADD_PAIRS(sum, pairs, w) sum = OP(add_epi32)(sum, OP(madd_epi16)(pairs, w))

/* ---- down columns --------------------------------------------------------------- */

/* Values whose order is that of unpacklo_epi8 and unpackhi_epi8. */
FC_INLINE void store_both(int16_t *to, vec low, vec high) {
  STOREV(to, FIRST_OF_LANES(low, high)), STOREV(to + LANES, SECOND_OF_LANES(low, high));
}

FC_INLINE void down_bytes_vector(const uint8_t *const *rows, const int16_t *w, int64_t taps, int16_t *to,
                                 int64_t i) {
  const vec zero = ZERO();
  vec s0 = half(0), s1 = s0, s2 = s0, s3 = s0;
  for (int64_t k = 0; k < taps; k += 2) {
    const vec a = LOADV(rows[k] + i), b = LOADV(rows[k + 1] + i), both = weight_pair(w + k);
    const vec low = OP(unpacklo_epi8)(a, b), high = OP(unpackhi_epi8)(a, b);
    ADD_PAIRS(s0, OP(unpacklo_epi8)(low, zero), both);
    ADD_PAIRS(s1, OP(unpackhi_epi8)(low, zero), both);
    ADD_PAIRS(s2, OP(unpacklo_epi8)(high, zero), both);
    ADD_PAIRS(s3, OP(unpackhi_epi8)(high, zero), both);
  }
  store_both(to + i, packed(s0, s1, 0), packed(s2, s3, 0));
}

#define SHORT_PAIRS 32 /* of taps */
#if defined(__SSSE3__)
/*
 * Weights of at most 7 bits, as where an image is halved or quartered, need half as many instructions: pairs
 * of weights are bytes of an element. Such a weight is 14 bits' multiple of 128, of which (128 sum + 128) >>
 * 8 is (sum + 1) >> 1; they are not negative, so no partial sum exceeds 255 * 128.
 */
static int64_t short_pairs(const int16_t *w, int64_t taps, int16_t pairs[SHORT_PAIRS]) {
  int none = taps > 2 * SHORT_PAIRS;
  for (int64_t k = 0; k < taps && !none; k += 2) {
    none = w[k] < 0 || w[k + 1] < 0 || (w[k] | w[k + 1]) & 0x407f;
    pairs[k / 2] = (int16_t)(w[k] >> 7 | w[k + 1] * 2);
  }
  return none ? 0 : taps / 2;
}

FC_INLINE void down_bytes_short(const uint8_t *const *rows, const int16_t *pairs, int64_t count, int16_t *to,
                                int64_t i) {
  vec low = ZERO(), high = low;
  for (int64_t k = 0; k < count; k++) {
    const vec a = LOADV(rows[2 * k] + i), b = LOADV(rows[2 * k + 1] + i), both = OP(set1_epi16)(pairs[k]);
    low = OP(add_epi16)(low, OP(maddubs_epi16)(OP(unpacklo_epi8)(a, b), both));
    high = OP(add_epi16)(high, OP(maddubs_epi16)(OP(unpackhi_epi8)(a, b), both));
  }
  store_both(to + i, OP(avg_epu16)(low, ZERO()), OP(avg_epu16)(high, ZERO()));
}

/*
 * Two taps whose weights are not negative and add up to 1, as bilinear ones: a + (b - a) w in 16 bits. The
 * multiplication rounds (64 (b - a) 2 w + 2^14) >> 15, which is ((b - a) w + 128) >> 8, so the bits are the
 * same.
 */
static int mixes(const int16_t *w, int64_t taps) {
  return taps == 2 && w[0] > 0 && w[1] >= 0; /* the first is not 0, so that twice the second is 16 bits */
}

FC_INLINE void mix_bytes_vector(const uint8_t *const *rows, int16_t weight, int16_t *to, int64_t i) {
  const vec first = OP(set1_epi16)(64), apart = OP(set1_epi16)(64 * 256 + 256 - 64),
            w = OP(set1_epi16)(weight);
  const vec a = LOADV(rows[0] + i), b = LOADV(rows[1] + i);
  const vec low = OP(unpacklo_epi8)(a, b), high = OP(unpackhi_epi8)(a, b);
  store_both(
      to + i,
      OP(add_epi16)(OP(maddubs_epi16)(low, first), OP(mulhrs_epi16)(OP(maddubs_epi16)(low, apart), w)),
      OP(add_epi16)(OP(maddubs_epi16)(high, first), OP(mulhrs_epi16)(OP(maddubs_epi16)(high, apart), w)));
}
#else
#define short_pairs(w, taps, pairs) 0
#define down_bytes_short            down_bytes_vector
#define mixes(w, taps)              0
#define mix_bytes_vector(rows, weight, to, i)
#endif

/* The last vector ends at the end and computes some elements a second time. */
FC_INLINE int64_t place_of(int64_t i, int64_t count) {
  return i < count - FC_VECTOR_BYTES ? i : count - FC_VECTOR_BYTES;
}
#define EACH_VECTOR(i, count) for (int64_t i = 0; i < count; i += FC_VECTOR_BYTES)

static void down_bytes(const void *const *rows, const void *weights, int64_t taps, void *to, int64_t count) {
  const uint8_t *const *from = (const uint8_t *const *)rows;
  int16_t pairs[SHORT_PAIRS] = {0};
  const int64_t n = short_pairs(weights, taps, pairs);
  if (count < FC_VECTOR_BYTES)
    down_bytes_from(from, weights, taps, to, 0, count);
  else if (n == 1) /* a constant, so that rows and weights stay in registers */
    EACH_VECTOR(i, count) down_bytes_short(from, pairs, 1, to, place_of(i, count));
  else if (n)
    EACH_VECTOR(i, count) down_bytes_short(from, pairs, n, to, place_of(i, count));
  else if (mixes(weights, taps))
    EACH_VECTOR(i, count)
  mix_bytes_vector(from, (int16_t)(2 * ((const int16_t *)weights)[1]), to, place_of(i, count));
  else EACH_VECTOR(i, count) down_bytes_vector(from, weights, taps, to, place_of(i, count));
}

FC_INLINE void down_values_vector(const int16_t *const *rows, const int16_t *w, int64_t taps, uint8_t *to,
                                  int64_t i) {
  vec s0 = half(1), s1 = s0, s2 = s0, s3 = s0;
  for (int64_t k = 0; k < taps; k += 2) {
    const vec both = weight_pair(w + k);
    const vec a = LOADV(rows[k] + i), b = LOADV(rows[k + 1] + i);
    const vec c = LOADV(rows[k] + i + LANES), d = LOADV(rows[k + 1] + i + LANES);
    ADD_PAIRS(s0, OP(unpacklo_epi16)(a, b), both);
    ADD_PAIRS(s1, OP(unpackhi_epi16)(a, b), both);
    ADD_PAIRS(s2, OP(unpacklo_epi16)(c, d), both);
    ADD_PAIRS(s3, OP(unpackhi_epi16)(c, d), both);
  }
  STOREV(to + i, IN_ORDER(OP(packus_epi16)(packed(s0, s1, 1), packed(s2, s3, 1))));
}

static void down_values(const void *const *rows, const void *weights, int64_t taps, void *to, int64_t count) {
  const int16_t *const *from = (const int16_t *const *)rows;
  if (count < FC_VECTOR_BYTES)
    down_values_from(from, weights, taps, to, 0, count);
  else
    EACH_VECTOR(i, count) down_values_vector(from, weights, taps, to, place_of(i, count));
}

/*
 * The mean of two rows of values 0 to 255 << 6 by weights that are not negative, of which `weight` is twice
 * the second: a + (b - a) w in 16 bits. (2^14 a + (b - a) w + 2^19) >> 20 is (a + 32 + ((b - a) w >> 14)) >>
 * 6, and the upper half of 2 (b - a) times 2 w is what is shifted by 14.
 */
FC_INLINE vec mixed_values(vec a, vec b, vec weight) {
  const vec apart = OP(slli_epi16)(OP(sub_epi16)(b, a), 1),
            round = OP(set1_epi16)(1 << (FC_RESAMPLE_VALUE_BITS - 1));
  const vec sum = OP(add_epi16)(OP(add_epi16)(a, round), OP(mulhi_epi16)(apart, weight));
  return OP(srli_epi16)(sum, FC_RESAMPLE_VALUE_BITS);
}

static void mix_values(const void *const *rows, int16_t weight, void *to, int64_t count) {
  const int16_t *a = rows[0], *b = rows[1],
                w[2] = {(int16_t)((1 << FC_RESAMPLE_WEIGHT_BITS) - weight / 2), (int16_t)(weight / 2)};
  const vec both = OP(set1_epi16)(weight);
  if (count < FC_VECTOR_BYTES) {
    down_values_from((const int16_t *const *)rows, w, 2, to, 0, count);
    return;
  }
  EACH_VECTOR(k, count) {
    const int64_t i = place_of(k, count);
    const vec low = mixed_values(LOADV(a + i), LOADV(b + i), both);
    const vec high = mixed_values(LOADV(a + i + LANES), LOADV(b + i + LANES), both);
    STOREV((uint8_t *)to + i, IN_ORDER(OP(packus_epi16)(low, high)));
  }
}
#define MIX mix_values

/* ---- turning: eight rows by eight columns ------------------------------------------ */

#define LOAD128(p)     _mm_loadu_si128((const __m128i *)(const void *)(p))
#define STORE128(p, v) _mm_storeu_si128((__m128i *)(void *)(p), v)

/* Eight vectors of eight elements of 16 bits, exchanged for their transpose. */
FC_INLINE void transpose8(__m128i v[8]) {
  __m128i a[8], b[8];
  FC_UNROLL
  for (int i = 0; i < 4; i++) {
    a[2 * i] = _mm_unpacklo_epi16(v[2 * i], v[2 * i + 1]);
    a[2 * i + 1] = _mm_unpackhi_epi16(v[2 * i], v[2 * i + 1]);
  }
  FC_UNROLL
  for (int i = 0; i < 2; i++) {
    b[4 * i] = _mm_unpacklo_epi32(a[4 * i], a[4 * i + 2]);
    b[4 * i + 1] = _mm_unpackhi_epi32(a[4 * i], a[4 * i + 2]);
    b[4 * i + 2] = _mm_unpacklo_epi32(a[4 * i + 1], a[4 * i + 3]);
    b[4 * i + 3] = _mm_unpackhi_epi32(a[4 * i + 1], a[4 * i + 3]);
  }
  FC_UNROLL
  for (int i = 0; i < 4; i++) {
    v[2 * i] = _mm_unpacklo_epi64(b[i], b[i + 4]);
    v[2 * i + 1] = _mm_unpackhi_epi64(b[i], b[i + 4]);
  }
}

static void turn_values(const void *const *rows, int64_t count, void *to) {
  const int16_t *const *from = (const int16_t *const *)rows;
  int16_t *out = to;
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int r = 0; r < LANES; r += 8) {
      __m128i v[8];
      FC_UNROLL
      for (int k = 0; k < 8; k++) v[k] = LOAD128(from[r + k] + i);
      transpose8(v);
      FC_UNROLL
      for (int k = 0; k < 8; k++) STORE128(out + (i + k) * LANES + r, v[k]);
    }
  turn_values_from(from, i, count, out);
}

/* Sixteen columns: pairs of rows as bytes, then as pairs of 16 bits. */
FC_INLINE void turn_bytes_block(const uint8_t *const *from, int64_t i, int16_t *out) {
  const __m128i zero = _mm_setzero_si128();
  __m128i v[8], a[8], b[8];
  FC_UNROLL
  for (int k = 0; k < 8; k++) v[k] = LOAD128(from[k] + i);
  FC_UNROLL
  for (int k = 0; k < 4; k++) { /* columns 0..7 of pair k, columns 8..15 */
    a[k] = _mm_unpacklo_epi8(v[2 * k], v[2 * k + 1]);
    a[4 + k] = _mm_unpackhi_epi8(v[2 * k], v[2 * k + 1]);
  }
  FC_UNROLL
  for (int h = 0; h < 2; h++) { /* rows 0..3 of columns 0..3, 4..7; rows 4..7 of them */
    b[4 * h] = _mm_unpacklo_epi16(a[4 * h], a[4 * h + 1]);
    b[4 * h + 1] = _mm_unpackhi_epi16(a[4 * h], a[4 * h + 1]);
    b[4 * h + 2] = _mm_unpacklo_epi16(a[4 * h + 2], a[4 * h + 3]);
    b[4 * h + 3] = _mm_unpackhi_epi16(a[4 * h + 2], a[4 * h + 3]);
  }
  FC_UNROLL
  for (int h = 0; h < 4; h++) { /* columns 4 h .. 4 h + 3, two in a vector */
    const __m128i rows03 = b[h / 2 * 4 + h % 2], rows47 = b[h / 2 * 4 + 2 + h % 2];
    const __m128i low = _mm_unpacklo_epi32(rows03, rows47), high = _mm_unpackhi_epi32(rows03, rows47);
    int16_t *to = out + (i + 4 * h) * LANES;
    STORE128(to, _mm_unpacklo_epi8(low, zero)), STORE128(to + LANES, _mm_unpackhi_epi8(low, zero));
    STORE128(to + 2 * LANES, _mm_unpacklo_epi8(high, zero));
    STORE128(to + 3 * LANES, _mm_unpackhi_epi8(high, zero));
  }
}

static void turn_bytes(const void *const *rows, int64_t count, void *to) {
  const uint8_t *const *from = (const uint8_t *const *)rows;
  int64_t i = 0;
  for (; i + 16 <= count; i += 16)
    for (int r = 0; r < LANES; r += 8) turn_bytes_block(from + r, i, (int16_t *)to + r);
  turn_bytes_from(from, i, count, to);
}

static void back_values(const void *turned, int64_t count, void *const *rows) {
  const int16_t *from = turned;
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int r = 0; r < LANES; r += 8) {
      __m128i v[8];
      FC_UNROLL
      for (int k = 0; k < 8; k++) v[k] = LOAD128(from + (i + k) * LANES + r);
      transpose8(v);
      FC_UNROLL
      for (int k = 0; k < 8; k++) STORE128((int16_t *)rows[r + k] + i, v[k]);
    }
  back_values_from(from, i, count, rows);
}

static void back_bytes(const void *turned, int64_t count, void *const *rows) {
  const int16_t *from = turned;
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int r = 0; r < LANES; r += 8) {
      __m128i v[8];
      FC_UNROLL
      for (int k = 0; k < 8; k++) v[k] = LOAD128(from + (i + k) * LANES + r);
      transpose8(v);
      FC_UNROLL
      for (int k = 0; k < 8; k++)
        _mm_storel_epi64((__m128i *)(void *)((uint8_t *)rows[r + k] + i), _mm_packus_epi16(v[k], v[k]));
    }
  back_bytes_from(from, i, count, rows);
}

/* ---- along rows -------------------------------------------------------------------- */

FC_INLINE void across_pass(const fc_resample_table *table, int64_t from, int64_t count, int64_t channels,
                           const int16_t *turned, int64_t base, int16_t *to, int pass) {
  const int64_t step = channels * LANES;
  const vec least = OP(set1_epi16)(pass || table->limits ? 0 : INT16_MIN);
  const vec most = OP(set1_epi16)(pass ? 255 : table->limits ? FC_RESAMPLE_VALUE_MOST : INT16_MAX);
  for (int64_t x = from; x < from + count; x++) {
    const int16_t *w = (const int16_t *)(const void *)table->weights + x * table->room;
    const int16_t *at = turned + (table->first[x] - base) * step;
    const int64_t taps = table->taps[x];
    for (int64_t c = 0; c < channels; c++, at += LANES, to += LANES) {
      vec low = half(pass), high = low;
      for (int64_t k = 0; k < taps; k += 2) {
        const vec a = LOADV(at + k * step), b = LOADV(at + (k + 1) * step), both = weight_pair(w + k);
        ADD_PAIRS(low, OP(unpacklo_epi16)(a, b), both);
        ADD_PAIRS(high, OP(unpackhi_epi16)(a, b), both);
      }
      STOREV(to, OP(min_epi16)(OP(max_epi16)(packed(low, high, pass), least), most));
    }
  }
}

#else

#define MIX NULL

static void down_bytes(const void *const *rows, const void *weights, int64_t taps, void *to, int64_t count) {
  down_bytes_from((const uint8_t *const *)rows, weights, taps, to, 0, count);
}
static void down_values(const void *const *rows, const void *weights, int64_t taps, void *to, int64_t count) {
  down_values_from((const int16_t *const *)rows, weights, taps, to, 0, count);
}
static void turn_bytes(const void *const *rows, int64_t count, void *to) {
  turn_bytes_from((const uint8_t *const *)rows, 0, count, to);
}
static void turn_values(const void *const *rows, int64_t count, void *to) {
  turn_values_from((const int16_t *const *)rows, 0, count, to);
}
static void back_values(const void *turned, int64_t count, void *const *rows) {
  back_values_from(turned, 0, count, rows);
}
static void back_bytes(const void *turned, int64_t count, void *const *rows) {
  back_bytes_from(turned, 0, count, rows);
}

FC_INLINE void across_pass(const fc_resample_table *table, int64_t from, int64_t count, int64_t channels,
                           const int16_t *turned, int64_t base, int16_t *to, int pass) {
  const int64_t step = channels * LANES;
  for (int64_t x = from; x < from + count; x++) {
    const int16_t *w = (const int16_t *)(const void *)table->weights + x * table->room;
    const int16_t *at = turned + (table->first[x] - base) * step;
    for (int64_t c = 0; c < channels; c++, at += LANES, to += LANES) {
      int32_t sums[LANES] = {0};
      for (int64_t k = 0; k < table->taps[x]; k++)
        for (int r = 0; r < LANES; r++) sums[r] += w[k] * at[k * step + r];
      for (int r = 0; r < LANES; r++) to[r] = (int16_t)fc_resample_finished(sums[r], pass, table->limits);
    }
  }
}

#endif

static void across_bytes(const fc_resample_table *table, int64_t from, int64_t count, int64_t channels,
                         const void *turned, int64_t base, void *to) {
  across_pass(table, from, count, channels, turned, base, to, 0);
}

static void across_values(const fc_resample_table *table, int64_t from, int64_t count, int64_t channels,
                          const void *turned, int64_t base, void *to) {
  across_pass(table, from, count, channels, turned, base, to, 1);
}

#if defined(__AVX512BW__)
/* A pair of taps is two permutations of the group's 64 values. */
FC_INLINE void along_pass(const fc_resample_table *table, const fc_resample_groups *groups, int64_t channels,
                          const void *row, int64_t values, void *to, int pass) {
  const vec step = OP(set1_epi16)((int16_t)channels);
  const vec least = OP(set1_epi16)(pass || table->limits ? 0 : INT16_MIN);
  const vec most = OP(set1_epi16)(pass ? 255 : table->limits ? FC_RESAMPLE_VALUE_MOST : INT16_MAX);
  const int16_t *w = groups->weights;
  for (int64_t i = 0; i < groups->count; i++) {
    const int64_t at = groups->first[i], left = values - at;
    const uint64_t there = left >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << left) - 1;
    const __mmask32 made = (__mmask32)((UINT64_C(1) << groups->values[i]) - 1);
    vec a, b, begin = LOADV(groups->begin + 32 * i), low = half(pass), high = low;
    if (pass) {
      a = _mm512_maskz_loadu_epi16((__mmask32)there, (const int16_t *)row + at);
      b = _mm512_maskz_loadu_epi16((__mmask32)(there >> 32), (const int16_t *)row + at + 32);
    } else {
      const vec both = _mm512_maskz_loadu_epi8(there, (const uint8_t *)row + at);
      a = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(both));
      b = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(both, 1));
    }
    if (pass && groups->halves) {
      const vec other = _mm512_permutex2var_epi16(a, OP(add_epi16)(begin, step), b);
      const vec sum = OP(add_epi16)(_mm512_permutex2var_epi16(a, begin, b), other);
      const vec mean = OP(srli_epi16)(OP(add_epi16)(sum, OP(set1_epi16)(1 << FC_RESAMPLE_VALUE_BITS)),
                                      FC_RESAMPLE_VALUE_BITS + 1);
      _mm512_mask_cvtepi16_storeu_epi8(to, made, mean), to = (uint8_t *)to + groups->values[i];
      continue;
    }
    if (groups->mixes) {
      const vec one = _mm512_permutex2var_epi16(a, begin, b);
      const vec other = _mm512_permutex2var_epi16(a, OP(add_epi16)(begin, step), b), weight = LOADV(w);
      w += 64;
      if (pass) {
        const __m256i mean = _mm512_cvtepi16_epi8(mixed_values(one, other, weight));
        _mm256_mask_storeu_epi8(to, made, mean), to = (uint8_t *)to + groups->values[i];
      } else {
        const vec apart = OP(mulhrs_epi16)(OP(slli_epi16)(OP(sub_epi16)(other, one), 6), weight);
        _mm512_mask_storeu_epi16(to, made, OP(add_epi16)(OP(slli_epi16)(one, 6), apart));
        to = (int16_t *)to + groups->values[i];
      }
      continue;
    }
    for (int64_t k = 0; k < groups->pairs; k++, w += 64) {
      const vec one = _mm512_permutex2var_epi16(a, begin, b);
      begin = OP(add_epi16)(begin, step);
      const vec other = _mm512_permutex2var_epi16(a, begin, b);
      begin = OP(add_epi16)(begin, step);
      ADD_PAIRS(low, OP(unpacklo_epi16)(one, other), LOADV(w));
      ADD_PAIRS(high, OP(unpackhi_epi16)(one, other), LOADV(w + 32));
    }
    const vec result = OP(min_epi16)(OP(max_epi16)(packed(low, high, pass), least), most);
    if (pass)
      _mm256_mask_storeu_epi8(to, made, _mm512_cvtepi16_epi8(result)), to = (uint8_t *)to + groups->values[i];
    else
      _mm512_mask_storeu_epi16(to, made, result), to = (int16_t *)to + groups->values[i];
  }
}

static void along_bytes(const fc_resample_table *table, const fc_resample_groups *groups, int64_t channels,
                        const void *row, int64_t values, void *to) {
  along_pass(table, groups, channels, row, values, to, 0);
}

static void along_values(const fc_resample_table *table, const fc_resample_groups *groups, int64_t channels,
                         const void *row, int64_t values, void *to) {
  along_pass(table, groups, channels, row, values, to, 1);
}
#define ALONG                                                                                                \
  { along_bytes, along_values }

/* Values [i, i + made) from 64 of each row; `low` and `high` name left and right ones in sums of pairs of
 * bytes, which lie as unpacking leaves them. */
FC_INLINE void quarter_vector(const uint8_t *a, const uint8_t *b, vec low, vec high, uint64_t there,
                              __mmask32 made, uint8_t *to) {
  const vec ones = OP(set1_epi8)(1);
  const vec x = _mm512_maskz_loadu_epi8(there, a), y = _mm512_maskz_loadu_epi8(there, b);
  const vec s = OP(maddubs_epi16)(OP(unpacklo_epi8)(x, y), ones);
  const vec t = OP(maddubs_epi16)(OP(unpackhi_epi8)(x, y), ones);
  const vec sum = OP(add_epi16)(_mm512_permutex2var_epi16(s, low, t), _mm512_permutex2var_epi16(s, high, t));
  /* (sum + 2) >> 2 */
  const __m256i mean = _mm512_cvtepi16_epi8(OP(avg_epu16)(OP(srli_epi16)(sum, 1), ZERO()));
  if (made == UINT32_MAX)
    _mm256_storeu_si256((__m256i *)(void *)to, mean);
  else
    _mm256_mask_storeu_epi8(to, made, mean);
}

static void quarter_bytes(const void *const *rows, int64_t channels, void *to, int64_t count) {
  const uint8_t *a = rows[0], *b = rows[1];
  const int64_t step = 32 / channels * channels;
  uint16_t places[2][32];
  int64_t i = 0;
  for (int64_t k = 0; k < 32; k++)
    for (int64_t side = 0; side < 2; side++) {
      const int64_t at = (2 * (k / channels) + side) * channels + k % channels; /* of 64 bytes, if k < step */
      places[side][k] = (uint16_t)((at & 8) * 4 + at / 16 * 8 % 32 + at % 8);
    }
  const vec low = LOADV(places[0]), high = LOADV(places[1]);
  /* Whole vectors, of which the next overwrites what is not of whole pixels. */
  for (; i + 32 <= count; i += step)
    quarter_vector(a + 2 * i, b + 2 * i, low, high, UINT64_MAX, UINT32_MAX, (uint8_t *)to + i);
  for (; i < count; i += step) {
    const int64_t left = fc_smaller(step, count - i);
    const uint64_t there = left == 32 ? UINT64_MAX : (UINT64_C(1) << 2 * left) - 1;
    quarter_vector(a + 2 * i, b + 2 * i, low, high, there, (__mmask32)((UINT64_C(1) << left) - 1),
                   (uint8_t *)to + i);
  }
}
#define QUARTER quarter_bytes
#else
#define QUARTER NULL
#define ALONG                                                                                                \
  { NULL, NULL }
#endif

static void filter_values(const fc_resample_axis *axis, int64_t o, int64_t first, int64_t taps,
                          double *values) {
  fc_resample_values(axis, o, first, taps, values);
}

const fc_resample_steps FC_ISA_NAME(fc_resample_bytes) = {
    LANES,
    sizeof(int16_t),
    {down_bytes, down_values},
    {turn_bytes, turn_values},
    {across_bytes, across_values},
    {back_values, back_bytes},
    ALONG,
    QUARTER,
    filter_values,
    NULL,
    NULL,
    MIX,
};
