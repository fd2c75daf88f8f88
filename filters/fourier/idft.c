/* SPDX-License-Identifier: MIT */
/*
 * idft.c - the inverse transform: the reference, and the CPU version, which processes as many lines at a time
 * as a vector has lanes. In two dimensions columns come first, as complex values, then rows.
 */
#include <math.h>
#include <string.h>

#include "filters/fourier/dft.h"
#include "filters/fourier/dft_tile.h"
#include "filters/base/turn.h"

fc_status fc_idft_check(const fc_dft *d, const fc_view *in, const fc_view *out) {
  if (d->nx < 0 || d->ny < 0 || d->nx + d->ny == 0) return FC_INVALID;
  if (in->shape[FC_AXIS_N] != out->shape[FC_AXIS_N]) return FC_INVALID;
  if (d->nx && out->shape[FC_AXIS_X] % d->nx != 0) return FC_INVALID;
  if (d->ny && out->shape[FC_AXIS_Y] % d->ny != 0) return FC_INVALID;
  return in->shape[FC_AXIS_C] == 2 * out->shape[FC_AXIS_C] ? FC_OK : FC_INVALID;
}

/* ---- reference -------------------------------------------------------------- */

/* Tables of cosines and sines, and the bins of one block after the inverse along Y. */
typedef struct reference {
  const fc_dft *d;
  const fc_view *in;
  double *turns_x, *turns_y, *bins;
} reference;

size_t fc_idft_ref_scratch(const fc_dft *d, const fc_view *out) {
  (void)out;
  return (size_t)(2 * (d->nx + d->ny + fc_larger(d->ny, 1) * fc_dft_bins_x(d))) * sizeof(double);
}

static void reference_load(const reference *r, const char *from, double *bin) {
  for (int part = 0; part < 2; part++) {
    double v;
    fc_load_f64(&v, from + part * r->in->stride[FC_AXIS_C], 0, 1, r->in->kind, r->in->dtype);
    bin[part] = r->d->compute == FC_F32 ? (double)(float)v : v;
  }
}

/* Whether all bins of a block are finite. */
static int reference_finite(const reference *r, const char *from) {
  const int64_t *step = r->in->stride;
  for (int64_t ky = 0; ky < fc_dft_bins_y(r->d); ky++)
    for (int64_t kx = 0; kx < fc_dft_bins_x(r->d); kx++) {
      double bin[2];
      reference_load(r, from + ky * step[FC_AXIS_Y] + kx * step[FC_AXIS_X], bin);
      if (!isfinite(bin[0]) || !isfinite(bin[1])) return 0;
    }
  return 1;
}

/* Along Y, complex, if X is transformed too; row y of the result, or the bins unchanged. */
static void reference_columns(const reference *r, const char *from) {
  const fc_dft *d = r->d;
  const int64_t *step = r->in->stride, bins = fc_dft_bins_x(d);
  for (int64_t y = 0; y < fc_larger(d->ny, 1); y++)
    for (int64_t kx = 0; kx < bins; kx++) {
      double *to = r->bins + 2 * (y * bins + kx), sum[2] = {0, 0};
      for (int64_t ky = 0; ky < fc_larger(d->ny, 1); ky++) {
        double bin[2], c = 1, s = 0;
        reference_load(r, from + ky * step[FC_AXIS_Y] + kx * step[FC_AXIS_X], bin);
        if (d->ny) c = r->turns_y[2 * (ky * y % d->ny)], s = r->turns_y[2 * (ky * y % d->ny) + 1];
        sum[0] += bin[0] * c - bin[1] * s;
        sum[1] += bin[1] * c + bin[0] * s;
      }
      to[0] = sum[0], to[1] = sum[1];
    }
}

/* How many times bin k of a real transform of n counts: the missing bins are conjugates. */
static double reference_weight(const fc_dft *d, int64_t k, int64_t n) {
  return !d->half || k == 0 || 2 * k == n ? 1 : 2;
}

/* Value i of n from bins that are two numbers each: the real part of the sum. */
static double reference_value(const fc_dft *d, const double *bins, int64_t count, int64_t n, int64_t i,
                              const double *turns) {
  double sum = 0;
  for (int64_t k = 0; k < count; k++) {
    const double *turn = turns + 2 * (k * i % n), weight = reference_weight(d, k, n);
    sum += weight * bins[2 * k] * turn[0];
    /* For a bin that counts once in a half spectrum, the imaginary part is ignored. */
    if (!d->half || weight == 2) sum -= weight * bins[2 * k + 1] * turn[1];
  }
  return sum;
}

static void reference_store(const reference *r, const fc_view *out, char *to, int64_t y, int64_t x,
                            double value, uint32_t *notes) {
  const fc_dft *d = r->d;
  value *= d->scale / ((double)fc_larger(d->nx, 1) * (double)fc_larger(d->ny, 1));
  fc_store_f64(to + y * out->stride[FC_AXIS_Y] + x * out->stride[FC_AXIS_X], 0, &value, 1, out->kind,
               out->dtype, notes);
}

