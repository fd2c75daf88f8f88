/* SPDX-License-Identifier: MIT */
/*
 * randoms.h - random trials of noise and of twists of colour, for the test of the CPU versions and for that
 * of the CUDA ones.
 */
#ifndef FC_TESTS_RANDOMS_H
#define FC_TESTS_RANDOMS_H

#include "filters/color/twist.h"
#include "filters/generate/noise.h"
#include "tests/filters/views.h"

typedef struct trial {
  int twists;
  fc_noise noise;
  fc_twist twist;
} trial;

static inline trial trial_new(int64_t channels) {
  trial t = {.twists = (int)random_int(0, 1)};
  t.noise = (fc_noise){.compute = random_int(0, 1) ? FC_F64 : FC_F32,
                       .even = (int32_t)random_int(0, 1),
                       .shared = (int32_t)random_int(0, 1),
                       .key = random_bits(),
                       .deviation = fabs(random_real()) * 40,
                       .colors = random_int(0, channels)};
  t.twist = (fc_twist){.compute = t.noise.compute, .colors = channels < 3 ? 1 : 3, .white = 255};
  t.twist.extra = (int32_t)channels - t.twist.colors;
  fc_twist_set(&t.twist, fabs(random_real()) * 2, fabs(random_real()) * 2, fabs(random_real()) * 2,
               random_real() / 2);
  return t;
}

#endif
