/* SPDX-License-Identifier: MIT */
/*
 * linear_sum.h - one output of a linear stage, by its definition (fc_linear_map of plugin.h), in double
 * precision, with the border by index. Compiled for the CPU (linear.c) and for GPUs (cuda_kernels.cu).
 * Used near the ends of a signal only: it costs some nanoseconds a product.
 */
#ifndef FC_CORE_LINEAR_SUM_H
#define FC_CORE_LINEAR_SUM_H

#include "core/contract/plugin.h"

#if defined(__CUDACC__)
#define FC_SUM_INLINE static __host__ __device__ __forceinline__
#else
#define FC_SUM_INLINE static inline
#endif

/* Doubles at these positions of a signal, rows of pixels of channels, without gaps. */
typedef struct fc_linear_box {
  int64_t lo[FC_AXES], shape[FC_AXES];
} fc_linear_box;

typedef struct fc_linear_sum {
  int32_t form, border;
  double value; /* beyond the ends, for FC_BORDER_CONSTANT */
  int64_t columns, masks, nx, ny, before_x, before_y;
  int64_t extent_y, extent_x;      /* of the input */
  const double *numbers, *offsets; /* offsets: NULL where the form has none */
  const double *from;              /* of an input that is inside the signal all that is read */
  double *to;
  fc_linear_box in, out;
} fc_linear_sum;

/* As fc_border_map, which see; of an empty signal -1. */
FC_SUM_INLINE int64_t fc_sum_inside(int border, int64_t p, int64_t extent) {
  if (p >= 0 && p < extent) return p;
  if (extent <= 0) return -1;
  if (border == FC_BORDER_REPLICATE) return p < 0 ? 0 : extent - 1;
  if (border == FC_BORDER_WRAP) return (p % extent + extent) % extent;
  if (border != FC_BORDER_REFLECT && border != FC_BORDER_REFLECT101) return -1;
  const int64_t once = border == FC_BORDER_REFLECT101, period = 2 * (extent - once);
  if (period == 0) return 0;
  const int64_t q = (p % period + period) % period;
  return q < extent ? q : period - 1 + once - q;
}

FC_SUM_INLINE int64_t fc_box_index(const fc_linear_box *b, int64_t n, int64_t y, int64_t x, int64_t c) {
  return (((n - b->lo[FC_AXIS_N]) * b->shape[FC_AXIS_Y] + y - b->lo[FC_AXIS_Y]) * b->shape[FC_AXIS_X] + x -
          b->lo[FC_AXIS_X]) *
             b->shape[FC_AXIS_C] +
         c - b->lo[FC_AXIS_C];
}

/* Where an output lies. */
typedef struct fc_linear_place {
  int64_t n, y, x, c;
} fc_linear_place;

/* Output number i of the box, of fewer than 2^32: 64-bit divisions are slow on a GPU. */
FC_SUM_INLINE fc_linear_place fc_linear_place_of(const fc_linear_sum *s, uint32_t i) {
  const fc_linear_box *b = &s->out;
  const uint32_t channels = (uint32_t)b->shape[FC_AXIS_C], columns = (uint32_t)b->shape[FC_AXIS_X],
                 rows = (uint32_t)b->shape[FC_AXIS_Y];
  const uint32_t pixel = i / channels, row = pixel / columns;
  fc_linear_place p;
  p.c = i % channels + b->lo[FC_AXIS_C], p.x = pixel % columns + b->lo[FC_AXIS_X];
  p.y = row % rows + b->lo[FC_AXIS_Y], p.n = row / rows + b->lo[FC_AXIS_N];
  return p;
}

/* Rows and columns of the products that an output is the sum of. */
FC_SUM_INLINE int64_t fc_linear_rows(const fc_linear_sum *s) {
  return s->form == FC_LINEAR_PIXELS ? 1 : s->ny;
}
FC_SUM_INLINE int64_t fc_linear_columns(const fc_linear_sum *s) {
  return s->form == FC_LINEAR_PIXELS ? s->columns : s->nx;
}

/* Product (l, k) of an output. */
FC_SUM_INLINE double fc_linear_product(const fc_linear_sum *s, fc_linear_place p, int64_t l, int64_t k) {
  if (s->form == FC_LINEAR_PIXELS)
    return s->numbers[p.c * s->columns + k] * s->from[fc_box_index(&s->in, p.n, p.y, p.x, k)];
  const int dense = s->form == FC_LINEAR_DENSE;
  const double *mask = s->numbers + (s->masks > 1 ? p.c : 0) * (dense ? s->nx * s->ny : s->nx + s->ny);
  const double factor = dense ? mask[l * s->nx + k] : mask[s->nx + l] * mask[k];
  const int64_t y = fc_sum_inside(s->border, p.y - s->before_y + l, s->extent_y),
                x = fc_sum_inside(s->border, p.x - s->before_x + k, s->extent_x);
  if (y < 0 || x < 0) return s->border == FC_BORDER_CONSTANT ? factor * s->value : 0;
  return factor * s->from[fc_box_index(&s->in, p.n, y, x, p.c)];
}

/* What is added to the sum. */
FC_SUM_INLINE double fc_linear_offset(const fc_linear_sum *s, fc_linear_place p) {
  return s->offsets ? s->offsets[p.c] : 0;
}

#endif
