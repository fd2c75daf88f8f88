/* SPDX-License-Identifier: MIT */
/*
 * dft.c - the reference, and the CPU version, which processes as many lines at a time as a vector has lanes:
 * transposed blocks of rows, or neighbouring columns.
 */
#include <math.h>
#include <string.h>

#include "filters/fourier/dft.h"
#include "filters/fourier/dft_tile.h"
#include "filters/base/turn.h"

fc_status fc_dft_check(const fc_dft *d, const fc_view *in, const fc_view *out) {
  if (d->nx < 0 || d->ny < 0 || d->nx + d->ny == 0) return FC_INVALID;
  if (d->components < 1 || d->components > FC_COMPONENTS) return FC_INVALID;
  for (int i = 0; i < d->components; i++)
    if (d->component[i] < 0 || d->component[i] >= FC_COMPONENTS) return FC_INVALID;
  if (in->shape[FC_AXIS_N] != out->shape[FC_AXIS_N]) return FC_INVALID;
  if (out->shape[FC_AXIS_X] % fc_dft_bins_x(d) != 0 || out->shape[FC_AXIS_Y] % fc_dft_bins_y(d) != 0)
    return FC_INVALID;
  return out->shape[FC_AXIS_C] == in->shape[FC_AXIS_C] * d->components ? FC_OK : FC_INVALID;
}

/* ---- reference -------------------------------------------------------------- */

/* Tables of cosines and sines, and the rows of one block after the transform along X. */
typedef struct reference {
  const fc_dft *d;
  const fc_view *in;
  double *turns_x, *turns_y, *rows;
} reference;

size_t fc_dft_ref_scratch(const fc_dft *d, const fc_view *out) {
  (void)out;
  return (size_t)(2 * (d->nx + d->ny + fc_larger(d->ny, 1) * fc_dft_bins_x(d))) * sizeof(double);
}

/* Bin k of `n` values; value i is real and imaginary part at from[i * step]. */
static void reference_bin(const double *from, int64_t step, int64_t n, int64_t k, const double *turns,
                          double *bin) {
  bin[0] = bin[1] = 0;
  for (int64_t i = 0; i < n; i++) {
    const double *x = from + i * step, *turn = turns + 2 * (k * i % n);
    bin[0] += x[0] * turn[0] + x[1] * turn[1];
    bin[1] += x[1] * turn[0] - x[0] * turn[1];
  }
}

/* The row of a block that begins at `from`, along X. A non-finite value makes the whole row NaN. */
static void reference_row(const reference *r, const char *from, double *to) {
  const fc_dft *d = r->d;
  int64_t n = fc_larger(d->nx, 1);
  for (int64_t k = 0; k < fc_dft_bins_x(d); k++) {
    double *bin = to + 2 * k;
    bin[0] = bin[1] = 0;
    for (int64_t i = 0; i < n; i++) {
      double x, c = 1, s = 0;
      fc_load_f64(&x, from + i * r->in->stride[FC_AXIS_X], 0, 1, r->in->kind, r->in->dtype);
      if (d->compute == FC_F32) x = (float)x;
      if (d->nx) c = r->turns_x[2 * (k * i % n)], s = r->turns_x[2 * (k * i % n) + 1];
      bin[0] += x * c + 0 * x;
      bin[1] -= x * s + 0 * x;
    }
  }
}

static double reference_component(const double *bin, int component) {
  double power = bin[0] * bin[0] + bin[1] * bin[1];
  switch (component) {
  case FC_RE: return bin[0];
  case FC_IM: return bin[1];
  case FC_MAG: return sqrt(power);
  case FC_DB: return 10 * log10(power < FC_DB_FLOOR ? FC_DB_FLOOR : power);
  default: return power;
  }
}

/* One block; `from` its first value, `to` its first bin. */
static void reference_block(const reference *r, const char *from, const fc_view *out, char *to,
                            uint32_t *notes) {
  const fc_dft *d = r->d;
  int64_t bins = fc_dft_bins_x(d);
  for (int64_t i = 0; i < fc_larger(d->ny, 1); i++)
    reference_row(r, from + i * r->in->stride[FC_AXIS_Y], r->rows + i * 2 * bins);
  for (int64_t ky = 0; ky < fc_dft_bins_y(d); ky++)
    for (int64_t kx = 0; kx < bins; kx++) {
      double bin[2] = {r->rows[2 * kx], r->rows[2 * kx + 1]};
      if (d->ny) reference_bin(r->rows + 2 * kx, 2 * bins, d->ny, ky, r->turns_y, bin);
      bin[0] *= d->scale, bin[1] *= d->scale;
      for (int c = 0; c < d->components; c++) {
        double value = reference_component(bin, d->component[c]);
        fc_store_f64(to + ky * out->stride[FC_AXIS_Y] + kx * out->stride[FC_AXIS_X] +
                         c * out->stride[FC_AXIS_C],
                     0, &value, 1, out->kind, out->dtype, notes);
      }
    }
}