/* One block; `from` its first bin, `to` its first value. */
static void reference_block(const reference *r, const char *from, const fc_view *out, char *to,
                            uint32_t *notes) {
  const fc_dft *d = r->d;
  int64_t bins = fc_dft_bins_x(d);
  double spoilt = reference_finite(r, from) ? 0 : NAN;
  if (d->nx) {
    reference_columns(r, from);
    for (int64_t y = 0; y < fc_larger(d->ny, 1); y++)
      for (int64_t x = 0; x < d->nx; x++)
        reference_store(r, out, to, y, x,
                        reference_value(d, r->bins + 2 * y * bins, bins, d->nx, x, r->turns_x) + spoilt,
                        notes);
    return;
  }
  /* Only along Y, and real. */
  double *column = r->bins;
  for (int64_t k = 0; k < fc_dft_bins_y(d); k++)
    reference_load(r, from + k * r->in->stride[FC_AXIS_Y], column + 2 * k);
  for (int64_t y = 0; y < d->ny; y++)
    reference_store(r, out, to, y, 0,
                    reference_value(d, column, fc_dft_bins_y(d), d->ny, y, r->turns_y) + spoilt, notes);
}

fc_status fc_idft_ref(const fc_dft *d, const fc_view *in, const fc_view *out, void *scratch,
                      uint32_t *notes) {
  fc_status status = fc_idft_check(d, in, out);
  if (status != FC_OK) return status;
  reference r = {d, in, scratch, (double *)scratch + 2 * d->nx, (double *)scratch + 2 * (d->nx + d->ny)};
  for (int64_t i = 0; i < d->nx; i++) fc_turn(i, d->nx, &r.turns_x[2 * i], &r.turns_x[2 * i + 1]);
  for (int64_t i = 0; i < d->ny; i++) fc_turn(i, d->ny, &r.turns_y[2 * i], &r.turns_y[2 * i + 1]);
  int64_t wide = fc_larger(d->nx, 1), high = fc_larger(d->ny, 1);
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < out->shape[FC_AXIS_Y] / high; y++)
      for (int64_t x = 0; x < out->shape[FC_AXIS_X] / wide; x++)
        for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c++)
          reference_block(&r, fc_view_at(in, n, y * fc_dft_bins_y(d), x * fc_dft_bins_x(d), 2 * c), out,
                          fc_view_at(out, n, y * high, x * wide, c), notes);
  return FC_OK;
}

/* ---- the CPU ----------------------------------------------------------------------- */

size_t fc_idft_scratch(const fc_dft *d, const fc_view *out) {
  return (size_t)tile_of(d, out, d->nx, fc_nowhere()).bytes;
}

/* Whether a bin of any lane is NaN or infinite; tile.taint says which. */
static int tainted(const tile *t, int64_t bins) {
  tile_untaint(t);
  return tile_taint(t, t->re, bins) | tile_taint(t, t->im, bins);
}

/* Makes the n real values of each lane of x from `bins` of re and im. */
static void inverse_real(const tile *t, int64_t n, int64_t bins) {
  fc_planes z = {t->re, t->im};
  int bad = tainted(t, bins);
  if (bins > n / 2 + 1) t->f->fold(z, n, t->lanes);
  fc_rfft_inverse(t->d->real, t->re, t->im, t->x, t->lanes, t->rest);
  if (t->d->scale != 1) t->f->scale(t->x, n * t->lanes, t->d->scale);
  if (bad) t->k->spread(t->x, t->taint, n, t->lanes);
}

/* Stores the lanes of x as blocks, numbered through the rows from `to` on. */
static void store_blocks(const tile *t, int64_t first, int64_t count, const fc_view *out, char *to,
                         uint32_t *notes) {
  int64_t n = t->d->nx;
  t->k->scatter(t->turned, t->x, n, count, t->lanes);
  for (int64_t l = 0, run; l < count; l += run) {
    int64_t row = (first + l) / t->blocks, block = (first + l) % t->blocks;
    run = fc_smaller(count - l, t->blocks - block);
    fc_store(to + row * out->stride[FC_AXIS_Y] + block * n * out->stride[FC_AXIS_X], out->stride[FC_AXIS_X],
             t->turned + l * n * t->size, t->d->compute, run * n, out->kind, out->dtype, notes);
  }
}

/* The bins of one part, real or imaginary, of `count` blocks of the rows from `from` on. */
static void load_blocks(const tile *t, char *plane, const fc_view *in, const char *from, int64_t first,
                        int64_t count) {
  int64_t bins = fc_dft_bins_x(t->d);
  for (int64_t l = 0, run; l < count; l += run) {
    int64_t row = (first + l) / t->blocks, block = (first + l) % t->blocks;
    run = fc_smaller(count - l, t->blocks - block);
    fc_load(t->turned + l * bins * t->size, t->d->compute,
            from + row * in->stride[FC_AXIS_Y] + block * bins * in->stride[FC_AXIS_X], in->stride[FC_AXIS_X],
            run * bins, in->kind, in->dtype);
  }
  t->k->gather(plane, t->turned, bins, NULL, bins, count, t->lanes);
}

