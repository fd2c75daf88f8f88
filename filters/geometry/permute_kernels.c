/* SPDX-License-Identifier: MIT */
/*
 * permute_kernels.c - pixels of three elements to and from rows, plain loops that the compiler vectorises but
 * for bytes; and rows of such pixels made columns, by blocks of four rows in registers.
 */
#include "filters/geometry/permute_kernels.h"

#include "filters/base/threes.h"

#define DEFINE_LOOPS(T)                                                                                      \
  static void split_##T(char *rows, int64_t step, const char *pixels, int64_t count) {                       \
    const T *restrict from = (const T *)(const void *)pixels;                                                \
    T *restrict a = (T *)(void *)rows, *restrict b = (T *)(void *)(rows + step),                             \
                *restrict c = (T *)(void *)(rows + 2 * step);                                                \
    for (int64_t i = 0; i < count; i++) a[i] = from[3 * i], b[i] = from[3 * i + 1], c[i] = from[3 * i + 2];  \
  }                                                                                                          \
  static void join_##T(char *pixels, const char *rows, int64_t step, int64_t count) {                        \
    T *restrict to = (T *)(void *)pixels;                                                                    \
    const T *restrict a = (const T *)(const void *)rows,                                                     \
                      *restrict b = (const T *)(const void *)(rows + step),                                  \
                      *restrict c = (const T *)(const void *)(rows + 2 * step);                              \
    for (int64_t i = 0; i < count; i++) to[3 * i] = a[i], to[3 * i + 1] = b[i], to[3 * i + 2] = c[i];        \
  }

DEFINE_LOOPS(uint16_t)
DEFINE_LOOPS(uint32_t)

static void split_bytes(char *rows, int64_t step, const char *pixels, int64_t count) {
  fc_split_threes((uint8_t *)rows, step, (const uint8_t *)pixels, count);
}
static void join_bytes(char *pixels, const char *rows, int64_t step, int64_t count) {
  fc_join_threes((uint8_t *)pixels, (const uint8_t *)rows, step, count);
}

/* ---- rows from columns ------------------------------------------------------------- */

/* A row from a column. */
static void turn_row(char *to, const char *from, int64_t step, int64_t count) {
  for (int64_t i = 0; i < count; i++) memcpy(to + 3 * i, from + i * step, 3);
}

#if defined(__AVX2__)
#define LANES (FC_VECTOR_BYTES / 16)
#define WIDTH (4 * LANES) /* columns of a block */
#if LANES == 4
typedef __m512i pixels;
#define OP(name)       _mm512_##name
#define EVERY_LANE(v)  _mm512_broadcast_i32x4(v)
#define WORDS(a, b, l) _mm512_unpack##l##_epi32(a, b)
#define PAIRS(a, b, l) _mm512_unpack##l##_epi64(a, b)
#else
typedef __m256i pixels;
#define OP(name)       _mm256_##name
#define EVERY_LANE(v)  _mm256_broadcastsi128_si256(v)
#define WORDS(a, b, l) _mm256_unpack##l##_epi32(a, b)
#define PAIRS(a, b, l) _mm256_unpack##l##_epi64(a, b)
#endif

/* Four pixels and four bytes more of every fourth column, in lanes. */
FC_INLINE pixels load_lanes(const char *from, int64_t step) {
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const void *)from)),
                                              _mm_loadu_si128((const void *)(from + 4 * step)), 1);
#if LANES == 4
  from += 8 * step;
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const void *)from)),
                                               _mm_loadu_si128((const void *)(from + 4 * step)), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
#else
  return low;
#endif
}

/* The first 12 bytes of each lane. */
FC_INLINE void store_lanes(char *to, pixels v) {
#if LANES == 4
  const __m512i order = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 0, 0, 0);
  _mm512_mask_storeu_epi32(to, 0xfff, _mm512_permutexvar_epi32(order, v));
#else
  const __m256i dense = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 0, 0));
  _mm_storeu_si128((__m128i *)(void *)to, _mm256_castsi256_si128(dense));
  _mm_storel_epi64((__m128i *)(void *)(to + 16), _mm256_extracti128_si256(dense, 1));
#endif
}

/* Four rows of WIDTH pixels. `spread`: where the bytes of a pixel lie in a column, for each row of the block;
 * behind each a byte that is left out again. */
FC_INLINE void turn_block(char *to, int64_t to_row, const char *from, int64_t from_row, pixels spread) {
  const pixels dense = EVERY_LANE(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
  pixels v[4];
  FC_UNROLL
  for (int i = 0; i < 4; i++) v[i] = OP(shuffle_epi8)(load_lanes(from + i * from_row, from_row), spread);
  const pixels a = WORDS(v[0], v[1], lo), b = WORDS(v[0], v[1], hi), c = WORDS(v[2], v[3], lo),
               d = WORDS(v[2], v[3], hi);
  store_lanes(to, OP(shuffle_epi8)(PAIRS(a, c, lo), dense));
  store_lanes(to + to_row, OP(shuffle_epi8)(PAIRS(a, c, hi), dense));
  store_lanes(to + 2 * to_row, OP(shuffle_epi8)(PAIRS(b, d, lo), dense));
  store_lanes(to + 3 * to_row, OP(shuffle_epi8)(PAIRS(b, d, hi), dense));
}

/* What is loaded ends four bytes behind four pixels: the rows of the two pixels at the end of a column are
 * made one by one. */
static void turn_threes(char *to, int64_t to_row, const char *from, int64_t from_pixel, int64_t from_row,
                        int64_t rows, int64_t columns) {
  const int back = from_pixel < 0;
  const int64_t first = back ? 2 : 0, last = back ? rows : rows - 2, whole = columns / WIDTH * WIDTH;
  const pixels spread =
      EVERY_LANE(back ? _mm_setr_epi8(9, 10, 11, -1, 6, 7, 8, -1, 3, 4, 5, -1, 0, 1, 2, -1)
                      : _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1));
  const int64_t blocks = last > first ? (last - first) / 4 : 0, end = first + 4 * blocks;
  for (int64_t k = first; k < end; k += 4)
    for (int64_t j = 0; j < whole; j += WIDTH) {
      const int64_t next = j + columns;
      for (int64_t i = 0; i < WIDTH && (k - first) % 16 == 0; i++) /* 16 pixels are most of a line */
        __builtin_prefetch(from + (back ? k + 15 : k) * from_pixel + (next + i) * from_row);
      for (int64_t i = 0; i < 4; i++) __builtin_prefetch(to + (k + i) * to_row + 3 * next, 1);
      turn_block(to + k * to_row + 3 * j, to_row, from + (back ? k + 3 : k) * from_pixel + j * from_row,
                 from_row, spread);
    }
  for (int64_t k = 0; k < rows; k++) {
    const int64_t done = k >= first && k < end ? whole : 0;
    turn_row(to + k * to_row + 3 * done, from + k * from_pixel + done * from_row, from_row, columns - done);
  }
}
#else
static void turn_threes(char *to, int64_t to_row, const char *from, int64_t from_pixel, int64_t from_row,
                        int64_t rows, int64_t columns) {
  for (int64_t k = 0; k < rows; k++) turn_row(to + k * to_row, from + k * from_pixel, from_row, columns);
}
#endif

const fc_permute_kernels FC_ISA_NAME(fc_permute_kernels) = {
    {split_bytes, split_uint16_t, split_uint32_t}, {join_bytes, join_uint16_t, join_uint32_t}, turn_threes};
