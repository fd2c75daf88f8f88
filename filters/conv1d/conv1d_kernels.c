/* SPDX-License-Identifier: MIT */
/*
 * conv1d_kernels.c - register-blocked loops for conv1d, for one instruction set.
 *
 * A block of outputs is summed in local arrays that the compiler keeps in registers while the taps run. On a
 * line a tap costs one broadcast and, for each vector of outputs, one load and one fused multiply-add: the
 * loads are the limit, and most of them straddle cache lines (about 0.6 of peak on Zen 4). Columns load an
 * input vector once for several rows and reach 0.9 of peak.
 *
 * GCC unrolls widths of 16 and less before it vectorises, which gives a twentieth of the speed; therefore
 * FC_CONV1D_LANES = 32.
 */
#include "filters/conv1d/conv1d_kernels.h"

/* Outputs summed at a time: on a line, and rows by width of columns. 8 vectors where
 * there are 16 registers hide the latency of 4 cycles on two units; 12 gained nothing. */
#if defined(__AVX512F__)
#define LINE_F32 128
#define LINE_F64 64
#define ROWS_F32 4
#define COLS_F32 64
#define ROWS_F64 4
#define COLS_F64 32
#elif defined(__AVX2__)
#define LINE_F32 64
#define LINE_F64 32
#define ROWS_F32 3
#define COLS_F32 32
#define ROWS_F64 1
#define COLS_F64 32
#else
#define LINE_F32 32
#define LINE_F64 32
#define ROWS_F32 2
#define COLS_F32 32
#define ROWS_F64 1
#define COLS_F64 32
#endif

/* Sums of W neighbours. */
#define DEFINE_SPAN(F, FMA, W, name)                                                                         \
  static inline void name(F *restrict to, const F *restrict in, const F *restrict mask, int64_t taps,        \
                          int64_t step, int add) {                                                           \
    F s[W];                                                                                                  \
    for (int k = 0; k < W; k++) s[k] = 0;                                                                    \
    for (int64_t j = 0; j < taps; j++, in += step) {                                                         \
      F tap = mask[j];                                                                                       \
      for (int k = 0; k < W; k++) s[k] = FMA(in[k], tap, s[k]);                                              \
    }                                                                                                        \
    if (add)                                                                                                 \
      for (int k = 0; k < W; k++) to[k] += s[k];                                                             \
    else                                                                                                     \
      for (int k = 0; k < W; k++) to[k] = s[k];                                                              \
  }

#define DEFINE_LINE(F, W, wide, narrow, name)                                                                \
  static void name(F *to, const F *in, const F *mask, int64_t width, int64_t taps, int64_t step, int add) {  \
    int64_t i = 0;                                                                                           \
    for (; i + W <= width; i += W) wide(to + i, in + i, mask, taps, step, add);                              \
    for (; i < width; i += FC_CONV1D_LANES) narrow(to + i, in + i, mask, taps, step, add);                   \
  }

DEFINE_SPAN(float, FC_FMAF, LINE_F32, span_wide_f32)
DEFINE_SPAN(double, FC_FMA, LINE_F64, span_wide_f64)
DEFINE_SPAN(float, FC_FMAF, FC_CONV1D_LANES, span_f32)
DEFINE_SPAN(double, FC_FMA, FC_CONV1D_LANES, span_f64)
DEFINE_LINE(float, LINE_F32, span_wide_f32, span_f32, line_f32)
DEFINE_LINE(double, LINE_F64, span_wide_f64, span_f64, line_f64)

/* Sums of W columns of R rows. Input row p contributes to output row r with tap p - r: all R rows while p
 * runs from R - 1 to taps - 1, fewer on the ramps before and after. Every output still takes its taps in
 * ascending order. Needs taps >= R - 1. */
#define DEFINE_PATCH(F, FMA, R, W, name)                                                                     \
  static inline void name(F *restrict to, int64_t to_pitch, const F *restrict in, int64_t in_pitch,          \
                          const F *restrict mask, int64_t taps, int add) {                                   \
    F s[R][W];                                                                                               \
    for (int r = 0; r < R; r++)                                                                              \
      for (int k = 0; k < W; k++) s[r][k] = 0;                                                               \
    for (int p = 0; p < R - 1; p++, in += in_pitch)                                                          \
      for (int r = 0; r <= p; r++)                                                                           \
        for (int k = 0; k < W; k++) s[r][k] = FMA(in[k], mask[p - r], s[r][k]);                              \
    for (int64_t p = R - 1; p < taps; p++, in += in_pitch)                                                   \
      for (int r = 0; r < R; r++)                                                                            \
        for (int k = 0; k < W; k++) s[r][k] = FMA(in[k], mask[p - r], s[r][k]);                              \
    for (int p = 1; p < R; p++, in += in_pitch)                                                              \
      for (int r = p; r < R; r++)                                                                            \
        for (int k = 0; k < W; k++) s[r][k] = FMA(in[k], mask[taps - 1 + p - r], s[r][k]);                   \
    for (int r = 0; r < R; r++, to += to_pitch)                                                              \
      if (add)                                                                                               \
        for (int k = 0; k < W; k++) to[k] += s[r][k];                                                        \
      else                                                                                                   \
        for (int k = 0; k < W; k++) to[k] = s[r][k];                                                         \
  }

/* The remainder - the last rows, the last columns, masks shorter than the ramps - is computed as lines
 * whose taps are a row apart. */
#define DEFINE_COLUMNS(F, R, W, patch, line, name)                                                           \
  static void name(F *to, int64_t to_pitch, const F *in, int64_t in_pitch, const F *mask, int64_t rows,      \
                   int64_t width, int64_t taps, int add) {                                                   \
    int64_t y = 0, covered = width - width % W;                                                              \
    for (; taps >= R - 1 && y + R <= rows; y += R) {                                                         \
      for (int64_t x = 0; x < covered; x += W)                                                               \
        patch(to + y * to_pitch + x, to_pitch, in + y * in_pitch + x, in_pitch, mask, taps, add);            \
      for (int r = 0; r < R && covered < width; r++)                                                         \
        line(to + (y + r) * to_pitch + covered, in + (y + r) * in_pitch + covered, mask, width - covered,    \
             taps, in_pitch, add);                                                                           \
    }                                                                                                        \
    for (; y < rows; y++) line(to + y * to_pitch, in + y * in_pitch, mask, width, taps, in_pitch, add);      \
  }

DEFINE_PATCH(float, FC_FMAF, ROWS_F32, COLS_F32, patch_f32)
DEFINE_PATCH(double, FC_FMA, ROWS_F64, COLS_F64, patch_f64)
DEFINE_COLUMNS(float, ROWS_F32, COLS_F32, patch_f32, line_f32, columns_f32)
DEFINE_COLUMNS(double, ROWS_F64, COLS_F64, patch_f64, line_f64, columns_f64)

const fc_conv1d_kernels FC_ISA_NAME(fc_conv1d_kernels) = {line_f32, line_f64, columns_f32, columns_f64};
