/* SPDX-License-Identifier: MIT */
/*
 * gauss.h - what gauss and sharpen share: an instance with masks of a Gaussian, sampled, whose sum is exactly
 * 1 in the type computed with.
 */
#ifndef FC_PLUGINS_GAUSS_H
#define FC_PLUGINS_GAUSS_H

#include <math.h>
#include <stdlib.h>

#include "plugins/border.h"
#include "plugins/sepconv_state.h"

#define GAUSS_RADIUS_MOST 32767

#define GAUSS_SIGMA_PARAM(flags, preset)                                                                     \
  FC_PARAM(FC_FLOAT, (flags) | FC_PARAM_LIST, 2, "sigma",                                                    \
           "The standard deviation in pixels; two, separated by a comma, are that along rows and that down " \
           "columns.",                                                                                       \
           "pixels", preset, FC_FLOAT_BETWEEN(0, 1000), NULL, NULL, NULL)
#define GAUSS_TRUNCATE_PARAM                                                                                 \
  FC_FLOAT_PARAM(0, "truncate",                                                                              \
                 "How many standard deviations the mask reaches to either side, rounded to whole pixels: 4 " \
                 "as in SciPy, 3 as OpenCV takes for 8 bits.",                                               \
                 NULL, "4", FC_FLOAT_BETWEEN(0.1, 20))

/* 2 radius + 1 taps for each compute type. */
typedef struct gauss_mask {
  double *single, *wide;
  int64_t count;
} gauss_mask;

static inline void gauss_mask_clear(gauss_mask *m) {
  free(m->single);
  free(m->wide);
  *m = (gauss_mask){0};
}

/* Taps that are multiples of `unit`, so that any sum of them is one too, and the middle tap can make the
 * sum exactly 1. */
static inline void gauss_fill(double *taps, int64_t radius, double sigma, double unit) {
  double sum = 1, rest = 0;
  for (int64_t i = 1; i <= radius; i++) sum += 2 * exp(-0.5 * (double)(i * i) / (sigma * sigma));
  for (int64_t i = 1; i <= radius; i++) {
    const double tap = rint(exp(-0.5 * (double)(i * i) / (sigma * sigma)) / sum / unit) * unit;
    taps[radius - i] = taps[radius + i] = tap;
    rest += 2 * tap;
  }
  taps[radius] = 1 - rest;
}

static inline fc_status gauss_mask_make(const fc_host *host, double sigma, double truncate, gauss_mask *m) {
  const double reach = floor(sigma * truncate + 0.5);
  if (reach > GAUSS_RADIUS_MOST)
    return host->fail(
        host, FC_INVALID,
        "sigma=%g and truncate=%g make a mask that reaches %.0f pixels: at most %d are possible", sigma,
        truncate, reach, GAUSS_RADIUS_MOST);
  const int64_t radius = (int64_t)reach;
  m->count = 2 * radius + 1;
  m->single = malloc((size_t)m->count * sizeof(double)), m->wide = malloc((size_t)m->count * sizeof(double));
  if (!m->single || !m->wide) return host->fail(host, FC_NO_MEMORY, "out of memory");
  gauss_fill(m->single, radius, sigma, 0x1p-24);
  gauss_fill(m->wide, radius, sigma, 0x1p-53);
  return FC_OK;
}

/* ---- the instance ---------------------------------------------------------------- */

/* Its arguments begin with sigma; GAUSS_TRUNCATE_PARAM, BORDER_PARAM and BORDER_VALUE_PARAM are its last. */
typedef struct gauss {
  const fc_arg *const *args; /* the host's */
  const fc_arg *border, *value;
  gauss_mask x, y;
} gauss;

static inline void gauss_destroy(void *instance) {
  gauss *self = instance;
  if (!self) return;
  gauss_mask_clear(&self->x);
  gauss_mask_clear(&self->y);
  free(self);
}

static inline fc_status gauss_create_of(const fc_host *host, const fc_arg *const *args, int n_args,
                                        void **instance) {
  const fc_arg *sigma = args[0], *truncate = args[n_args - 3], *border = args[n_args - 2],
               *value = args[n_args - 1];
  fc_status status = border_check(host, border, value);
  if (status != FC_OK) return status;
  gauss *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, FC_NO_MEMORY, "out of memory");
  *self = (gauss){.args = args, .border = border, .value = value};
  status = gauss_mask_make(host, sigma->floats[0], truncate->floats[0], &self->x);
  if (status == FC_OK)
    status = gauss_mask_make(host, sigma->floats[sigma->count > 1], truncate->floats[0], &self->y);
  if (status != FC_OK)
    gauss_destroy(self);
  else
    *instance = self;
  return status;
}

static inline void gauss_terms(const gauss *self, fc_terms *terms) {
  mask2d_terms(terms, self->y.count, self->x.count);
  border_terms(self->border, self->value, terms);
  terms->work = 2.0 * (double)(self->x.count + self->y.count);
}

sepconv_taps sepconv_taps_of(const void *instance, int compute) {
  const gauss *self = instance;
  const int wide = compute == FC_F64;
  return (sepconv_taps){wide ? self->x.wide : self->x.single, wide ? self->y.wide : self->y.single,
                        self->x.count, self->y.count};
}

#endif
