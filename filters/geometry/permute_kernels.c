/* SPDX-License-Identifier: MIT */
/* permute_kernels.c - plain loops that the compiler vectorises. */
#include "filters/geometry/permute_kernels.h"

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

DEFINE_LOOPS(uint8_t)
DEFINE_LOOPS(uint16_t)
DEFINE_LOOPS(uint32_t)

const fc_permute_kernels FC_ISA_NAME(fc_permute_kernels) = {{split_uint8_t, split_uint16_t, split_uint32_t},
                                                            {join_uint8_t, join_uint16_t, join_uint32_t}};
