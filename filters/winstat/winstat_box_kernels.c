/* SPDX-License-Identifier: MIT */
/*
 * winstat_box_kernels.c - the loops of winstat_box.h, for one instruction set and each type of sums:
 * with vectors, and cell by cell for shorter rows.
 */
#include "filters/winstat/winstat_box.h"
#include "filters/base/simd.h"

#define PASTE2(f, suffix) f##_##suffix
#define PASTE(f, suffix)  PASTE2(f, suffix)
#define F(f)              PASTE(f, SUFFIX)

/* The first halves of a and b, interleaved cell by cell; and the second halves. */
#define LOW_2(a, b)  __builtin_shufflevector(a, b, 0, 2)
#define HIGH_2(a, b) __builtin_shufflevector(a, b, 1, 3)
#define LOW_4(a, b)  __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_4(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LOW_8(a, b)  __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_8(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW_16(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_16(a, b)                                                                                        \
  __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

#define LANES  1
#define T      float
#define SUFFIX f32x1
#include "filters/winstat/winstat_box_kernels.inc"
#undef T
#undef SUFFIX

#define T      double
#define SUFFIX f64x1
#include "filters/winstat/winstat_box_kernels.inc"
#undef T
#undef SUFFIX

#define T      uint32_t
#define SUFFIX u32x1
#include "filters/winstat/winstat_box_kernels.inc"
#undef T
#undef SUFFIX

#define T      uint64_t
#define SUFFIX u64x1
#include "filters/winstat/winstat_box_kernels.inc"
#undef T
#undef SUFFIX

#undef LANES

#define LANES FC_LANES_F32
#if FC_VECTOR_BYTES == 64
#define LOW  LOW_16
#define HIGH HIGH_16
#elif FC_VECTOR_BYTES == 32
#define LOW  LOW_8
#define HIGH HIGH_8
#else
#define LOW  LOW_4
#define HIGH HIGH_4
#endif
#define T      float
#define SUFFIX f32
#include "filters/winstat/winstat_box_kernels.inc"
#undef T
#undef SUFFIX

#define T      uint32_t
#define SUFFIX u32
#include "filters/winstat/winstat_box_kernels.inc"
#undef T
#undef SUFFIX

#undef LANES
#undef LOW
#undef HIGH

#define LANES FC_LANES_F64
#if FC_VECTOR_BYTES == 64
#define LOW  LOW_8
#define HIGH HIGH_8
#elif FC_VECTOR_BYTES == 32
#define LOW  LOW_4
#define HIGH HIGH_4
#else
#define LOW  LOW_2
#define HIGH HIGH_2
#endif
#define T      double
#define SUFFIX f64
#include "filters/winstat/winstat_box_kernels.inc"
#undef T
#undef SUFFIX

#define T      uint64_t
#define SUFFIX u64
#include "filters/winstat/winstat_box_kernels.inc"
#undef T
#undef SUFFIX

#undef LANES
#undef LOW
#undef HIGH

/* Rows narrower than a vector are processed cell by cell. */
#define EITHER(suffix)                                                                                       \
  static void slide_any_##suffix(const fc_winstat_block *b) {                                                \
    if (b->cells * (int64_t)sizeof(*(vector_##suffix##x1 *)0) < FC_VECTOR_BYTES)                             \
      slide_##suffix##x1(b);                                                                                 \
    else                                                                                                     \
      slide_##suffix(b);                                                                                     \
  }                                                                                                          \
  static void sum_any_##suffix(char *to, const char *from, int64_t pitch, int64_t count, int64_t cells) {    \
    if (cells * (int64_t)sizeof(*(vector_##suffix##x1 *)0) < FC_VECTOR_BYTES)                                \
      sum_##suffix##x1(to, from, pitch, count, cells);                                                       \
    else                                                                                                     \
      sum_##suffix(to, from, pitch, count, cells);                                                           \
  }
EITHER(f32)
EITHER(f64)
EITHER(u32)
EITHER(u64)

#define KERNELS(suffix, size)                                                                                \
  { size, FC_VECTOR_BYTES / size, slide_any_##suffix, sum_any_##suffix, turn_##suffix, turn_back_##suffix }

const fc_winstat_box_table FC_ISA_NAME(fc_winstat_box_kernels) = {
    [FC_WINSTAT_F32] = KERNELS(f32, 4),
    [FC_WINSTAT_F64] = KERNELS(f64, 8),
    [FC_WINSTAT_I32] = KERNELS(u32, 4),
    [FC_WINSTAT_I64] = KERNELS(u64, 8),
};
