/* SPDX-License-Identifier: MIT */
/*
 * conv1d.c - the reference, and the loops of the vectorised version over its views.
 *
 * Every layout is reduced to two cases:
 *   a line     taps `step` elements apart along consecutive elements: a row of an
 *              interleaved signal with all its channels at once (step = channels), or
 *              one channel by itself (step = 1);
 *   columns    taps a row apart, many columns side by side: axis Y, and axis X
 *              when there are so many channels that they make rows of their own.
 * Either is cut into tiles that fit the first or second level of cache, whose input is converted once into
 * scratch (or read in place if it already has the compute type), summed block of taps by block of taps, and
 * converted back.
 */
#include "filters/conv1d/conv1d.h"
#include "filters/base/lines.h"
#include "filters/conv1d/conv1d_kernels.h"

#include <string.h>

/* ---- reference ------------------------------------------------------------ */

static double mask_at(const fc_conv1d *c, int64_t channel, int64_t j) {
  int64_t i = (c->masks > 1 ? channel : 0) * c->taps + j;
  return c->compute == FC_F64 ? ((const double *)c->mask)[i] : (double)((const float *)c->mask)[i];
}

static void reference_element(const fc_conv1d *c, const fc_view *in, const fc_view *out, const int64_t at[4],
                              uint32_t *notes) {
  const char *from = fc_view_at(in, at[0], at[1], at[2], at[3]);
  int64_t stride = in->stride[c->axis];
  double sum = 0, value;
  for (int64_t j = 0; j < c->taps; j++) {
    fc_load_f64(&value, from + (j - c->before) * stride, stride, 1, in->kind, in->dtype);
    sum += mask_at(c, at[FC_AXIS_C], j) * value;
  }
  float rounded = (float)sum;
  fc_store(fc_view_at(out, at[0], at[1], at[2], at[3]), 0,
           c->compute == FC_F64 ? (void *)&sum : (void *)&rounded, c->compute, 1, out->kind, out->dtype,
           notes);
}

fc_status fc_conv1d_ref(const fc_conv1d *c, const fc_view *in, const fc_view *out, uint32_t *notes) {
  int64_t at[FC_AXES] = {0};
  for (int64_t left = fc_view_count(out); left > 0; left--, fc_advance(out, at))
    reference_element(c, in, out, at, notes);
  return FC_OK;
}

/* ---- tiles ----------------------------------------------------------------- */

/* Elements. The sums and converted input of a line's tile together fit a first-level cache of 32 KiB in
 * f32. */
#define LINE_TILE     2048
#define MAX_STEP      32 /* interleaved channels processed as a line; with more they are columns */
#define COLUMNS_WIDTH 128
#define COLUMNS_ROWS  60 /* divisible by the 2, 3 and 4 rows of the kernels */

#define LINE_INPUT    (LINE_TILE + (FC_CONV1D_BLOCK - 1) * MAX_STEP)
#define COLUMNS_INPUT (COLUMNS_WIDTH * (COLUMNS_ROWS + FC_CONV1D_BLOCK - 1))
#define SUMS          (COLUMNS_WIDTH * COLUMNS_ROWS)

_Static_assert(LINE_TILE <= SUMS, "the sums of a line fit where those of columns do");
_Static_assert(LINE_TILE % FC_CONV1D_LANES == 0 && COLUMNS_WIDTH % FC_CONV1D_LANES == 0,
               "tiles are whole lanes");

size_t fc_conv1d_cpu_scratch(const fc_conv1d *c) {
  int64_t input = LINE_INPUT > COLUMNS_INPUT ? LINE_INPUT : COLUMNS_INPUT;
  return (size_t)(SUMS + input) * fc_dtype_size(c->compute);
}

/* Constant throughout a call. */
typedef struct walk {
  const fc_conv1d *c;
  const fc_conv1d_kernels *kernels;
  const fc_samples_kernels *samples;
  int in_dtype, out_dtype;
  fc_scaling in_map, out_map;
  int64_t in_size, out_size, size; /* bytes of an element: in, out, compute */
  char *sums, *input;              /* scratch */
  uint32_t *notes;
} walk;

/* The memory of one side of a piece of work: element (row, i) is at base + row * along + i * across. */
typedef struct plane {
  char *base;
  int64_t along, across;
} plane;

static void load(const walk *w, char *to, const char *from, int64_t stride, int64_t count) {
  if (w->c->compute == FC_F64)
    w->samples->load_f64[w->in_dtype]((double *)to, from, stride, count, w->in_map);
  else
    w->samples->load_f32[w->in_dtype]((float *)to, from, stride, count, w->in_map);
}

static void store(const walk *w, char *to, int64_t stride, const char *from, int64_t count) {
  if (w->c->compute == FC_F64)
    w->samples->store_f64[w->out_dtype](to, stride, (const double *)from, count, w->out_map, w->notes);
  else
    w->samples->store_f32[w->out_dtype](to, stride, (const float *)from, count, w->out_map, w->notes);
}

