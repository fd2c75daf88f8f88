/* SPDX-License-Identifier: MIT */
/*
 * geometry.h - trials of filters/geometry: signals of random types, layouts and sizes, and what is done to
 * them.
 */
#ifndef FC_TESTS_GEOMETRY_H
#define FC_TESTS_GEOMETRY_H

#include "filters/geometry/permute.h"
#include "filters/geometry/place.h"
#include "tests/filters/views.h"

typedef struct permute_trial {
  fc_permute permute;
  signal in, out;
} permute_trial;

static inline permute_trial permute_trial_new(void) {
  static const int32_t orders[6][3] = {{1, 2, 3}, {2, 1, 3}, {3, 1, 2}, {2, 3, 1}, {1, 3, 2}, {3, 2, 1}};
  const int64_t shape[FC_AXES] = {random_int(1, 2), random_int(1, 70), random_int(1, 90), random_int(1, 6)};
  const int dtype = (int)random_int(0, FC_DTYPE_COUNT - 1), order = (int)random_int(0, 5);
  permute_trial t = {.permute = FC_PERMUTE_NONE};
  int64_t made[FC_AXES] = {shape[0], 0, 0, 0};
  for (int a = 1; a < FC_AXES; a++) {
    t.permute.axis[a] = orders[order][a - 1];
    t.permute.reversed[a] = (int32_t)random_int(0, 1);
    made[a] = shape[t.permute.axis[a]];
  }
  t.in = signal_new(FC_ARRAY, dtype, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  t.out = signal_new(FC_ARRAY, dtype, made, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  signal_fill(&t.in, 0);
  return t;
}

static inline void permute_trial_free(permute_trial *t) {
  signal_free(&t->in), signal_free(&t->out);
}

typedef struct place_trial {
  fc_place place;
  signal in, out;
} place_trial;

/* Codes of integers, so that they mean what they are. */
static inline place_trial place_trial_new(void) {
  const int64_t shape[FC_AXES] = {random_int(1, 2), random_int(1, 20), random_int(1, 60), random_int(1, 5)};
  const int dtype = (int)random_int(FC_U8, FC_I32);
  place_trial t = {.place = {random_int(0, 9), random_int(0, 40), {1, 2, 3, 4, 5}, 1}};
  if (random_int(0, 1)) t.place.n_codes = (int32_t)shape[FC_AXIS_C];
  const int64_t made[FC_AXES] = {shape[0], shape[1] + t.place.down + random_int(0, 9),
                                 shape[2] + t.place.right + random_int(0, 40), shape[3]};
  t.in = signal_new(FC_IMAGE, dtype, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  t.out = signal_new(FC_IMAGE, dtype, made, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  signal_fill(&t.in, 0);
  return t;
}

static inline void place_trial_free(place_trial *t) {
  signal_free(&t->in), signal_free(&t->out);
}

#endif
