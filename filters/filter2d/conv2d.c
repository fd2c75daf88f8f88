/* SPDX-License-Identifier: MIT */
/*
 * conv2d.c - the reference, and the CPU version: blocks of 4 rows, see conv2d_strips.h.
 */
#include "filters/filter2d/conv2d.h"
#include "filters/base/lines.h"
#include "filters/filter2d/conv2d_kernels.h"
#include "filters/filter2d/conv2d_strips.h"
#include "filters/base/samples.h"

static double tap_at(const fc_conv2d *op, int64_t i) {
  return op->compute == FC_F64 ? ((const double *)op->mask)[i] : ((const float *)op->mask)[i];
}

static double sum_at(const fc_conv2d *op, const fc_view *in, const int64_t at[FC_AXES]) {
  double sum = 0;
  for (int64_t j = 0; j < op->ny; j++)
    for (int64_t i = 0; i < op->nx; i++) {
      double v;
      fc_load_f64(&v, fc_view_at(in, at[0], at[1] - op->ny / 2 + j, at[2] - op->nx / 2 + i, at[3]), 0, 1,
                  in->kind, in->dtype);
      sum += tap_at(op, j * op->nx + i) * v;
    }
  return sum;
}

fc_status fc_conv2d_ref(const fc_conv2d *op, const fc_view *in, const fc_view *out, uint32_t *notes) {
  int64_t at[FC_AXES] = {0};
  for (int64_t left = fc_view_count(out); left > 0; left--, fc_advance(out, at)) {
    double v = sum_at(op, in, at);
    fc_store_f64(fc_view_at(out, at[0], at[1], at[2], at[3]), 0, &v, 1, out->kind, out->dtype, notes);
  }
  return FC_OK;
}

static void block_run(const void *self, const fc_strip_block *b) {
  const fc_conv2d *op = (const fc_conv2d *)self;
  fc_conv2d_kernels_of(op->isa, op->compute)
      ->rows(b->count, b->rows, op->mask, op->ny, op->nx, b->step, b->to, b->n, b->stream);
}

static fc_strips strips_of(const fc_conv2d *op) {
  return (fc_strips){op->compute, op->nx, op->ny, op, block_run, NULL, 0, 0};
}

size_t fc_conv2d_scratch(const fc_conv2d *op, const fc_view *out) {
  fc_strips s = strips_of(op);
  return fc_strips_scratch(&s, out);
}

fc_status fc_conv2d_cpu(const fc_conv2d *op, const fc_view *in, const fc_view *out, void *scratch,
                        uint32_t *notes) {
  fc_strips s = strips_of(op);
  fc_strips_run(&s, in, out, scratch, notes);
  return FC_OK;
}