static int64_t whole_lanes(int64_t count) {
  return (count + FC_CONV1D_LANES - 1) / FC_CONV1D_LANES * FC_CONV1D_LANES;
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* `width` elements of a line into `sums`; direct: the input can be read in place. */
static void sum_line(const walk *w, char *sums, const char *from, int64_t stride, int64_t width, int64_t step,
                     const char *mask, int direct) {
  int64_t padded = whole_lanes(width);
  for (int64_t j = 0; j < w->c->taps; j += FC_CONV1D_BLOCK) {
    int64_t taps = least(FC_CONV1D_BLOCK, w->c->taps - j), ahead = (taps - 1) * step;
    const char *in = from + j * step * stride, *tap = mask + j * w->size;
    if (!direct) {
      load(w, w->input, in, stride, width + ahead);
      /* Sums beyond the width are computed and dropped; their inputs must be initialised. */
      memset(w->input + (width + ahead) * w->size, 0, (size_t)((padded - width) * w->size));
      in = w->input;
    }
    if (w->c->compute == FC_F64)
      w->kernels->line_f64((double *)sums, (const double *)in, (const double *)tap, padded, taps, step,
                           j > 0);
    else
      w->kernels->line_f32((float *)sums, (const float *)in, (const float *)tap, padded, taps, step, j > 0);
  }
}

/* A line of `count` elements, `across` bytes apart; in.base is the input of the first output's first tap.
 * Complete groups of lanes are processed without a copy if possible. */
static void filter_line(const walk *w, plane in, plane out, int64_t count, int64_t step, const char *mask) {
  int in_place = w->in_dtype == w->c->compute && in.across == w->in_size;
  int out_place = w->out_dtype == w->c->compute && out.across == w->out_size;
  for (int64_t i = 0, width; i < count; i += width) {
    width = least(LINE_TILE, count - i);
    if (width >= FC_CONV1D_LANES) width -= width % FC_CONV1D_LANES;
    int whole = width % FC_CONV1D_LANES == 0;
    char *to = out.base + i * out.across, *sums = whole && out_place ? to : w->sums;
    sum_line(w, sums, in.base + i * in.across, in.across, width, step, mask, whole && in_place);
    if (sums != to) store(w, to, out.across, sums, width);
  }
}

/* `rows` by `width` sums into `sums`, whose rows lie `to_pitch` elements apart; direct: the
 * input can be read in place. */
static void sum_columns(const walk *w, char *sums, int64_t to_pitch, plane from, int64_t rows, int64_t width,
                        const char *mask, int direct) {
  int64_t padded = whole_lanes(width), pitch = direct ? from.along / w->size : COLUMNS_WIDTH;
  for (int64_t j = 0; j < w->c->taps; j += FC_CONV1D_BLOCK) {
    int64_t taps = least(FC_CONV1D_BLOCK, w->c->taps - j);
    const char *in = from.base + j * from.along, *tap = mask + j * w->size;
    if (!direct) {
      for (int64_t r = 0; r < rows + taps - 1; r++) {
        char *row = w->input + r * COLUMNS_WIDTH * w->size;
        load(w, row, in + r * from.along, from.across, width);
        memset(row + width * w->size, 0, (size_t)((padded - width) * w->size));
      }
      in = w->input;
    }
    if (w->c->compute == FC_F64)
      w->kernels->columns_f64((double *)sums, to_pitch, (const double *)in, pitch, (const double *)tap, rows,
                              padded, taps, j > 0);
    else
      w->kernels->columns_f32((float *)sums, to_pitch, (const float *)in, pitch, (const float *)tap, rows,
                              padded, taps, j > 0);
  }
}

static void filter_tile(const walk *w, plane in, plane out, int64_t rows, int64_t width, const char *mask) {
  int whole = width % FC_CONV1D_LANES == 0;
  int in_place = whole && w->in_dtype == w->c->compute && in.across == w->in_size;
  if (whole && w->out_dtype == w->c->compute && out.across == w->out_size) {
    sum_columns(w, out.base, out.along / w->size, in, rows, width, mask, in_place);
    return;
  }
  sum_columns(w, w->sums, COLUMNS_WIDTH, in, rows, width, mask, in_place);
  for (int64_t r = 0; r < rows; r++)
    store(w, out.base + r * out.along, out.across, w->sums + r * COLUMNS_WIDTH * w->size, width);
}

/* `rows` by `columns` outputs whose taps are a row apart. Tiles follow each other down a strip of columns,
 * so that the rows that two tiles share are still in the cache. */
static void filter_columns(const walk *w, plane in, plane out, int64_t rows, int64_t columns,
                           const char *mask) {
  for (int64_t x = 0; x < columns; x += COLUMNS_WIDTH) {
    for (int64_t y = 0; y < rows; y += COLUMNS_ROWS) {
      plane from = {in.base + y * in.along + x * in.across, in.along, in.across};
      plane to = {out.base + y * out.along + x * out.across, out.along, out.across};
      filter_tile(w, from, to, least(COLUMNS_ROWS, rows - y), least(COLUMNS_WIDTH, columns - x), mask);
    }
  }
}

/* ---- layouts ---------------------------------------------------------------- */

/* Channels adjacent, and columns contiguous. */
static int is_interleaved(const fc_view *v) {
  int64_t size = (int64_t)fc_dtype_size(v->dtype);
  return (v->shape[FC_AXIS_C] == 1 || v->stride[FC_AXIS_C] == size) &&
         v->stride[FC_AXIS_X] == v->shape[FC_AXIS_C] * size;
}

static plane plane_at(const fc_view *v, int64_t n, int64_t y, int64_t channel, int64_t behind, fc_axis along,
                      int64_t across) {
  plane p = {(char *)fc_view_at(v, n, y, 0, channel) - behind * v->stride[along], v->stride[along], across};
  return p;
}

static const char *mask_of(const walk *w, int64_t channel) {
  return (const char *)w->c->mask + (w->c->masks > 1 ? channel : 0) * w->c->taps * w->size;
}

/* Rows of one frame, axis X. */
static void filter_rows(const walk *w, const fc_view *in, const fc_view *out, int64_t n) {
  int64_t columns = out->shape[FC_AXIS_X], channels = out->shape[FC_AXIS_C], behind = w->c->before;
  int together = w->c->masks == 1 && channels > 1;
  int line = together && channels <= MAX_STEP && is_interleaved(in) && is_interleaved(out);
  int wide = together && channels > MAX_STEP && in->stride[FC_AXIS_C] == w->in_size;
  for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++) {
    if (line) {
      filter_line(w, plane_at(in, n, y, 0, behind, FC_AXIS_X, w->in_size),
                  plane_at(out, n, y, 0, 0, FC_AXIS_X, w->out_size), columns * channels, channels,
                  mask_of(w, 0));
    } else if (wide) {
      filter_columns(w, plane_at(in, n, y, 0, behind, FC_AXIS_X, in->stride[FC_AXIS_C]),
                     plane_at(out, n, y, 0, 0, FC_AXIS_X, out->stride[FC_AXIS_C]), columns, channels,
                     mask_of(w, 0));
    } else {
      for (int64_t k = 0; k < channels; k++)
        filter_line(w, plane_at(in, n, y, k, behind, FC_AXIS_X, in->stride[FC_AXIS_X]),
                    plane_at(out, n, y, k, 0, FC_AXIS_X, out->stride[FC_AXIS_X]), columns, 1, mask_of(w, k));
    }
  }
}