fc_status fc_dft_ref(const fc_dft *d, const fc_view *in, const fc_view *out, void *scratch, uint32_t *notes) {
  fc_status status = fc_dft_check(d, in, out);
  if (status != FC_OK) return status;
  reference r = {d, in, scratch, (double *)scratch + 2 * d->nx, (double *)scratch + 2 * (d->nx + d->ny)};
  for (int64_t i = 0; i < d->nx; i++) fc_turn(i, d->nx, &r.turns_x[2 * i], &r.turns_x[2 * i + 1]);
  for (int64_t i = 0; i < d->ny; i++) fc_turn(i, d->ny, &r.turns_y[2 * i], &r.turns_y[2 * i + 1]);
  int64_t wide = fc_dft_bins_x(d), high = fc_dft_bins_y(d);
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < out->shape[FC_AXIS_Y] / high; y++)
      for (int64_t x = 0; x < out->shape[FC_AXIS_X] / wide; x++)
        for (int64_t c = 0; c < in->shape[FC_AXIS_C]; c++)
          reference_block(&r, fc_view_at(in, n, y * fc_larger(d->ny, 1), x * fc_larger(d->nx, 1), c), out,
                          fc_view_at(out, n, y * high, x * wide, c * d->components), notes);
  return FC_OK;
}

/* ---- the CPU: lanes -------------------------------------------------------------- */

size_t fc_dft_scratch(const fc_dft *d, const fc_view *out) {
  return (size_t)tile_of(d, out, fc_dft_bins_x(d), fc_nowhere()).bytes;
}

/* The bins above half of a real transform: the conjugates of those below. */
static void mirror(const tile *t, int64_t n) {
  int64_t row = t->lanes * t->size;
  for (int64_t k = n / 2 + 1; k < n; k++) {
    memcpy(t->re + k * row, t->re + (n - k) * row, (size_t)row);
    memcpy(t->im + k * row, t->im + (n - k) * row, (size_t)row);
    t->f->scale(t->im + k * row, t->lanes, -1);
  }
}

/* Transforms the n real values of each lane of x into `bins` of re and im. */
static void transform_real(const tile *t, int64_t n, int64_t bins) {
  fc_rfft_forward(t->d->real, t->x, t->re, t->im, t->lanes, t->rest);
  if (bins > n / 2 + 1) mirror(t, n);
  tile_untaint(t);
  if (!tile_taint(t, t->x, n)) return;
  t->k->spread(t->re, t->taint, bins, t->lanes);
  t->k->spread(t->im, t->taint, bins, t->lanes);
}

static void scale_bins(const tile *t, int64_t bins) {
  if (t->d->scale == 1) return;
  t->f->scale(t->re, bins * t->lanes, t->d->scale);
  t->f->scale(t->im, bins * t->lanes, t->d->scale);
}

/* One component of all lanes; returns its address. */
static const char *component_of(const tile *t, int component, int64_t bins) {
  int64_t count = bins * t->lanes;
  switch (component) {
  case FC_RE: return t->re;
  case FC_IM: return t->im;
  case FC_MAG: t->k->magnitude(t->value, t->re, t->im, count); break;
  case FC_DB:
    t->k->power(t->value, t->re, t->im, count);
    t->k->decibels(t->value, t->value, count);
    break;
  default: t->k->power(t->value, t->re, t->im, count); break;
  }
  return t->value;
}

/* ---- the CPU: along X -------------------------------------------------------------- */

/* The address of `count` blocks, numbered through the rows from `base` on, if the kernels can use them in
 * place: contiguous, `step` bytes from one element to the next. */
