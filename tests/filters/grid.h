/* SPDX-License-Identifier: MIT */
/*
 * grid.h - views for the tests of transforms: any element type, kind, shape and order
 * of axes in memory, between guard bands.
 */
#ifndef FC_TESTS_GRID_H
#define FC_TESTS_GRID_H

#include "tests/filters/check.h"

typedef struct grid {
  guarded memory;
  fc_view view;
} grid;

/* The order of axes in memory, slowest first. */
static const int grid_orders[][FC_AXES] = {
    {FC_AXIS_N, FC_AXIS_Y, FC_AXIS_X, FC_AXIS_C}, /* interleaved */
    {FC_AXIS_N, FC_AXIS_C, FC_AXIS_Y, FC_AXIS_X}, /* planar */
    {FC_AXIS_N, FC_AXIS_Y, FC_AXIS_C, FC_AXIS_X},
    {FC_AXIS_C, FC_AXIS_X, FC_AXIS_Y, FC_AXIS_N},
};
#define GRID_ORDERS 4

/* `gap` elements lie unused between neighbours of the fastest axis, and at the end of
 * each row. Holds nothing yet. */
static inline grid grid_new(int dtype, int kind, const int64_t shape[FC_AXES], int order, int gap) {
  int64_t size = (int64_t)fc_dtype_size(dtype), step = (1 + gap) * size;
  grid g = {.view = {sizeof g.view, dtype, kind, FC_HOST}};
  for (int i = FC_AXES - 1; i >= 0; i--) {
    int axis = grid_orders[order][i];
    g.view.shape[axis] = g.view.extent[axis] = shape[axis];
    g.view.stride[axis] = step;
    step = step * (shape[axis] > 0 ? shape[axis] : 1) + gap * size;
  }
  g.memory = guarded_new((size_t)step);
  g.view.data = g.memory.data;
  return g;
}

static inline void grid_free(grid *g) {
  guarded_free(&g->memory);
}

/* Calls `visit` with every element's address. */
#define GRID_EACH(g, n, y, x, c)                                                                             \
  for (int64_t n = 0; n < (g)->view.shape[0]; n++)                                                           \
    for (int64_t y = 0; y < (g)->view.shape[1]; y++)                                                         \
      for (int64_t x = 0; x < (g)->view.shape[2]; x++)                                                       \
        for (int64_t c = 0; c < (g)->view.shape[3]; c++)

static inline void grid_randomise(grid *g) {
  GRID_EACH(g, n, y, x, c)
  element_set(fc_view_at(&g->view, n, y, x, c), g->view.dtype, element_random(g->view.dtype));
}

/* The real value of an element. */
static inline double grid_value(const grid *g, int64_t n, int64_t y, int64_t x, int64_t c) {
  fc_scaling map = fc_scaling_of(g->view.kind, g->view.dtype);
  return (element_get(fc_view_at(&g->view, n, y, x, c), g->view.dtype) - map.bias) * map.scale;
}

/* Whether an element holds what storing `value`, known to within `slack`, leaves. */
static inline int grid_holds(const grid *g, int64_t n, int64_t y, int64_t x, int64_t c, double value,
                             double slack) {
  static const double low[] = {0, -32768, 0, INT32_MIN}, high[] = {255, 32767, 65535, INT32_MAX};
  double code = element_get(fc_view_at(&g->view, n, y, x, c), g->view.dtype);
  int dtype = g->view.dtype;
  if (dtype == FC_F32) slack += fabs(value) * 0x1p-24;
  if (dtype >= FC_F32) return fabs(code - value) <= slack;
  fc_scaling map = fc_scaling_of(g->view.kind, dtype);
  double want = value / map.scale + map.bias;
  want = want < low[dtype] ? low[dtype] : want > high[dtype] ? high[dtype] : want;
  return fabs(code - want) <= 0.5 + slack / map.scale;
}

/* Guard bands, and the gaps between elements, are as they were. */
static inline int grid_intact(const grid *g) {
  if (!guarded_intact(&g->memory)) return 0;
  guarded copy = guarded_new(g->memory.bytes);
  memcpy(copy.data, g->memory.data, copy.bytes);
  grid scrubbed = {copy, g->view};
  scrubbed.view.data = (char *)copy.data + ((char *)g->view.data - (char *)g->memory.data);
  GRID_EACH(&scrubbed, n, y, x, c)
  memset(fc_view_at(&scrubbed.view, n, y, x, c), GUARD_PATTERN, fc_dtype_size(g->view.dtype));
  int intact = 1;
  for (size_t i = 0; i < copy.bytes; i++) intact &= ((unsigned char *)copy.data)[i] == GUARD_PATTERN;
  guarded_free(&copy);
  return intact;
}

static inline int grid_equal(const grid *a, const grid *b) {
  return a->memory.bytes == b->memory.bytes && !memcmp(a->memory.data, b->memory.data, a->memory.bytes);
}

/* `count` elements of one axis, from `first` on. */
static inline fc_view grid_part(const fc_view *v, int axis, int64_t first, int64_t count) {
  fc_view part = *v;
  part.data = (char *)v->data + first * v->stride[axis];
  part.shape[axis] = count;
  part.origin[axis] += first;
  return part;
}

#endif
