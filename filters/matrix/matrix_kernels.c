/* SPDX-License-Identifier: MIT */
/*
 * matrix_kernels.c - mixing of one to four interleaved channels into as many, for one instruction set. With
 * both numbers constant the compiler converts the loop to shuffles and multiply-adds of whole vectors: 0.3 ns
 * a pixel for 3 into 3 with AVX-512.
 */
#include "filters/matrix/matrix_kernels.h"
#include "filters/base/simd.h"

#define DEFINE_MIX(T, X, FMA, C, R)                                                                          \
  static void mix_##X##_##C##R(T *restrict to, const T *restrict from, const T *matrix, int64_t pitch,       \
                               const T *offset, int64_t count) {                                             \
    T m[C][R], v[R];                                                                                         \
    for (int r = 0; r < R; r++) {                                                                            \
      v[r] = offset[r];                                                                                      \
      for (int c = 0; c < C; c++) m[c][r] = matrix[c * pitch + r];                                           \
    }                                                                                                        \
    for (int64_t i = 0; i < count; i++)                                                                      \
      for (int r = 0; r < R; r++) {                                                                          \
        T sum = v[r];                                                                                        \
        for (int c = 0; c < C; c++) sum = FMA(m[c][r], from[i * C + c], sum);                                \
        to[i * R + r] = sum;                                                                                 \
      }                                                                                                      \
  }
#define DEFINE_ROWS(T, X, FMA, C)                                                                            \
  DEFINE_MIX(T, X, FMA, C, 1)                                                                                \
  DEFINE_MIX(T, X, FMA, C, 2)                                                                                \
  DEFINE_MIX(T, X, FMA, C, 3)                                                                                \
  DEFINE_MIX(T, X, FMA, C, 4)
#define DEFINE_ALL(T, X, FMA)                                                                                \
  DEFINE_ROWS(T, X, FMA, 1)                                                                                  \
  DEFINE_ROWS(T, X, FMA, 2)                                                                                  \
  DEFINE_ROWS(T, X, FMA, 3)                                                                                  \
  DEFINE_ROWS(T, X, FMA, 4)

DEFINE_ALL(float, f32, FC_FMAF)
DEFINE_ALL(double, f64, FC_FMA)

#define ROWS(X, C)                                                                                           \
  { mix_##X##_##C##1, mix_##X##_##C##2, mix_##X##_##C##3, mix_##X##_##C##4 }
#define ALL(X)                                                                                               \
  { ROWS(X, 1), ROWS(X, 2), ROWS(X, 3), ROWS(X, 4) }

const fc_matrix_kernels FC_ISA_NAME(fc_matrix_kernels) = {.mix_f32 = ALL(f32), .mix_f64 = ALL(f64)};