static char *in_place(const tile *t, const fc_view *v, const char *base, int64_t first, int64_t count,
                      int64_t columns, int64_t step) {
  int64_t block = first % t->blocks;
  if (v->dtype != t->d->compute || step != t->size || count > t->blocks - block) return NULL;
  return (char *)base + first / t->blocks * v->stride[FC_AXIS_Y] + block * columns * v->stride[FC_AXIS_X];
}

/* Loads `count` blocks of the rows from `from` on, numbered through the rows, beginning with `first`. */
static void load_blocks(const tile *t, const fc_view *in, const char *from, int64_t first, int64_t count) {
  int64_t n = t->d->nx, stride = in->stride[FC_AXIS_X];
  const char *blocks = in_place(t, in, from, first, count, n, stride);
  for (int64_t l = 0, run; l < count && !blocks; l += run) {
    int64_t row = (first + l) / t->blocks, block = (first + l) % t->blocks;
    run = fc_smaller(count - l, t->blocks - block);
    fc_load(t->turned + l * n * t->size, t->d->compute,
            from + row * in->stride[FC_AXIS_Y] + block * n * stride, stride, run * n, in->kind, in->dtype);
  }
  t->k->gather(t->x, blocks ? blocks : t->turned, n, NULL, n, count, t->lanes);
}

/* Stores `each` values of this many blocks from t->turned, numbered likewise, `step` bytes apart. */
static void store_turned(const tile *t, int64_t first, int64_t count, int64_t each, const fc_view *out,
                         char *to, int64_t step, uint32_t *notes) {
  int64_t bins = fc_dft_bins_x(t->d);
  for (int64_t l = 0, run; l < count; l += run) {
    int64_t row = (first + l) / t->blocks, block = (first + l) % t->blocks;
    run = fc_smaller(count - l, t->blocks - block);
    fc_store(to + row * out->stride[FC_AXIS_Y] + block * bins * out->stride[FC_AXIS_X], step,
             t->turned + l * each * t->size, t->d->compute, run * each, out->kind, out->dtype, notes);
  }
}

/* Real and imaginary parts, in either order, that are adjacent. */
static int are_pairs(const fc_dft *d, const fc_view *out) {
  return d->components == 2 && d->component[0] <= FC_IM && d->component[1] <= FC_IM &&
         out->stride[FC_AXIS_X] == 2 * out->stride[FC_AXIS_C];
}

static void store_pairs(const tile *t, int64_t first, int64_t count, const fc_view *out, char *to,
                        uint32_t *notes) {
  const fc_dft *d = t->d;
  int64_t bins = fc_dft_bins_x(d), step = out->stride[FC_AXIS_C];
  char *there = in_place(t, out, to, first, count, bins, step);
  t->k->weave(there ? there : t->turned, component_of(t, d->component[0], bins),
              component_of(t, d->component[1], bins), bins, count, t->lanes);
  if (!there) store_turned(t, first, count, 2 * bins, out, to, step, notes);
}

/* All components of the bins of these blocks, numbered likewise. */
static void store_blocks(const tile *t, int64_t first, int64_t count, const fc_view *out, char *to,
                         uint32_t *notes) {
  const fc_dft *d = t->d;
  int64_t bins = fc_dft_bins_x(d);
  for (int c = 0; c < d->components; c++) {
    t->k->scatter(t->turned, component_of(t, d->component[c], bins), bins, count, t->lanes);
    store_turned(t, first, count, bins, out, to + c * out->stride[FC_AXIS_C], out->stride[FC_AXIS_X], notes);
  }
}

/* Every row of one channel, from `from` on, into rows of out from `to` on. */
static void run_x(const tile *t, const fc_view *in, const char *from, const fc_view *out, char *to,
                  uint32_t *notes) {
  int64_t bins = fc_dft_bins_x(t->d), total = out->shape[FC_AXIS_Y] * t->blocks;
  for (int64_t first = 0; first < total; first += t->lanes) {
    int64_t count = fc_smaller(t->lanes, total - first);
    load_blocks(t, in, from, first, count);
    transform_real(t, t->d->nx, bins);
    scale_bins(t, bins);
    (are_pairs(t->d, out) ? store_pairs : store_blocks)(t, first, count, out, to, notes);
  }
}

/* ---- the CPU: along Y --------------------------------------------------------------- */

