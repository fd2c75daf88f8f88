/* SPDX-License-Identifier: MIT */
/*
 * resample_kernels.h - the loops of resample.c, for one instruction set.
 *
 * A sum down columns is vectorised along the row. A sum along rows processes `lanes` rows at a time,
 * transposed: element i of all of them is adjacent, so that it is vectorised too, for any number of channels.
 * In arrays of two, [0] is the first pass and [1] the second: for bytes the first makes 16-bit values with 6
 * fractional bits from bytes, and the second makes bytes from them; for other types both are alike.
 */
#ifndef FC_FILTERS_RESAMPLE_KERNELS_H
#define FC_FILTERS_RESAMPLE_KERNELS_H

#include "filters/base/isa.h"

struct fc_resample_axis;

/* Outputs of an axis: for each its first input, taps and weights, `room` apart. */
typedef struct fc_resample_table {
  int64_t room;
  int32_t limits; /* bytes are limited to 0..255 between the passes */
  int64_t *first, *taps;
  char *weights; /* int16_t, or the compute type */
} fc_resample_table;

typedef struct fc_resample_steps {
  int64_t lanes, value_bytes; /* value_bytes: of a transposed value */
  /* to[i] = sum of weights[k] rows[k][i]. For bytes the number of taps is even. */
  void (*down[2])(const void *const *rows, const void *weights, int64_t taps, void *to, int64_t count);
  /* to[i * lanes + r] = rows[r][i]. */
  void (*turn[2])(const void *const *rows, int64_t count, void *to);
  /* Outputs [from, from + count) of the table from transposed pixels, of which the first is input `base`. */
  void (*across[2])(const fc_resample_table *table, int64_t from, int64_t count, int64_t channels,
                    const void *turned, int64_t base, void *to);
  /* rows[r][i] = from[i * lanes + r]. */
  void (*back[2])(const void *turned, int64_t count, void *const *rows);
  /* fc_resample_values. */
  void (*values)(const struct fc_resample_axis *axis, int64_t o, int64_t first, int64_t taps, double *values);
  /* Colours times the last channel; and divided by it, or 0 if it is not above 0. Not for bytes. */
  void (*multiply)(void *row, int64_t pixels, int64_t channels);
  void (*divide)(void *row, int64_t pixels, int64_t channels);
} fc_resample_steps;

FC_ISA_DECLARE(fc_resample_steps, fc_resample_bytes);
FC_ISA_DECLARE(fc_resample_steps, fc_resample_f32);
FC_ISA_DECLARE(fc_resample_steps, fc_resample_f64);

#endif
