/* SPDX-License-Identifier: MIT */
/*
 * add.c - the reference, and rows in tiles: both signals loaded into scratch, added there, stored. The sum is
 * a small part of the loads and stores (rows.c), so it is not built for each instruction set.
 */
#include "filters/pointwise/add.h"

#include "filters/base/lines.h"

fc_status fc_add_ref(const fc_add *add, const fc_view *a, const fc_view *b, const fc_view *out,
                     uint32_t *notes) {
  int64_t at[FC_AXES] = {0};
  for (int64_t left = fc_view_count(out); left > 0; left--, fc_advance(out, at)) {
    const void *first = fc_view_at(a, at[0], at[1], at[2], at[3]);
    const void *second = fc_view_at(b, at[0], at[1], at[2], at[3]);
    double x, y;
    fc_load_f64(&x, first, 0, 1, a->kind, a->dtype);
    fc_load_f64(&y, second, 0, 1, b->kind, b->dtype);
    if (add->compute == FC_F64) {
      x += add->factor * y;
    } else {
      float product = (float)add->factor * (float)y;
      x = (double)((float)x + product);
    }
    fc_store_f64(fc_view_at(out, at[0], at[1], at[2], at[3]), 0, &x, 1, out->kind, out->dtype, notes);
  }
  return FC_OK;
}

#define TILE 2048 /* elements: 16 KiB of either signal in f64 */

size_t fc_add_scratch(const fc_add *add) {
  return 2 * TILE * fc_dtype_size(add->compute);
}

static void add_f32(float *restrict x, const float *restrict y, float factor, int64_t count) {
  for (int64_t i = 0; i < count; i++) x[i] += factor * y[i];
}

static void add_f64(double *restrict x, const double *restrict y, double factor, int64_t count) {
  for (int64_t i = 0; i < count; i++) x[i] += factor * y[i];
}

/* A line of the three views; each view has its own step. */
typedef struct line {
  const char *a, *b;
  char *out;
  int64_t a_step, b_step, out_step, length;
} line;

static void add_line(const fc_add *add, const fc_view *a, const fc_view *b, const fc_view *out, line l,
                     char *scratch, uint32_t *notes) {
  char *x = scratch, *y = scratch + TILE * fc_dtype_size(add->compute);
  for (int64_t i = 0; i < l.length; i += TILE) {
    const int64_t count = l.length - i < TILE ? l.length - i : TILE;
    fc_load(x, add->compute, l.a + i * l.a_step, l.a_step, count, a->kind, a->dtype);
    fc_load(y, add->compute, l.b + i * l.b_step, l.b_step, count, b->kind, b->dtype);
    if (add->compute == FC_F64)
      add_f64((double *)x, (const double *)y, add->factor, count);
    else
      add_f32((float *)x, (const float *)y, (float)add->factor, count);
    fc_store(l.out + i * l.out_step, l.out_step, x, add->compute, count, out->kind, out->dtype, notes);
  }
}

fc_status fc_add_cpu(const fc_add *add, const fc_view *a, const fc_view *b, const fc_view *out, void *scratch,
                     uint32_t *notes) {
  fc_lines l = fc_lines_of(a, out, fc_is_interleaved(b));
  const int whole = l.channels == 1 && out->shape[FC_AXIS_C] > 1;
  for (int64_t n = 0; n < l.frames; n++)
    for (int64_t y = 0; y < l.rows; y++)
      for (int64_t c = 0; c < l.channels; c++) {
        line one = {fc_view_at(a, n, y, 0, c),
                    fc_view_at(b, n, y, 0, c),
                    fc_view_at(out, n, y, 0, c),
                    l.in_step,
                    whole ? (int64_t)fc_dtype_size(b->dtype) : b->stride[FC_AXIS_X],
                    l.out_step,
                    l.length};
        add_line(add, a, b, out, one, scratch, notes);
      }
  return FC_OK;
}
