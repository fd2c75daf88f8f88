/* SPDX-License-Identifier: MIT */
/* choice.c - see choice.h. */
#include "filters/conv1d/choice.h"

enum {
  TAPS = FC_CONV1D_BLOCK, /* of masks that are summed in one run, which all but the general kernels need */
  LONG = 2048,            /* elements of rows from which on quads.cu keeps its lanes busy */
  VECTORS = 128           /* pixels of the rows of vectors.cu */
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

/* Whether codes from 0 to 255 are values. */
static int is_plain_byte(const fc_view *v) {
  const fc_scaling s = fc_scaling_of(v->kind, v->dtype);
  return v->dtype == FC_U8 && s.scale == 1.0 && s.bias == 0;
}

/* Whether no sum of bytes can exceed what bytes.cu stores, or lose bits. */
static int is_tame(const fc_conv1d *c) {
  float sum = 0;
  for (int64_t j = 0; j < c->taps; j++) {
    const float w = ((const float *)c->mask)[j], size = w < 0 ? -w : w;
    if (!(size < FC_CONV1D_BYTES_SUM) || (w != 0 && size < 0x1p-40f)) return 0;
    sum += size;
  }
  return sum * 255.f < FC_CONV1D_BYTES_SUM;
}

fc_case1d fc_conv1d_case(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out) {
  const int64_t channels = out->shape[FC_AXIS_C];
  fc_case1d k = {.compute = c->compute, .in_dtype = in->dtype, .out_dtype = out->dtype};
  k.along_x = c->axis == FC_AXIS_X, k.edges = edges != NULL, k.taps = c->taps, k.masks = c->masks;
  k.samples = is_adjacent(in, 1) && is_adjacent(out, 1), k.channels = channels;
  k.pixels = is_adjacent(in, channels) && is_adjacent(out, channels);
  k.low = (int32_t)((row_bits(in) | row_bits(out)) & 15);
  k.bytes = is_plain_byte(in) && is_plain_byte(out) && c->compute == FC_F32 && c->masks == 1 &&
            c->taps <= FC_CONV1D_BYTES_TAPS && is_tame(c);
  k.length = out->shape[c->axis];
  if (k.length == 1 && in->shape[c->axis] != 1) k.length = 2; /* a cut of one sample */
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

static int takes_single(const fc_case1d *k) {
  return k->edges && k->length == 1 && is_plain(k);
}

static int takes_rows(const fc_case1d *k) {
  return k->along_x && is_plain(k) && k->length <= FC_CONV1D_ROWS_MOST && (k->samples || k->pixels);
}

static int takes_bytes(const fc_case1d *k) {
  return k->along_x && k->bytes && k->pixels && k->channels <= 4 &&
         k->length * k->channels >= FC_CONV1D_BYTES_A_TAP * k->taps;
}

static int takes_vectors(const fc_case1d *k) {
  return k->along_x && is_float(k) && k->pixels && k->length >= VECTORS &&
         (k->channels == 3 ? k->low % 4 == 0 : k->channels == 4 && k->low == 0);
}

static int takes_columns(const fc_case1d *k) {
  return !k->along_x && is_plain(k);
}

typedef struct choice {
  fc_kernel1d kernel;
  int (*takes)(const fc_case1d *k); /* of one mask of up to TAPS, in f32 */
} choice;

/* Of copy on an H200, by 5 and 31 taps; composed kernels take most of what is not here
 * (plugins/convolution.h). */
static const choice choices[] = {
    {FC_KERNEL1D_QUADS, takes_quads},   /* 0.92, 0.86, rows of the table; composed 0.82, 0.80 */
    {FC_KERNEL1D_SINGLE, takes_single}, /* 0.96; a row of f32 along y composed 0.33 */
    {FC_KERNEL1D_ROWS, takes_rows}, /* rows of 100 f32 0.61, 0.49; composed 0.79, 0.20, of bytes not at all */
    {FC_KERNEL1D_BYTES, takes_bytes},     /* rows of 8191 bytes by 5 taps 0.128 ms; composed 0.209 */
    {FC_KERNEL1D_VECTORS, takes_vectors}, /* RGB 0.87, 0.65; composed 0.79, 0.32 */
    {FC_KERNEL1D_COLUMNS, takes_columns}, /* 8 rows of f32 0.58, 0.37; composed 0.88, 0.15 */
};

fc_kernel1d fc_case1d_choose(const fc_case1d *k, fc_kernel1d from) {
  for (unsigned i = 0; i < sizeof choices / sizeof *choices; i++)
    if (choices[i].kernel >= from && k->compute == FC_F32 && k->masks == 1 && k->taps <= TAPS &&
        choices[i].takes(k))
      return choices[i].kernel;
  return k->edges ? FC_KERNEL1D_HOST : FC_KERNEL1D_ANY;
}

/* ---- or composed ------------------------------------------------------------------------ */

/* Along rows of f32: of 640 to 2047 samples composed kernels are faster, 0.80 of copy by 5 taps; of shorter
 * ones by few taps, rows of 100 0.79 for 0.61, 0.20 for 0.49 by 31. Sound has one row. */
static int is_quick_row(const fc_signal1d *s) {
  enum { FEW = 16, SMALL = 64 };
  const int64_t length = s->extent[FC_AXIS_X], channels = s->extent[FC_AXIS_C];
  if (s->kind == FC_AUDIO || length < SMALL) return 1;
  if (length <= FC_CONV1D_ROWS_MOST) return s->taps > FEW;
  return channels >= 3 || channels * length >= LONG;
}

/* Along columns: few rows by few taps are faster composed, 8 rows of f32 by 5 taps 0.88 for 0.58, by 31 0.15
 * for 0.37. So are integers, 0.52 for 0.29, unless rows are narrow or begin anywhere, 8191 bytes by 31 taps
 * 0.82 ms for 0.42. By more than 31 taps they are worth composing with other stages only: 51 of f32 0.11 ms,
 * composed 0.15, with a gain ahead and a clip behind 0.26, 0.15. */
static int is_quick_column(const fc_signal1d *s, int floats) {
  enum { LOW = 8, FEW = 8, NARROW = 128, MANY = 31 };
  const int64_t elements = s->extent[FC_AXIS_X] * s->extent[FC_AXIS_C], rows = s->extent[FC_AXIS_Y];
  if (rows == 1 || s->taps > MANY) return 1;
  if (rows >= 0 && rows <= LOW) return s->taps > FEW;
  return floats || elements <= NARROW || elements * (int64_t)fc_dtype_size(s->in_dtype) % 4 != 0;
}

/* Bytes along rows that begin anywhere, or of one row: rows of 8191 by 5 and 31 taps 0.128, 0.30 ms for
 * 0.209, 0.37; those of 8192 0.128, 0.30 for 0.107, 0.24. */
static int is_quick_bytes(const fc_signal1d *s) {
  const int64_t elements = s->extent[FC_AXIS_X] * s->extent[FC_AXIS_C];
  return s->kind != FC_AUDIO && s->in_dtype == FC_U8 && s->taps <= FC_CONV1D_BYTES_TAPS &&
         s->extent[FC_AXIS_C] <= 4 && s->extent[FC_AXIS_X] > FC_CONV1D_ROWS_MOST &&
         elements >= FC_CONV1D_BYTES_A_TAP * s->taps && (elements % 4 != 0 || s->extent[FC_AXIS_Y] == 1);
}

int fc_conv1d_is_quick(const fc_signal1d *s) {
  const int floats = s->in_dtype == FC_F32 && s->out_dtype == FC_F32;
  if (s->in_dtype != s->out_dtype) return 0;
  if (s->extent[s->axis] == 1) return 1;
  if (s->axis != FC_AXIS_X) return is_quick_column(s, floats);
  return floats ? is_quick_row(s) : is_quick_bytes(s);
}
