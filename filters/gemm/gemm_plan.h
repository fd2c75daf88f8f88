/* SPDX-License-Identifier: MIT */
/*
 * gemm_plan.h - what is decided of a product on a GPU before anything is launched, as plain functions of
 * sizes, strides and addresses, which need no GPU: the kernel and its tile, and where copies lie in scratch
 * memory. Internal to filters/.
 */
#ifndef FC_FILTERS_GEMM_PLAN_H
#define FC_FILTERS_GEMM_PLAN_H

#include "filters/gemm/gemm.h"

FC_BEGIN_DECLS

/* ---- operands ------------------------------------------------------------------ */

/* The rows of A, or the columns of B; distances in elements. */
typedef struct fc_gemm_side {
  const void *data;
  int64_t across, along; /* to the next row (column), to the next k */
  int64_t limit;         /* number of rows (columns) */
} fc_gemm_side;

/* A single row that is adjacent along k gets a distance to the next that the copy engine accepts. */
FC_FILTERS_API void fc_gemm_sides(const fc_gemm *g, fc_gemm_side *a, fc_gemm_side *b);
/* Whether the copy engine of sm_90 (TMA) can read it: lines of adjacent elements, aligned to 16 bytes and
 * less than 2^40 bytes apart. */
FC_FILTERS_API int fc_gemm_is_readable(const fc_gemm_side *s, int type);

/* The same product with D set, and with neighbours in a row of C as near as possible: a column-major C is
 * computed as the transpose, B'A', which has the same sums. Neighbouring threads write neighbouring columns.
 */
FC_FILTERS_API fc_gemm fc_gemm_by_rows(const fc_gemm *g);

/* ---- which kernel ----------------------------------------------------------------- */

typedef struct fc_gemm_chip {
  int major;      /* of the compute capability */
  int processors; /* multiprocessors */
} fc_gemm_chip;

typedef enum fc_gemm_launch {
  FC_GEMM_THIN,  /* one side and k at most 16 (f64: 8) */
  FC_GEMM_SHORT, /* k at most 16 (f64: 8) */
  FC_GEMM_TMA,   /* sm_90, operands that its copy engine can read */
  FC_GEMM_MMA,   /* sums of doubles on the tensor cores of sm_80 and later */
  FC_GEMM_TILE,  /* anything */
  FC_GEMM_LAUNCHES
} fc_gemm_launch;

/* A tile of sums of FC_GEMM_TMA, with the time that it takes for 2048 steps of k on an H200, in us: on a
 * multiprocessor that makes a single one, and one after the other. */
typedef struct fc_gemm_tile {
  int rows, columns;
  double alone, each;
} fc_gemm_tile;

typedef struct fc_gemm_choice {
  fc_gemm_launch launch;
  int tile;       /* of FC_GEMM_TMA: index in the type's table (gemm_tiles.h) */
  int transposed; /* FC_GEMM_TMA computes the transpose: tiles are wider than high */
  double us;      /* predicted for an H200 */
} fc_gemm_choice;

/* The longest sum, and side of a matrix, of which the two memory-bound kernels keep a vector in registers. */
static inline int fc_gemm_few(int type) {
  return type == FC_F64 ? 8 : 16;
}
/* Whether sums over this many products of floats are computed in doubles: sm_90 multiplies these on its
 * tensor cores as fast as other units multiply floats, and works well with small tiles (WHY.md). Products of
 * two floats are exact there. Up to 16, memory is the limit. */
static inline int fc_gemm_widens(const fc_gemm_chip *chip, int64_t k) {
  return k > 16 && chip->major == 9;
}

/* The first of the kernels from `first` on that takes this product, which is one of fc_gemm_by_rows with m, n
 * > 0. A kernel may still turn out not to be in the build: then the caller asks again, from the next on. */
FC_FILTERS_API fc_gemm_choice fc_gemm_choose(const fc_gemm *by_rows, const fc_gemm_chip *chip,
                                             fc_gemm_launch first);

/* ---- copies of operands in scratch memory -------------------------------------------- */

/* `count` lines of `length` elements. In the source, elements are `step` and lines `pitch` apart; in the
 * copy, `at` bytes from the beginning of the scratch memory, elements are adjacent and lines pitch_to apart.
 */
typedef struct fc_gemm_lines {
  const void *from;
  int64_t count, length, pitch, step, pitch_to;
  int by_k; /* lines run along k */
  size_t at, bytes;
} fc_gemm_lines;

/* The copies of fc_gemm_padded_cuda; no bytes where a matrix can be read as it is. */
typedef struct fc_gemm_padding {
  fc_gemm_lines a, b;
} fc_gemm_padding;
FC_FILTERS_API fc_gemm_padding fc_gemm_padding_of(const fc_gemm *g);

/* The matrices of fc_gemm_split_cuda for a product of fc_gemm_by_rows: A, if it is copied, then the big and
 * the small parts of B; rows (columns) of `pitch` elements. */
typedef struct fc_gemm_parts {
  fc_gemm_side a, b;
  int64_t pitch;
  int packs_a;
  size_t big, small, bytes; /* offsets in scratch memory; all of it */
} fc_gemm_parts;
#define FC_GEMM_PARTS_SLICE 32 /* steps of k that are padded to */
FC_FILTERS_API fc_gemm_parts fc_gemm_parts_of(const fc_gemm *by_rows);

/* Bytes that hold the copies of fc_gemm_padded_cuda and, with `split`, of fc_gemm_split_cuda, for a product
 * of m rows and up to n columns with any strides and addresses. Grows with each size. */
FC_FILTERS_API size_t fc_gemm_work_most(int type, int64_t m, int64_t n, int64_t k, int split);

FC_END_DECLS

#endif
