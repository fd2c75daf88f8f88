/* SPDX-License-Identifier: MIT */
/*
 * tone_kernels.c - plain loops over tone_math.h that the compiler vectorises; contraction is off.
 */
#include "filters/generate/tone_kernels.h"
#include "filters/generate/tone_math.h"

static void sine(double *restrict to, int64_t count, const fc_tone *tone, uint64_t t) {
  const uint64_t step = tone->step, sweep = tone->sweep;
  const double level = tone->level;
  for (int64_t i = 0; i < count; i++)
    to[i] = level * fc_tone_sine(fc_tone_phase(step, sweep, t + (uint64_t)i));
}

static void square(double *restrict to, int64_t count, const fc_tone *tone, uint64_t t) {
  const uint64_t step = tone->step, sweep = tone->sweep;
  const double level = tone->level;
  for (int64_t i = 0; i < count; i++)
    to[i] = level * fc_tone_square(fc_tone_phase(step, sweep, t + (uint64_t)i));
}

static void noise(double *restrict to, int64_t count, const fc_tone *tone, uint64_t state) {
  const double level = tone->level;
  for (int64_t i = 0; i < count; i++) to[i] = level * fc_tone_noise(state + (uint64_t)i * FC_DITHER_GROWTH);
}

const fc_tone_kernels FC_ISA_NAME(fc_tone_kernels) = {sine, square, noise};
