/* SPDX-License-Identifier: MIT */
/* choice.c - see choice.h. */
#include "filters/conv1d/choice.h"

enum {
  TAPS = FC_CONV1D_BLOCK, /* of masks that are summed in one run, which all but the general kernels need */
  LONG = 2048             /* elements of rows from which on quads.cu keeps its lanes busy */
};

/* Whether elements are adjacent in rows: `step` of them a sample. */
static int is_adjacent(const fc_view *v, int64_t step) {
  const int64_t size = (int64_t)fc_dtype_size(v->dtype);
  return v->stride[FC_AXIS_X] == step * size && (step == 1 || v->stride[FC_AXIS_C] == size);
}

static int64_t row_bits(const fc_view *v) {
  int64_t bits = (intptr_t)v->data;
  for (int a = FC_AXIS_N; a <= FC_AXIS_Y; a++)
    if (v->shape[a] > 1) bits |= v->stride[a];
  return bits | (v->shape[FC_AXIS_C] > 1 && v->stride[FC_AXIS_C] != (int64_t)fc_dtype_size(v->dtype)
                     ? v->stride[FC_AXIS_C]
                     : 0);
}

fc_case1d fc_conv1d_case(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out) {
  const int64_t channels = out->shape[FC_AXIS_C];
  fc_case1d k = {.compute = c->compute, .in_dtype = in->dtype, .out_dtype = out->dtype};
  k.along_x = c->axis == FC_AXIS_X, k.edges = edges != NULL, k.taps = c->taps, k.masks = c->masks;
  k.samples = is_adjacent(in, 1) && is_adjacent(out, 1), k.channels = channels;
  k.pixels = is_adjacent(in, channels) && is_adjacent(out, channels);
  k.low = (int32_t)((row_bits(in) | row_bits(out)) & 15);
  k.length = out->shape[c->axis];
  return k;
}

static int is_float(const fc_case1d *k) {
  return k->in_dtype == FC_F32 && k->out_dtype == FC_F32;
}

/* One type on both sides; others are composed, or general. */
static int is_plain(const fc_case1d *k) {
  return k->in_dtype == k->out_dtype && k->in_dtype != FC_I32 && k->in_dtype != FC_F64;
}

static int takes_quads(const fc_case1d *k) {
  return k->along_x && is_float(k) &&
         ((k->samples && k->length >= LONG && k->low % 4 == 0) ||
          (k->pixels && k->channels == 2 && 2 * k->length >= LONG && k->low % 8 == 0));
}

static int takes_columns(const fc_case1d *k) {
  return !k->along_x && is_plain(k);
}

typedef struct choice {
  fc_kernel1d kernel;
  int (*takes)(const fc_case1d *k); /* of one mask of up to TAPS, in f32 */
} choice;

/* Of copy on an H200, by 5 and 31 taps. Composed kernels take what is not here (plugins/convolution.h), and
 * most of columns: these are for more than 31 taps, 51 and 100 0.48 and 0.31. */
static const choice choices[] = {
    {FC_KERNEL1D_QUADS, takes_quads},     /* 0.99, 0.93, rows of the table; composed 0.89, 0.87 */
    {FC_KERNEL1D_COLUMNS, takes_columns}, /* 0.79, 0.61; composed 0.85, 0.62 */
};

fc_kernel1d fc_case1d_choose(const fc_case1d *k, fc_kernel1d from) {
  for (unsigned i = 0; i < sizeof choices / sizeof *choices; i++)
    if (choices[i].kernel >= from && k->compute == FC_F32 && k->masks == 1 && k->taps <= TAPS &&
        choices[i].takes(k))
      return choices[i].kernel;
  return k->edges ? FC_KERNEL1D_HOST : FC_KERNEL1D_ANY;
}

/* ---- or composed ------------------------------------------------------------------------ */

/* Along rows, floats of one channel, or two as frames: 134 M by 5 and 31 taps 259 and 275 us, composed 289
 * and 293; but of three by 31 280 and 236, four 295 and 444. */
static int is_quick_row(const fc_signal1d *s) {
  const int64_t channels = s->extent[FC_AXIS_C];
  return channels <= 2 && (s->kind == FC_AUDIO || channels * s->extent[FC_AXIS_X] >= LONG);
}

/* Along columns: of more taps than are composed, which of few rows, or of one column, are more (4096 x 4096
 * floats by 5, 15, 31 40, 44, 52 us and composed 38, 41, 51; 4095 x 4095 RGB of bytes by 5 102 and 64, floats
 * of 32 x 32 by 5, 31 125, 253 and 76, 156; 8 of 33 M floats by 31 172 and 78). */
static int is_quick_column(const fc_signal1d *s) {
  enum { MOST = 31, MOST_OF_FEW = 48, FEW = 8 }; /* taps; and rows, filters/gpu/few.cuh */
  const int64_t rows = s->extent[FC_AXIS_Y];
  return s->taps > ((rows >= 0 && rows <= FEW) || s->extent[FC_AXIS_X] == 1 ? MOST_OF_FEW : MOST);
}

/* Figures of an H200, here and in the table. */
int fc_conv1d_is_quick(const fc_signal1d *s) {
  if (s->in_dtype != s->out_dtype) return 0;
  if (s->extent[s->axis] == 1) return 0;
  return s->axis == FC_AXIS_X ? s->in_dtype == FC_F32 && is_quick_row(s) : is_quick_column(s);
}
