/* SPDX-License-Identifier: MIT */
/*
 * twist.c - the numbers, the reference, and the loops of the vectorised version: tiles of a row, one channel
 * after the other.
 */
#include "filters/color/twist.h"

#include <math.h>

#include "filters/base/pixels.h"
#include "filters/color/twist_kernels.h"

/* ---- numbers ------------------------------------------------------------------- */

/* sin(2 pi turns) for |turns| <= 1, by its Taylor series over a quarter: not with libm, whose last bit
 * differs between machines. */
static double sine(double turns) {
  turns -= floor(turns);
  const double folded = turns <= 0.25 ? turns : turns <= 0.75 ? 0.5 - turns : turns - 1;
  const double a = 6.283185307179586 * folded, z = a * a;
  double sum = 1;
  for (int k = 21; k >= 3; k -= 2) sum = 1 - z / (double)(k * (k - 1)) * sum;
  return a * sum;
}

/* Column i of the chroma part: the change due to one unit of colour i, added to luma. Blue-yellow is B -
 * Y, red-cyan R - Y. */
void fc_twist_set(fc_twist *t, double brightness, double contrast, double saturation, double hue) {
  static const double luma[3] = {0.299, 0.587, 0.114};
  const double cosine = saturation * sine(hue + 0.25), wave = saturation * sine(hue),
               gain = brightness * contrast;
  /* The plane of Cb and Cr, in which a rotation preserves lengths. */
  const double cb = 2 * (1 - luma[2]), cr = 2 * (1 - luma[0]);
  for (int i = 0; i < 3; i++) {
    const double y = luma[i], b = ((i == 2) - y) / cb, r = ((i == 0) - y) / cr;
    const double turned_b = cosine * b - wave * r, turned_r = wave * b + cosine * r;
    const double red = cr * turned_r, blue = cb * turned_b;
    t->matrix[0][i] = gain * (y + red);
    t->matrix[1][i] = gain * (y - (luma[0] * red + luma[2] * blue) / luma[1]);
    t->matrix[2][i] = gain * (y + blue);
  }
  if (t->colors == 1) t->matrix[0][0] = gain;
  t->offset = (1 - contrast) * 0.5 * t->white;
}

static int fits(const fc_twist *t, const fc_view *out) {
  return out->shape[FC_AXIS_C] == t->colors + t->extra;
}

/* ---- reference ------------------------------------------------------------------ */

static double narrow(const fc_twist *t, double v) {
  return t->compute == FC_F64 ? v : (double)(float)v;
}

/* A row of the matrix: products and sums of floats computed in double and rounded to float are those of
 * float arithmetic. */
static double row_of(const fc_twist *t, int k, const double *x) {
  double sum = narrow(t, narrow(t, t->matrix[k][0]) * x[0]);
  for (int i = 1; i < t->colors; i++) sum = narrow(t, sum + narrow(t, narrow(t, t->matrix[k][i]) * x[i]));
  sum = narrow(t, sum + narrow(t, t->offset));
  sum = sum < 0 ? 0 : sum;
  return sum > narrow(t, t->white) ? narrow(t, t->white) : sum;
}

fc_status fc_twist_ref(const fc_twist *t, const fc_view *in, const fc_view *out, uint32_t *notes) {
  if (fc_view_count(out) == 0) return FC_OK;
  if (!fits(t, out)) return FC_UNSUPPORTED;
  for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
    for (int64_t i = 0; i < out->shape[FC_AXIS_X]; i++) {
      double x[3] = {0}, v;
      for (int k = 0; k < t->colors; k++) {
        fc_load_f64(&v, fc_view_at(in, 0, y, i, k), 0, 1, in->kind, in->dtype);
        x[k] = narrow(t, v);
      }
      for (int k = 0; k < t->colors + t->extra; k++) {
        if (k < t->colors) v = row_of(t, k, x);
        if (k >= t->colors) fc_load_f64(&v, fc_view_at(in, 0, y, i, k), 0, 1, in->kind, in->dtype);
        v = narrow(t, v);
        fc_store_f64(fc_view_at(out, 0, y, i, k), 0, &v, 1, out->kind, out->dtype, notes);
      }
    }
  return FC_OK;
}

/* ---- vectorised ------------------------------------------------------------------ */

#define TILE FC_PIXELS_TILE /* four channels of doubles are 16 KiB */

size_t fc_twist_scratch(const fc_twist *t) {
  return 4 * TILE * fc_dtype_size(t->compute);
}

static void twist_tile(const fc_twist *t, const fc_view *in, const fc_view *out, int64_t y, int64_t x,
                       int64_t count, char *scratch, uint32_t *notes) {
  const fc_samples_kernels *samples = fc_samples_kernels_of(t->isa);
  const fc_twist_kernels *kernels = FC_ISA_PICK(fc_twist_kernels, t->isa);
  const int64_t apart = TILE * (int64_t)fc_dtype_size(t->compute);
  const char *const planes[4] = {scratch, scratch + apart, scratch + 2 * apart, scratch + 3 * apart};
  fc_pixels_load(samples, t->compute, scratch, apart, in, fc_view_at(in, 0, y, x, 0), count);
  if (t->compute == FC_F64)
    kernels->twist_f64(t, (double *)(void *)scratch, TILE, count);
  else
    kernels->twist_f32(t, (float *)(void *)scratch, TILE, count);
  fc_pixels_store(samples, t->compute, out, fc_view_at(out, 0, y, x, 0), planes, count, notes);
}

fc_status fc_twist_cpu(const fc_twist *t, const fc_view *in, const fc_view *out, void *scratch,
                       uint32_t *notes) {
  const int64_t width = out->shape[FC_AXIS_X];
  if (fc_view_count(out) == 0) return FC_OK;
  if (!fits(t, out)) return FC_UNSUPPORTED;
  for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
    for (int64_t x = 0; x < width; x += TILE)
      twist_tile(t, in, out, y, x, width - x < TILE ? width - x : TILE, scratch, notes);
  return FC_OK;
}
