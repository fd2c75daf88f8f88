/* SPDX-License-Identifier: MIT */
/*
 * conv1d_trials.h - random convolutions of random views, for the tests of the CPU and the
 * CUDA version alike, and how far two versions may differ.
 */
#ifndef FC_TESTS_CONV1D_TRIALS_H
#define FC_TESTS_CONV1D_TRIALS_H

#include "filters/conv1d/conv1d.h"
#include "tests/filters/views.h"

typedef struct trial {
  fc_conv1d c;
  int kind, in_dtype, out_dtype, in_layout, out_layout;
  int64_t shape[4];
  void *mask;
} trial;

static inline int64_t pick(const int64_t *from, int64_t count) {
  return from[random_int(0, count - 1)];
}

static inline int64_t random_extent(void) {
  static const int64_t extents[] = {0, 1, 2, 3, 5, 7, 13, 31, 32, 33, 64, 67, 127, 131};
  return pick(extents, sizeof extents / sizeof *extents);
}

static inline int64_t random_taps(void) {
  static const int64_t taps[] = {1, 2, 3, 4, 5, 7, 8, 16, 31, 100, 127, 128, 129, 257, 300};
  return pick(taps, sizeof taps / sizeof *taps);
}

/* The mask is scaled so that integer results mostly fit. */
static inline void trial_mask(trial *t) {
  int64_t count = t->c.taps * t->c.masks;
  t->mask = malloc((size_t)count * 8);
  for (int64_t i = 0; i < count; i++) {
    double tap = random_real() / (double)t->c.taps;
    if (t->c.compute == FC_F64)
      ((double *)t->mask)[i] = tap;
    else
      ((float *)t->mask)[i] = (float)tap;
  }
  t->c.mask = t->mask;
}

static inline trial trial_new(void) {
  static const int64_t channels[] = {1, 1, 2, 3, 4, 7, 33, 64, 70};
  trial t;
  memset(&t, 0, sizeof t);
  t.kind = (int)random_int(0, FC_KIND_COUNT - 1);
  t.in_dtype = (int)random_int(0, FC_DTYPE_COUNT - 1);
  t.out_dtype = (int)random_int(0, FC_DTYPE_COUNT - 1);
  t.in_layout = (int)random_int(0, LAYOUT_COUNT - 1);
  t.out_layout = random_int(0, 1) ? t.in_layout : (int)random_int(0, LAYOUT_COUNT - 1);
  t.c.axis = random_int(0, 1) ? FC_AXIS_X : FC_AXIS_Y;
  t.c.compute = random_int(0, 1) ? FC_F32 : FC_F64;
  t.shape[0] = random_int(0, 3) ? 1 : 2;
  t.shape[1] = t.c.axis == FC_AXIS_Y ? random_extent() : random_int(1, 3);
  t.shape[2] = random_extent();
  t.shape[3] = pick(channels, 9);
  if (t.c.axis == FC_AXIS_X && t.shape[3] < 4 && random_int(0, 7) == 0) t.shape[2] = 4099;
  t.c.taps = random_taps();
  t.c.masks = random_int(0, 2) ? 1 : t.shape[3];
  t.c.before = random_int(0, t.c.taps - 1);
  trial_mask(&t);
  return t;
}

static inline void trial_describe(const trial *t, char *text, size_t size) {
  snprintf(text, size,
           "kind %d %s %s -> %s %s, %" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64 ", axis %d, %" PRId64
           " taps, %" PRId64 " masks, before %" PRId64 ", %s",
           t->kind, fc_dtype_name(t->in_dtype), layout_name(t->in_layout), fc_dtype_name(t->out_dtype),
           layout_name(t->out_layout), t->shape[0], t->shape[1], t->shape[2], t->shape[3], t->c.axis,
           t->c.taps, t->c.masks, t->c.before, fc_dtype_name(t->c.compute));
}

/* By how much two versions may differ in an output: rounding of sums whose terms are at
 * most `largest` together, and one code where that tips an integer over. */
static inline double tolerance(const trial *t) {
  double largest = t->in_dtype >= FC_F32 || t->kind == FC_AUDIO ? 1
                   : t->in_dtype == FC_I32                      ? 2147483648.0
                                                                : 65535.0;
  double in_codes = largest / fc_scaling_of(t->kind, t->out_dtype).scale;
  double rounding = (t->c.compute == FC_F64 && t->out_dtype != FC_F32 ? 1e-14 : 1e-6) * in_codes;
  return rounding + (t->out_dtype < FC_F32 ? 1 : 0);
}

static inline void compare(const trial *t, const signal *got, const signal *want, const char *name) {
  int64_t at[FC_AXES];
  double limit = tolerance(t);
  FOR_EACH(&want->view, at) {
    double a = view_get(&got->view, at), b = view_get(&want->view, at);
    if (!(fabs(a - b) <= limit)) {
      char text[256];
      trial_describe(t, text, sizeof text);
      CHECK(fabs(a - b) <= limit, "%s: %s: at %" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 " %.9g, not %.9g",
            name, text, at[0], at[1], at[2], at[3], a, b);
      return;
    }
  }
  CHECK(1, "same");
}

#endif
