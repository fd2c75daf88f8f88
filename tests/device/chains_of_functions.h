/* SPDX-License-Identifier: MIT */
/*
 * chains_of_functions.h - chains of device functions for the tests of composed kernels, with and without a
 * GPU: stages of filters/pointwise/functions.h, and views of every layout.
 */
#ifndef FC_TESTS_CHAINS_OF_FUNCTIONS_H
#define FC_TESTS_CHAINS_OF_FUNCTIONS_H

#include <math.h>
#include <string.h>

#include "core/compose/compose.h"
#include "filters/color/color.h"
#include "filters/pointwise/functions.h"

/* From GAINS on they take pixels. */
typedef enum stage_kind {
  COPY,
  GAIN,
  RANGE,
  CLIP,
  AFFINE,
  CURVE,
  THRESHOLD,
  GAINS,
  AFFINES,
  MATRIX,
  COLOR,
  MIX,
  PLACED,
  PLACED_PIXELS,
  AROUND_SUM, /* of 3 x 3 samples, by a function of neighbours */
  DENSE_SUM   /* the same bits, by fc_dense */
} stage_kind;

typedef struct stage {
  stage_kind kind;
  int dtype;       /* of what comes out of it */
  gint64 in, out;  /* channels */
  int order;       /* of MIX: of stage_mixes */
  fc_pointwise op; /* of those that are samplewise */
  double matrix[16], offset[4];
  fc_color_conversion color;
  fc_device_function function; /* looks into the next two; made anew by stage_prepare, also of a copy */
  char entry[FC_FUNCTION_ENTRY];
  double numbers[FC_FUNCTION_BYTES / sizeof(double)];
} stage;

/* Functions that are told where they are, of each sample and of pixels; `v` times, or plus, what
 * stage_position says. */
static const char placed_text[] =
    "struct placed {\n  real factor;\n"
    "  FC_DEVICE real operator()(real v, const fc_position &at) const {\n"
    "    return v * ((real)(at.x * 3 + at.y * 5 + at.c) * factor + (real)(at.width - at.height));\n  }\n};\n"
    "template <int C> struct placed_pixels {\n  real factor;\n"
    "  FC_DEVICE void operator()(const real (&v)[C], real (&y)[C], const fc_position &at) const {\n"
    "    for (int i = 0; i < C; i++)\n"
    "      y[i] = v[C - 1 - i] * ((real)(at.x * 3 + at.y * 5 + at.c) * factor + (real)(at.width - "
    "at.height));\n"
    "  }\n};\n";

static inline void stage_describe_placed(stage *s, int compute) {
  fc_device_function *f = &s->function;
  const double factor = 1. / 4096;
  const float factor32 = (float)factor;
  f->flags = FC_FUNCTION_POSITION, f->source = placed_text;
  f->in = f->out = s->kind == PLACED ? 0 : (guint32)s->in;
  g_snprintf(s->entry, sizeof s->entry, s->kind == PLACED ? "placed" : "placed_pixels<%d>", (int)s->in);
  f->n_bytes = f->align = (guint32)fc_dtype_size(compute);
  memcpy(f->bytes, compute == FC_F64 ? (const void *)&factor : &factor32, f->n_bytes);
}

/* A function of neighbours that makes the sums of fc_dense, and one that selects the last of them. */
static const char around_text[] =
    "template <int NX, int NY> struct sum {\n  real m[NY * NX];\n"
    "  FC_DEVICE real operator()(const fc_around &at) const {\n    real v = 0;\n"
    "    for (int i = 0; i < NX * NY; i++) v = fc_fma(m[i], at(i % NX - NX / 2, i / NX - NY / 2), v);\n"
    "    return v;\n  }\n};\n"
    "template <int NX, int NY> struct last {\n  FC_DEVICE real operator()(const fc_around &at) const {\n"
    "    return at(NX - 1 - NX / 2, NY - 1 - NY / 2);\n  }\n};\n";

/* Of the first nine numbers of `matrix`, in f32. */
static inline void stage_describe_sum(stage *s) {
  const gboolean dense = s->kind == DENSE_SUM;
  fc_device_function *f = &s->function;
  f->flags = FC_FUNCTION_WINDOW | (dense ? 0 : FC_FUNCTION_AROUND), f->window_x = f->window_y = 3;
  f->source = dense ? FC_FUNCTION_WINDOW_TEXT : around_text;
  g_snprintf(s->entry, sizeof s->entry, dense ? "fc_dense<3,3>" : "sum<3,3>");
  f->n_bytes = 9 * sizeof(float), f->align = sizeof(float);
  for (int i = 0; i < 9; i++) ((float *)f->bytes)[i] = (float)s->matrix[i];
}

/* The channels that MIX takes: but for the first of these all that there are, three or four; the last three
 * are of four alone. */
