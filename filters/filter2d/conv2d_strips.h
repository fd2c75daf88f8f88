/* SPDX-License-Identifier: MIT */
/*
 * conv2d_strips.h - processes an image in strips for the 2-D filters on the CPU. Internal to filters/:
 * sepconv.c and conv2d.c give it a window and a function for blocks.
 *
 * An interleaved row of W pixels of C channels is one row of W*C elements whose taps lie `step` = C apart;
 * any other layout is processed one channel at a time with step 1. A strip is a tile of such columns, so
 * narrow that the rows under the window stay in the L2 cache, walked from top to bottom in blocks of
 * FC_STRIP_ROWS rows of output, which share the reading of their rows of input. Rows that are already dense
 * and of the compute type are read and written in place; others are converted once per strip, into a ring
 * buffer with as many rows as a block needs.
 *
 * Values do not depend on where strips, blocks and the host's pieces begin, as long as `block` computes each
 * output from its window alone.
 */
#ifndef FC_FILTERS_CONV2D_STRIPS_H
#define FC_FILTERS_CONV2D_STRIPS_H

#include "core/contract/view.h"

/* Rows of output in a block: 4 rows by 2 vectors of sums fill AVX2's registers. */
#define FC_STRIP_ROWS 4

/* Whether X and C together are one row of adjacent elements. */
static inline int fc_rows_joined(const fc_view *v) {
  int64_t size = (int64_t)fc_dtype_size(v->dtype), channels = v->shape[FC_AXIS_C];
  return v->stride[FC_AXIS_X] == channels * size && (channels == 1 || v->stride[FC_AXIS_C] == size);
}

typedef struct fc_strip_block {
  /* count + ny - 1 rows of n + (nx - 1) * step elements; then FC_STRIP_ROWS rows that must not be read but
   * may be prefetched: those of the next block, where rows are read in place */
  const void *const *rows;
  void *const *to;        /* count rows of n elements */
  int64_t count, n, step; /* count <= FC_STRIP_ROWS */
  int stream;             /* store `to` past the cache if possible */
  void *work;
  int rows_u8, to_u8; /* these are code values as bytes, not elements of the compute type */
  int kind;           /* of the output, for storing bytes and noting clipping */
  uint32_t *notes;
} fc_strip_block;

typedef struct fc_strips {
  int32_t compute; /* FC_F32 or FC_F64: the type of rows */
  int64_t nx, ny;  /* the window; it begins floor(nx/2) left and floor(ny/2) above */
  const void *op;  /* for the functions */
  void (*block)(const void *op, const fc_strip_block *block);
  /* Bytes of `work`, a multiple of 64 that does not decrease with step; may be NULL. */
  size_t (*work)(const void *op, int64_t step);
  /* `block` accepts dense rows of u8, as input or as output, where a value is its code */
  int rows_u8, to_u8;
} fc_strips;

/* Bytes of scratch, aligned to 64, for outputs of this shape or smaller. */
size_t fc_strips_scratch(const fc_strips *strips, const fc_view *out);

/* Filters `in` into `out`. Both on the host; any strides and dtypes. */
void fc_strips_run(const fc_strips *strips, const fc_view *in, const fc_view *out, void *scratch,
                   uint32_t *notes);

#endif