/* Every row of one channel. */
static void run_x(const tile *t, const fc_view *in, const char *from, const fc_view *out, char *to,
                  uint32_t *notes) {
  int64_t bins = fc_dft_bins_x(t->d), total = out->shape[FC_AXIS_Y] * t->blocks;
  for (int64_t first = 0; first < total; first += t->lanes) {
    int64_t count = fc_smaller(t->lanes, total - first);
    load_blocks(t, t->re, in, from, first, count);
    load_blocks(t, t->im, in, from + in->stride[FC_AXIS_C], first, count);
    inverse_real(t, t->d->nx, bins);
    store_blocks(t, first, count, out, to, notes);
  }
}

/* The bins of one part of `count` columns. */
static void load_columns(const tile *t, char *plane, const fc_view *in, const char *from, int64_t bins,
                         int64_t count) {
  int64_t row = t->lanes * t->size;
  if (count < t->lanes) memset(plane, 0, (size_t)(bins * row));
  for (int64_t k = 0; k < bins; k++)
    fc_load(plane + k * row, t->d->compute, from + k * in->stride[FC_AXIS_Y], in->stride[FC_AXIS_X], count,
            in->kind, in->dtype);
}

/* One row of blocks of one channel: real columns. */
static void run_y(const tile *t, const fc_view *in, const char *from, const fc_view *out, char *to,
                  uint32_t *notes) {
  int64_t n = t->d->ny, bins = fc_dft_bins_y(t->d);
  for (int64_t x = 0; x < out->shape[FC_AXIS_X]; x += t->lanes) {
    int64_t count = fc_smaller(t->lanes, out->shape[FC_AXIS_X] - x);
    const char *column = from + x * in->stride[FC_AXIS_X];
    load_columns(t, t->re, in, column, bins, count);
    load_columns(t, t->im, in, column + in->stride[FC_AXIS_C], bins, count);
    inverse_real(t, n, bins);
    for (int64_t y = 0; y < n; y++)
      fc_store(to + y * out->stride[FC_AXIS_Y] + x * out->stride[FC_AXIS_X], out->stride[FC_AXIS_X],
               t->x + y * t->lanes * t->size, t->d->compute, count, out->kind, out->dtype, notes);
  }
}

static void keep_columns(const tile *t, char *middle, const char *plane, int64_t x, int64_t count) {
  for (int64_t y = 0; y < t->d->ny; y++)
    memcpy(middle + (y * t->width + x) * t->size, plane + y * t->lanes * t->size, (size_t)(count * t->size));
}

/* The columns of one row of blocks into the middle planes. */
static void run_middle(const tile *t, const fc_view *in, const char *from) {
  int64_t n = t->d->ny;
  for (int64_t x = 0; x < t->width; x += t->lanes) {
    int64_t count = fc_smaller(t->lanes, t->width - x);
    const char *column = from + x * in->stride[FC_AXIS_X];
    load_columns(t, t->re, in, column, n, count);
    load_columns(t, t->im, in, column + in->stride[FC_AXIS_C], n, count);
    int bad = tainted(t, n);
    /* With real and imaginary parts exchanged this is the inverse. */
    fc_fft_run(t->d->complex, t->im, t->re, t->lanes, t->rest);
    t->f->scale(t->re, n * t->lanes, 1.0 / (double)n);
    t->f->scale(t->im, n * t->lanes, 1.0 / (double)n);
    if (bad) {
      t->k->spread(t->re, t->taint, n, t->lanes);
      t->k->spread(t->im, t->taint, n, t->lanes);
    }
    keep_columns(t, t->middle_re, t->re, x, count);
    keep_columns(t, t->middle_im, t->im, x, count);
  }
}

static void run_xy(const tile *t, const fc_view *in, const char *from, const fc_view *out, char *to,
                   uint32_t *notes) {
  int64_t bins = fc_dft_bins_x(t->d), total = t->d->ny * t->blocks;
  run_middle(t, in, from);
  for (int64_t first = 0; first < total; first += t->lanes) {
    int64_t count = fc_smaller(t->lanes, total - first);
    t->k->gather(t->re, t->middle_re + first * bins * t->size, bins, NULL, bins, count, t->lanes);
    t->k->gather(t->im, t->middle_im + first * bins * t->size, bins, NULL, bins, count, t->lanes);
    inverse_real(t, t->d->nx, bins);
    store_blocks(t, first, count, out, to, notes);
  }
}

fc_status fc_idft_cpu(const fc_dft *d, const fc_view *in, const fc_view *out, void *scratch,
                      uint32_t *notes) {
  fc_status status = fc_idft_check(d, in, out);
  if (status != FC_OK || fc_view_count(out) == 0) return status;
  tile t = tile_of(d, out, d->nx, scratch);
  int64_t blocks = d->ny ? out->shape[FC_AXIS_Y] / d->ny : 1;
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c++)
      for (int64_t b = 0; b < blocks; b++) {
        const char *from = fc_view_at(in, n, b * fc_dft_bins_y(d), 0, 2 * c);
        char *to = fc_view_at(out, n, b * d->ny, 0, c);
        (d->nx == 0 ? run_y : d->ny == 0 ? run_x : run_xy)(&t, in, from, out, to, notes);
      }
  return FC_OK;
}
