/* SPDX-License-Identifier: MIT */
/*
 * dither.c - the reference, and the loops of the vectorised version: each channel of a row in tiles that stay
 * in the first-level cache, loaded in the compute type, processed in place, and stored.
 */
#include "filters/pointwise/dither.h"
#include "filters/pointwise/dither_kernels.h"
#include "filters/base/lines.h"

/* ---- the noise ---------------------------------------------------------------- */

/* The state for a sample, given by its position in the view. */
static uint64_t state_of(const fc_dither *d, const fc_view *v, int64_t n, int64_t y, int64_t x, int64_t c) {
  const int64_t *first = v->origin;
  return fc_dither_frame(d->seed, first[FC_AXIS_N] + n) +
         fc_dither_place(first[FC_AXIS_Y] + y, first[FC_AXIS_X] + x, first[FC_AXIS_C] + c);
}

static double rounded(double v, int compute) {
  return compute == FC_F64 ? v : (double)(float)v;
}

static double unit_of(const fc_dither *d) {
  return rounded(d->step * 0x1p-24, d->compute);
}

/* ---- reference ------------------------------------------------------------ */

fc_status fc_dither_ref(const fc_dither *d, const fc_view *in, const fc_view *out, uint32_t *notes) {
  int64_t at[FC_AXES] = {0};
  for (int64_t left = fc_view_count(out); left > 0; left--, fc_advance(out, at)) {
    uint64_t state = state_of(d, out, at[0], at[1], at[2], at[3]);
    double noise = rounded(fc_dither_units(state) * unit_of(d), d->compute), v;
    fc_load_f64(&v, fc_view_at(in, at[0], at[1], at[2], at[3]), 0, 1, in->kind, in->dtype);
    v = rounded(rounded(v, d->compute) + noise, d->compute);
    fc_store_f64(fc_view_at(out, at[0], at[1], at[2], at[3]), 0, &v, 1, out->kind, out->dtype, notes);
  }
  return FC_OK;
}

/* ---- vectorised ------------------------------------------------------------- */

#define TILE 2048 /* elements: 16 KiB in f64 */

size_t fc_dither_cpu_scratch(const fc_dither *d) {
  return TILE * fc_dtype_size(d->compute);
}

/* Constant throughout a call. */
typedef struct walk {
  const fc_dither *d;
  const fc_view *in, *out;
  const fc_dither_kernels *kernels;
  void *scratch;
  int direct; /* output lines are dense, of the compute type, and not the input's */
  uint32_t *notes;
} walk;

static void dither_line(const walk *w, const char *from, char *to, int64_t length, uint64_t first) {
  const fc_view *in = w->in, *out = w->out;
  int64_t in_step = in->stride[FC_AXIS_X], out_step = out->stride[FC_AXIS_X];
  int compute = w->d->compute;
  double unit = unit_of(w->d);
  for (int64_t x = 0; x < length; x += TILE) {
    int64_t count = length - x < TILE ? length - x : TILE;
    uint64_t state = first + (uint64_t)x * FC_DITHER_GROWTH;
    void *values = w->direct ? to + x * out_step : w->scratch;
    fc_load(values, compute, from + x * in_step, in_step, count, in->kind, in->dtype);
    if (compute == FC_F64)
      w->kernels->add_f64(values, count, state, unit);
    else
      w->kernels->add_f32(values, count, state, (float)unit);
    if (!w->direct)
      fc_store(to + x * out_step, out_step, values, compute, count, out->kind, out->dtype, w->notes);
  }
}

fc_status fc_dither_cpu(const fc_dither *d, const fc_view *in, const fc_view *out, void *scratch,
                        uint32_t *notes) {
  int64_t size = (int64_t)fc_dtype_size(d->compute);
  int dense = out->dtype == d->compute && out->stride[FC_AXIS_X] == size;
  fc_lines l = fc_lines_of(in, out, 0);
  walk w = {.d = d, .in = in, .out = out, .kernels = FC_ISA_PICK(fc_dither_kernels, d->isa)};
  w.scratch = scratch, w.direct = dense && in->data != out->data, w.notes = notes;
  for (int64_t n = 0; n < l.frames; n++)
    for (int64_t y = 0; y < l.rows; y++)
      for (int64_t c = 0; c < l.channels; c++)
        dither_line(&w, fc_view_at(in, n, y, 0, c), fc_view_at(out, n, y, 0, c), l.length,
                    state_of(d, out, n, y, 0, c));
  return FC_OK;
}
