/* SPDX-License-Identifier: MIT */
/*
 * blocks.h - a pair of views as lines along one axis, each of them blocks: `cols` elements
 * of the input become `rows` of the output. Internal to filters/.
 */
#ifndef FC_FILTERS_BLOCKS_H
#define FC_FILTERS_BLOCKS_H

#include "core/contract/view.h"

typedef struct fc_blocks {
  int others[3];                                  /* the other three axes, the last fastest */
  int64_t lines, each;                            /* number of lines, and of blocks per line */
  int64_t in_step, out_step, in_block, out_block; /* bytes to the next element, to the next block */
} fc_blocks;

static inline fc_blocks fc_blocks_of(int axis, int64_t rows, int64_t cols, const fc_view *in,
                                     const fc_view *out) {
  fc_blocks b;
  b.lines = 1;
  b.each = out->shape[axis] / rows;
  b.in_step = in->stride[axis];
  b.out_step = out->stride[axis];
  b.in_block = in->stride[axis] * cols;
  b.out_block = out->stride[axis] * rows;
  for (int a = 0, i = 0; a < FC_AXES; a++)
    if (a != axis) b.others[i++] = a, b.lines *= out->shape[a];
  return b;
}

/* Address of element 0 of a line of `v`; lines are numbered in the order of `shape`. */
static inline char *fc_line_at(const fc_blocks *b, const fc_view *v, const fc_view *shape, int64_t line) {
  char *at = (char *)v->data;
  for (int i = 2; i >= 0; i--) {
    int axis = b->others[i];
    at += line % shape->shape[axis] * v->stride[axis];
    line /= shape->shape[axis];
  }
  return at;
}

/* Whether pixels and channels together are one run of equally spaced elements. */
static inline int fc_is_one_run(const fc_view *v) {
  return v->stride[FC_AXIS_X] == v->shape[FC_AXIS_C] * v->stride[FC_AXIS_C];
}

#endif