/* Stores the lanes as columns, `count` of them, of the block of bins at `to`. */
static void store_columns(const tile *t, int64_t bins, int64_t count, const fc_view *out, char *to,
                          uint32_t *notes) {
  for (int c = 0; c < t->d->components; c++) {
    const char *plane = component_of(t, t->d->component[c], bins);
    for (int64_t k = 0; k < bins; k++)
      fc_store(to + k * out->stride[FC_AXIS_Y] + c * out->stride[FC_AXIS_C], out->stride[FC_AXIS_X],
               plane + k * t->lanes * t->size, t->d->compute, count, out->kind, out->dtype, notes);
  }
}

/* One row of blocks of one channel: real columns. */
static void run_y(const tile *t, const fc_view *in, const char *from, const fc_view *out, char *to,
                  uint32_t *notes) {
  int64_t n = t->d->ny, bins = fc_dft_bins_y(t->d), row = t->lanes * t->size;
  for (int64_t x = 0; x < out->shape[FC_AXIS_X]; x += t->lanes) {
    int64_t count = fc_smaller(t->lanes, out->shape[FC_AXIS_X] - x);
    if (count < t->lanes) memset(t->x, 0, (size_t)(n * row));
    for (int64_t i = 0; i < n; i++)
      fc_load(t->x + i * row, t->d->compute, from + i * in->stride[FC_AXIS_Y] + x * in->stride[FC_AXIS_X],
              in->stride[FC_AXIS_X], count, in->kind, in->dtype);
    transform_real(t, n, bins);
    scale_bins(t, bins);
    store_columns(t, bins, count, out, to + x * out->stride[FC_AXIS_X], notes);
  }
}

/* ---- the CPU: both ------------------------------------------------------------------- */

/* Transforms one row of blocks along X, into the middle planes. */
static void run_middle(const tile *t, const fc_view *in, const char *from) {
  int64_t bins = fc_dft_bins_x(t->d), total = t->d->ny * t->blocks;
  for (int64_t first = 0; first < total; first += t->lanes) {
    int64_t count = fc_smaller(t->lanes, total - first);
    load_blocks(t, in, from, first, count);
    transform_real(t, t->d->nx, bins);
    /* Blocks are numbered along the rows, in memory order. */
    t->k->scatter(t->turned, t->re, bins, count, t->lanes);
    memcpy(t->middle_re + first * bins * t->size, t->turned, (size_t)(count * bins * t->size));
    t->k->scatter(t->turned, t->im, bins, count, t->lanes);
    memcpy(t->middle_im + first * bins * t->size, t->turned, (size_t)(count * bins * t->size));
  }
}

static void load_columns(const tile *t, char *plane, const char *middle, int64_t x, int64_t count) {
  int64_t row = t->lanes * t->size;
  if (count < t->lanes) memset(plane, 0, (size_t)(t->d->ny * row));
  for (int64_t i = 0; i < t->d->ny; i++)
    memcpy(plane + i * row, middle + (i * t->width + x) * t->size, (size_t)(count * t->size));
}

static void run_xy(const tile *t, const fc_view *in, const char *from, const fc_view *out, char *to,
                   uint32_t *notes) {
  run_middle(t, in, from);
  for (int64_t x = 0; x < t->width; x += t->lanes) {
    int64_t count = fc_smaller(t->lanes, t->width - x);
    load_columns(t, t->re, t->middle_re, x, count);
    load_columns(t, t->im, t->middle_im, x, count);
    fc_fft_run(t->d->complex, t->re, t->im, t->lanes, t->rest);
    scale_bins(t, t->d->ny);
    store_columns(t, t->d->ny, count, out, to + x * out->stride[FC_AXIS_X], notes);
  }
}

fc_status fc_dft_cpu(const fc_dft *d, const fc_view *in, const fc_view *out, void *scratch, uint32_t *notes) {
  fc_status status = fc_dft_check(d, in, out);
  if (status != FC_OK || fc_view_count(out) == 0) return status;
  tile t = tile_of(d, out, fc_dft_bins_x(d), scratch);
  int64_t high = fc_dft_bins_y(d), blocks = d->ny ? out->shape[FC_AXIS_Y] / high : 1;
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t c = 0; c < in->shape[FC_AXIS_C]; c++)
      for (int64_t b = 0; b < blocks; b++) {
        const char *from = fc_view_at(in, n, b * d->ny, 0, c);
        char *to = fc_view_at(out, n, b * high, 0, c * d->components);
        (d->nx == 0 ? run_y : d->ny == 0 ? run_x : run_xy)(&t, in, from, out, to, notes);
      }
  return FC_OK;
}
