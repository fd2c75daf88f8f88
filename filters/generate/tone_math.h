/* SPDX-License-Identifier: MIT */
/*
 * tone_math.h - one sample of tone.h, for the host and a device.
 */
#ifndef FC_FILTERS_TONE_MATH_H
#define FC_FILTERS_TONE_MATH_H

#include "filters/generate/tone.h"
#include "filters/pointwise/dither_math.h"

#ifdef __CUDACC__
#define FC_TONE_FN static __host__ __device__ inline
#else
#define FC_TONE_FN static inline
#endif

/* Rounded separately; a device would fuse them. */
FC_TONE_FN double fc_tone_multiply(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

FC_TONE_FN double fc_tone_multiply_add(double a, double b, double c) {
#ifdef __CUDA_ARCH__
  return __dadd_rn(__dmul_rn(a, b), c);
#else
  return a * b + c;
#endif
}

FC_TONE_FN uint64_t fc_tone_phase(uint64_t step, uint64_t sweep, uint64_t t) {
  return t * (step + sweep * t);
}

/* The sine of a phase: folded into the quarters beside 0, then the Taylor series of sin(2 pi v), of which the
 * first term left out is 2e-18 at v = 1/4. */
FC_TONE_FN double fc_tone_sine(uint64_t phase) {
  const uint64_t quarter = (uint64_t)1 << 62;
  uint64_t folded = phase + quarter > 2 * quarter ? 2 * quarter - phase : phase;
  double v = fc_tone_multiply((double)(int64_t)folded, 0x1p-64), z = fc_tone_multiply(v, v);
  double sum = 0.0011309237482517963;
  sum = fc_tone_multiply_add(sum, z, -0.012031585942120627);
  sum = fc_tone_multiply_add(sum, z, 0.10422916220813984);
  sum = fc_tone_multiply_add(sum, z, -0.7181223017785006);
  sum = fc_tone_multiply_add(sum, z, 3.819952584848282);
  sum = fc_tone_multiply_add(sum, z, -15.09464257682299);
  sum = fc_tone_multiply_add(sum, z, 42.058693944897655);
  sum = fc_tone_multiply_add(sum, z, -76.70585975306139);
  sum = fc_tone_multiply_add(sum, z, 81.60524927607506);
  sum = fc_tone_multiply_add(sum, z, -41.34170224039976);
  sum = fc_tone_multiply_add(sum, z, 6.283185307179586);
  return fc_tone_multiply(v, sum);
}

/* The state of the generator at a sample; it increases by FC_DITHER_GROWTH per sample. */
FC_TONE_FN uint64_t fc_tone_noise_state(uint64_t seed, int64_t t, int64_t channel) {
  return fc_dither_frame(seed, 0) + fc_dither_place(0, t, channel);
}

/* 53 bits of it, in [-1, 1): exact. */
FC_TONE_FN double fc_tone_noise(uint64_t state) {
  return fc_tone_multiply_add((double)(int64_t)(fc_dither_mix(state) >> 11), 0x1p-52, -1);
}

FC_TONE_FN double fc_tone_square(uint64_t phase) {
  return phase >> 63 ? -1 : 1;
}

#endif
