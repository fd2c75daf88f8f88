/* SPDX-License-Identifier: MIT */
/*
 * resample_kernels.h - the loops of resample.c, for one instruction set.
 *
 * A sum down columns goes along a row, a vector after the other. A sum along rows takes `lanes` rows at a
 * time, turned: element i of them side by side, so that it too goes a vector after the other, whatever the
 * channels; or one row by permutations, where an instruction set has them. Of the arrays of two, [0] is the
 * first pass and [1] the second: of bytes the first takes bytes and makes values of 6 bits after the point,
 * in 16, and the second makes bytes of them; else both are alike.
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

/* The same in groups of at most 32 values of which the windows lie within 64 values of the input. */
typedef struct fc_resample_groups {
  int64_t count, pairs; /* pairs of taps a window */
  int64_t halves;       /* whether each output is the mean of two inputs, */
  int64_t disjoint;     /* and these pairs follow one another */
  int64_t mixes;        /* whether each output is the mean of at most two inputs, weighted */
  int64_t *first;       /* a group: the value of the input that it begins with, */
  int64_t *values;      /* and how many it makes */
  uint16_t *begin;      /* 32 a group: of each value where its window begins, from there on */
  int16_t *weights; /* 64 a group and pair of taps, in the order in which `along` takes them; where it mixes,
                       of 32 values twice the weight of the second input */
} fc_resample_groups;

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
  /* The sums along one row of so many values, not turned, by groups; NULL: there is no such way. */
  void (*along[2])(const fc_resample_table *table, const fc_resample_groups *groups, int64_t channels,
                   const void *row, int64_t values, void *to);
  /* Both passes of an image halved: each of `count` values is the mean of two pixels of both rows. NULL:
   * there is no such way. */
  void (*quarter)(const void *const *rows, int64_t channels, void *to, int64_t count);
  /* fc_resample_values. */
  void (*values)(const struct fc_resample_axis *axis, int64_t o, int64_t first, int64_t taps, double *values);
  /* Colours times the last channel; and divided by it, or 0 if it is not above 0. Not for bytes. */
  void (*multiply)(void *row, int64_t pixels, int64_t channels);
  void (*divide)(void *row, int64_t pixels, int64_t channels);
  /* down[1] of two rows whose weights are not negative, of which `weight`, below 2^15, is twice the second.
   * NULL: there is no such way. Of values that no negative weight has made. */
  void (*mix)(const void *const *rows, int16_t weight, void *to, int64_t count);
} fc_resample_steps;

FC_ISA_DECLARE(fc_resample_steps, fc_resample_bytes);
FC_ISA_DECLARE(fc_resample_steps, fc_resample_f32);
FC_ISA_DECLARE(fc_resample_steps, fc_resample_f64);

#endif
