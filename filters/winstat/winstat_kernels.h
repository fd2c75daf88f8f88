/* SPDX-License-Identifier: MIT */
/*
 * winstat_kernels.h - the inner loops of winstat: making pieces of a window, and joining two of them.
 *
 * A *piece* holds the partial statistics of some samples of a window. It has one to four planes; a row of
 * pieces is `planes` arrays of cells that lie `pitch` bytes apart.
 *
 *   add    one plane a sum: floats, or integers modulo 2^32 or 2^64 (which are exact as
 *          long as the window's total fits);
 *   min, max   one plane; NaN wins;
 *   var    p, d, m: samples of mean p + d and squared deviations m from it, where p is
 *          one of them. As d is relative to p, a large common offset costs nothing;
 *   var_n  the same with their number in a fourth plane, where it differs from cell to
 *          cell because the signal ends; 0 is an empty piece.
 */
#ifndef FC_FILTERS_WINSTAT_KERNELS_H
#define FC_FILTERS_WINSTAT_KERNELS_H

#include "filters/base/isa.h"

typedef enum fc_winstat_op {
  FC_WINSTAT_ADD = 0,
  FC_WINSTAT_LEAST = 1,
  FC_WINSTAT_MOST = 2,
  FC_WINSTAT_VARY = 3,
  FC_WINSTAT_VARY_N = 4,
  FC_WINSTAT_OPS = 5
} fc_winstat_op;

typedef enum fc_winstat_type {
  FC_WINSTAT_F32 = 0,
  FC_WINSTAT_F64 = 1,
  FC_WINSTAT_I32 = 2, /* added modulo 2^32, compared as signed */
  FC_WINSTAT_I64 = 3,
  FC_WINSTAT_TYPES = 4
} fc_winstat_type;

/* A row of pieces. */
typedef struct fc_winstat_row {
  char *cells;
  int64_t pitch; /* bytes between planes */
} fc_winstat_row;

/* Where a sum of squares of 32-bit codes is taken apart to fit: halves of the square. */
typedef enum fc_winstat_part { FC_WINSTAT_WHOLE, FC_WINSTAT_LOW, FC_WINSTAT_HIGH } fc_winstat_part;

typedef struct fc_winstat_kernels {
  /* to = a joined with b, cell by cell: a is before b in the signal and has `na` samples per cell, b `nb`.
   * `to` may be `a`, and overlaps nothing else. NULL for combinations that winstat does not use. */
  void (*join[FC_WINSTAT_OPS][FC_WINSTAT_TYPES])(fc_winstat_row to, fc_winstat_row a, fc_winstat_row b,
                                                 int64_t count, double na, double nb);

  /* One plane from a row of values (floats) or codes (int32). */
  void (*square_f32)(float *to, const float *from, int64_t count);
  void (*square_f64)(double *to, const double *from, int64_t count);
  void (*square_i32)(uint32_t *to, const int32_t *from, int64_t count);
  void (*square_i64)(uint64_t *to, const int32_t *from, int64_t count, fc_winstat_part part);
  void (*widen_i64)(int64_t *to, const int32_t *from, int64_t count);

  /* Totals of integers as doubles, times a power of two. */
  void (*double_i32)(double *to, const int32_t *from, int64_t count, double scale);
  void (*double_u32)(double *to, const uint32_t *from, int64_t count, double scale);
  void (*double_i64)(double *to, const int64_t *from, int64_t count, double scale);
  void (*double_u64)(double *to, const uint64_t *from, int64_t count, double scale);

  /* Squared deviations (n * squares - sum^2) / n; exact before the division as long as
   * n * squares is below 2^53. */
  void (*spread_f64)(double *to, const double *sum, const double *squares, const double *n, int64_t count);

  /* to = from / n, and its square root; n differs from cell to cell. */
  void (*ratio_f32)(float *to, const float *from, const float *n, int64_t count);
  void (*ratio_f64)(double *to, const double *from, const double *n, int64_t count);
  /* Stores past the cache, for results too large for it; the caller executes FC_STREAM_END. `to` is
   * aligned to its type. */
  void (*ratio_past_f32)(float *to, const float *from, const float *n, int64_t count);
  void (*ratio_past_f64)(double *to, const double *from, const double *n, int64_t count);
  void (*root_f32)(float *to, const float *from, const float *n, int64_t count);
  void (*root_f64)(double *to, const double *from, const double *n, int64_t count);
} fc_winstat_kernels;

FC_ISA_DECLARE(fc_winstat_kernels, fc_winstat_kernels);

#endif
