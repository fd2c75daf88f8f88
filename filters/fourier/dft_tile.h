/* SPDX-License-Identifier: MIT */
/*
 * dft_tile.h - code shared by dft.c and idft.c: scratch memory for as many lines at a time as a vector has
 * lanes, more if they are short, fewer if there are fewer. A line is a block of a row, or a column; planes
 * are rows of lanes. Internal to filters/.
 */
#ifndef FC_FILTERS_DFT_TILE_H
#define FC_FILTERS_DFT_TILE_H

#include <math.h>
#include <string.h>

#include "filters/fourier/dft.h"
#include "filters/fourier/fft_kernels.h"
#include "filters/base/integers.h"
#include "filters/fourier/stft_kernels.h"

/* Short lines are processed together until a plane has this many values: so calls process many elements,
 * and all planes stay in the cache. */
#define TILE_VALUES 2048

typedef struct tile {
  const fc_dft *d;
  const fc_stft_kernels *k;
  const fc_fft_kernels *f;
  int64_t lanes, size;
  int64_t width, blocks; /* bins of a row, and blocks of a row (1: X is not transformed) */
  char *x, *re, *im, *value, *turned, *taint, *middle_re, *middle_im, *rest;
  int64_t bytes;
} tile;

/* `shape` is that of the values or of the bins; `columns` is the size of a block along X in it. */
static inline tile tile_of(const fc_dft *d, const fc_view *shape, int64_t columns, char *scratch) {
  int64_t bins = fc_dft_bins_x(d), blocks = d->nx ? shape->shape[FC_AXIS_X] / columns : 1;
  int64_t width = d->nx ? blocks * bins : shape->shape[FC_AXIS_X];
  /* A transform of a single line must not be computed for idle lanes too. */
  int64_t lines = d->nx == 0   ? width
                  : d->ny == 0 ? shape->shape[FC_AXIS_Y] * blocks
                               : fc_larger(width, d->ny * blocks);
  tile t;
  t.d = d;
  t.k = fc_stft_kernels_of(d->isa, d->compute);
  t.f = fc_fft_kernels_of(d->isa, d->compute);
  t.lanes = fc_rfft_lanes(d->real);
  t.lanes *= fc_larger(TILE_VALUES / (t.lanes * fc_larger(d->nx, d->ny)), 1);
  t.lanes = fc_larger(fc_smaller(t.lanes, lines), 1);
  t.size = d->compute == FC_F64 ? 8 : 4;
  t.width = width;
  t.blocks = blocks;
  int64_t plane = fc_align64((fc_larger(d->nx, d->ny) + 2) * t.lanes * t.size);
  int64_t middle = d->complex ? fc_align64(d->ny * width * t.size) : 0;
  t.x = scratch;
  t.re = t.x + plane;
  t.im = t.re + plane;
  t.value = t.im + plane;
  t.turned = t.value + plane;
  t.taint = t.turned + 2 * plane; /* pairs of real and imaginary parts */
  t.middle_re = t.taint + fc_align64(t.lanes * t.size);
  t.middle_im = t.middle_re + middle;
  t.rest = t.middle_im + middle;
  int64_t real = (int64_t)fc_rfft_scratch(d->real, t.lanes);
  int64_t complex = d->complex ? (int64_t)fc_fft_scratch(d->complex, t.lanes) : 0;
  t.bytes = t.rest - scratch + fc_larger(real, complex);
  return t;
}

/* Records which lanes of a plane hold non-finite values; returns whether there are any. */
static inline int tile_taint(const tile *t, const char *plane, int64_t rows) {
  int any = 0;
  t->k->taint(t->taint, plane, rows, t->lanes);
  for (int64_t l = 0; l < t->lanes; l++)
    any |= isnan(t->size == 8 ? ((double *)t->taint)[l] : (double)((float *)t->taint)[l]) != 0;
  return any;
}

static inline void tile_untaint(const tile *t) {
  memset(t->taint, 0, (size_t)(t->lanes * t->size));
}

#endif