static const int32_t stage_mixes[][4] = {{2, 1, 0, 1}, {2, 0, 1, 3}, {1, 2, 0, 3}, {2, 1, 0, 3},
                                         {2, 3, 0, 1}, {1, 0, 3, 2}, {3, 0, 2, 1}};

/* Makes the text and bytes of a stage whose other fields are set. */
static inline void stage_prepare(stage *s, int compute) {
  static const int32_t forms[] = {
      [COPY] = FC_POINTWISE_COPY,   [GAIN] = FC_POINTWISE_SCALE,          [RANGE] = FC_POINTWISE_MAP,
      [CLIP] = FC_POINTWISE_CLAMP,  [AFFINE] = FC_POINTWISE_AFFINE,       [CURVE] = FC_POINTWISE_CURVE,
      [GAINS] = FC_POINTWISE_SCALE, [THRESHOLD] = FC_POINTWISE_THRESHOLD, [AFFINES] = FC_POINTWISE_AFFINE,
      [MIX] = FC_POINTWISE_COPY,    [DENSE_SUM] = FC_POINTWISE_COPY};
  s->op.compute = compute;
  s->op.form = forms[s->kind];
  fc_device_function *f = &s->function;
  *f = (fc_device_function){
      .size = sizeof *f, .entry = s->entry, .bytes = s->numbers, .low = 1, .high = 0, .growth = -1};
  s->color.compute = compute;
  if (s->kind == COLOR)
    fc_color_describe(&s->color, f);
  else if (s->kind == MATRIX)
    g_assert_cmpint(fc_function_matrix(compute, s->matrix, s->offset, s->out, s->in, f), ==, FC_OK);
  else if (s->kind == PLACED || s->kind == PLACED_PIXELS)
    stage_describe_placed(s, compute);
  else if (s->kind == AROUND_SUM || s->kind == DENSE_SUM)
    stage_describe_sum(s);
  else if (s->kind == MIX)
    g_assert_cmpint(fc_function_mix(stage_mixes[s->order], s->out, s->in, f), ==, FC_OK);
  else if (s->kind == GAINS)
    g_assert_cmpint(fc_function_gains(compute, s->matrix, s->in, f), ==, FC_OK);
  else if (s->kind == AFFINES)
    g_assert_cmpint(fc_function_affines(compute, s->matrix, s->in, f), ==, FC_OK);
  else
    fc_function_pointwise(&s->op, f);
}

/* Numbers of a curve or threshold for values about as large as `unit`; `random` is in [0, 1). */
static inline void stage_set_curve(stage *s, double unit, double random) {
  if (s->kind != CURVE && s->kind != THRESHOLD) return;
  s->op.exponent = random < 0.3 ? 1 : 3 * random, s->op.span = unit * (random - 0.3);
  s->op.keeps = (int32_t)(random * 17) % 3;
  if (s->kind == CURVE) s->op.factor /= unit, s->op.high = random < 0.6 ? 1 : (double)INFINITY;
}

/* A conversion of 1 to 4 channels. */
static inline void stage_set_color(stage *s, double unit, int from, int to) {
  if (s->kind != COLOR) return;
  s->color.from = s->in < 3 ? FC_SPACE_GRAY : FC_SPACE_RGB + from % (FC_SPACES - 1);
  s->color.to = to % FC_SPACES, s->color.extra = s->in % 2 == 0;
  fc_color_set(&s->color, (const double[]){299, 587, 114}, unit == 1 ? 1 : 255);
  s->out = fc_space_channels(s->color.to) + s->color.extra;
}

static inline void stages_describe(const stage *stages, guint n, int kind, fc_compose_stage *to) {
  static const char *const names[] = {"convert",   "gain",   "stretch",   "clip",   "normalize", "gamma",
                                      "threshold", "gain",   "normalize", "matrix", "color",     "mix",
                                      "placed",    "placed", "sum",       "sum"};
  for (guint i = 0; i < n; i++)
    to[i] = (fc_compose_stage){names[stages[i].kind], &stages[i].function, stages[i].dtype, kind};
}

/* A launch and its kernel's text; a window has a border. */
typedef struct launch {
  fc_composed composed;
  char *text;
} launch;

static inline launch *launch_new(const fc_compose_stage *stages, guint n, int compute, const fc_view *in,
                                 const fc_view *out, guint32 *notes, guint processors) {
  launch *l = g_new0(launch, 1);
  fc_composition c = {stages, n, compute, n, FC_BORDER_NONE, 0};
  for (guint i = 0; i < n; i++)
    if (stages[i].function->flags & FC_FUNCTION_WINDOW) c.window = i, c.border = FC_BORDER_REFLECT101;
  if (fc_compose(&c, in, out, notes, processors, 0, &l->composed)) {
    l->text = fc_compose_text(&c, in, out, l->composed.variant);
    return l;
  }
  g_free(l);
  return NULL;
}

static inline void launch_free(launch *l) {
  if (l) g_free(l->text);
  g_free(l);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(launch, launch_free)

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
