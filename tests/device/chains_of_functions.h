/* SPDX-License-Identifier: MIT */
/*
 * chains_of_functions.h - chains of device functions for the tests of composed kernels, with and without a
 * GPU: stages of filters/pointwise/functions.h, and views of every layout.
 */
#ifndef FC_TESTS_CHAINS_OF_FUNCTIONS_H
#define FC_TESTS_CHAINS_OF_FUNCTIONS_H

#include "core/device/compose.h"
#include "filters/pointwise/functions.h"

typedef enum stage_kind { COPY, GAIN, RANGE, CLIP, GAINS, MATRIX, MIX } stage_kind;

typedef struct stage {
  stage_kind kind;
  int dtype;       /* of what comes out of it */
  gint64 in, out;  /* channels */
  fc_pointwise op; /* of those that are samplewise */
  double matrix[16], offset[4];
  fc_function text;
  fc_device_function function;
} stage;

/* Makes the text and bytes of a stage whose other fields are set. */
static inline void stage_prepare(stage *s, int compute) {
  s->op.compute = compute;
  s->op.form = s->kind == COPY    ? FC_POINTWISE_COPY
               : s->kind == GAIN  ? FC_POINTWISE_SCALE
               : s->kind == RANGE ? FC_POINTWISE_MAP
                                  : FC_POINTWISE_CLAMP;
  if (s->kind == MATRIX)
    g_assert_cmpint(fc_function_matrix(compute, s->matrix, s->offset, s->out, s->in, &s->text), ==, FC_OK);
  else if (s->kind == MIX)
    g_assert_cmpint(fc_function_mix((const int32_t[]){2, 1, 0, 1}, s->out, s->in, &s->text), ==, FC_OK);
  else if (s->kind == GAINS)
    g_assert_cmpint(fc_function_gains(compute, s->matrix, s->in, &s->text), ==, FC_OK);
  else
    fc_function_pointwise(&s->op, &s->text);
  s->function = (fc_device_function){.size = sizeof s->function,
                                     .source = s->text.source,
                                     .entry = s->text.entry,
                                     .in = s->text.in,
                                     .out = s->text.out,
                                     .bytes = &s->text.numbers,
                                     .n_bytes = s->text.n_bytes,
                                     .align = s->text.align,
                                     .low = 1,
                                     .high = 0};
}

static inline void stages_describe(const stage *stages, guint n, int kind, fc_compose_stage *to) {
  static const char *const names[] = {"convert", "gain", "stretch", "clip", "gain", "matrix", "mix"};
  for (guint i = 0; i < n; i++)
    to[i] = (fc_compose_stage){names[stages[i].kind], &stages[i].function, stages[i].dtype, kind};
}

typedef enum view_layout { DENSE, PLANES, ASKEW, GAPS, VIEW_LAYOUTS } view_layout;

/* A view of these shapes and layout that begins in `memory`: dense and aligned; planes whose rows are
 * aligned; begun an element late; with a gap behind each row. Returns bytes from `memory` to its end. */
static inline gsize view_make(fc_view *v, int kind, int dtype, const gint64 shape[4], view_layout layout,
                              int32_t device, void *memory) {
  const gint64 size = (gint64)fc_dtype_size(dtype);
  *v = (fc_view){.size = sizeof *v, .dtype = dtype, .kind = kind, .device = device};
  for (int a = 0; a < FC_AXES; a++) v->shape[a] = v->extent[a] = shape[a];
  if (layout == PLANES) {
    v->stride[FC_AXIS_X] = size, v->stride[FC_AXIS_Y] = (shape[FC_AXIS_X] * size + 63) / 64 * 64;
    v->stride[FC_AXIS_C] = shape[FC_AXIS_Y] * v->stride[FC_AXIS_Y];
    v->stride[FC_AXIS_N] = shape[FC_AXIS_C] * v->stride[FC_AXIS_C];
  } else {
    v->stride[FC_AXIS_C] = size, v->stride[FC_AXIS_X] = shape[FC_AXIS_C] * size;
    v->stride[FC_AXIS_Y] = shape[FC_AXIS_X] * v->stride[FC_AXIS_X] + (layout == GAPS ? 5 * size : 0);
    v->stride[FC_AXIS_N] = shape[FC_AXIS_Y] * v->stride[FC_AXIS_Y];
  }
  v->data = (char *)memory + (layout == ASKEW ? size : 0);
  return (gsize)(shape[FC_AXIS_N] * v->stride[FC_AXIS_N] + 2 * size);
}

#endif