/* Columns of one frame, axis Y. */
static void filter_down(const walk *w, const fc_view *in, const fc_view *out, int64_t n) {
  int64_t rows = out->shape[FC_AXIS_Y], columns = out->shape[FC_AXIS_X], channels = out->shape[FC_AXIS_C];
  int64_t behind = w->c->before;
  if (w->c->masks == 1 && is_interleaved(in) && is_interleaved(out)) {
    filter_columns(w, plane_at(in, n, 0, 0, behind, FC_AXIS_Y, w->in_size),
                   plane_at(out, n, 0, 0, 0, FC_AXIS_Y, w->out_size), rows, columns * channels,
                   mask_of(w, 0));
    return;
  }
  for (int64_t k = 0; k < channels; k++)
    filter_columns(w, plane_at(in, n, 0, k, behind, FC_AXIS_Y, in->stride[FC_AXIS_X]),
                   plane_at(out, n, 0, k, 0, FC_AXIS_Y, out->stride[FC_AXIS_X]), rows, columns,
                   mask_of(w, k));
}

fc_status fc_conv1d_cpu(const fc_conv1d *c, const fc_view *in, const fc_view *out, void *scratch,
                        uint32_t *notes) {
  walk w = {
      .c = c,
      .kernels = FC_ISA_PICK(fc_conv1d_kernels, c->isa),
      .samples = fc_samples_kernels_of(c->isa),
      .in_dtype = in->dtype,
      .out_dtype = out->dtype,
      .in_map = fc_scaling_of(in->kind, in->dtype),
      .out_map = fc_scaling_of(out->kind, out->dtype),
      .in_size = (int64_t)fc_dtype_size(in->dtype),
      .out_size = (int64_t)fc_dtype_size(out->dtype),
      .size = (int64_t)fc_dtype_size(c->compute),
      .notes = notes,
  };
  w.sums = scratch;
  w.input = w.sums + SUMS * w.size;
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++) {
    if (c->axis == FC_AXIS_Y)
      filter_down(&w, in, out, n);
    else
      filter_rows(&w, in, out, n);
  }
  return FC_OK;
}
