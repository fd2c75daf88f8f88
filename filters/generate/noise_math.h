/* SPDX-License-Identifier: MIT */
/*
 * noise_math.h - the numbers of noise.h, for the host and a device. One draw of four words serves four
 * samples along x, from a multiple of 4 on.
 */
#ifndef FC_FILTERS_NOISE_MATH_H
#define FC_FILTERS_NOISE_MATH_H

#include "core/contract/random.h"
#include "filters/base/power.h"
#include "filters/generate/noise.h"
#include "filters/generate/tone_math.h"

#ifdef __CUDACC__
#define FC_NOISE_FN static __device__ __forceinline__
#else
#define FC_NOISE_FN static inline __attribute__((unused, always_inline))
#endif

/* The half of the counter that holds row and channel. */
FC_RANDOM_FN uint64_t fc_noise_row(int64_t y, int64_t c) {
  return (uint64_t)c << 40 ^ (uint64_t)y;
}

/* Uniform in (0, 1), ends excluded. */
FC_NOISE_FN double fc_noise_part(uint32_t word) {
  return ((double)word + 0.5) * 0x1p-32;
}

/* With standard deviation 1: half the range is the square root of 3. */
FC_NOISE_FN double fc_noise_even(uint32_t word) {
  return fc_tone_multiply(((double)word + 0.5) - 2147483648.0, 1.7320508075688772 * 0x1p-31);
}

/* The radius of a pair of normal numbers: the square root of -2 ln u. */
FC_NOISE_FN double fc_noise_radius(uint32_t word) {
#ifdef __CUDACC__
  return __dsqrt_rn(fc_tone_multiply(fc_log2(fc_noise_part(word)), -1.3862943611198906));
#else
  return __builtin_sqrt(fc_tone_multiply(fc_log2(fc_noise_part(word)), -1.3862943611198906));
#endif
}

/* The second number of a pair is a quarter of a turn ahead. */
FC_NOISE_FN double fc_noise_wave(uint32_t word, int second) {
  return fc_tone_sine(((uint64_t)word << 32) + ((uint64_t)(second != 0) << 62));
}

/* The noise at x of a row, with standard deviation 1. */
FC_NOISE_FN double fc_noise_at(uint64_t key, uint64_t row, int64_t x, int even) {
  const fc_random_words drawn = fc_random_at(key, row, (uint64_t)x >> 2);
  const int lane = (int)(x & 3), pair = lane & 2;
  if (even) return fc_noise_even(drawn.word[lane]);
  return fc_tone_multiply(fc_noise_radius(drawn.word[pair]), fc_noise_wave(drawn.word[pair + 1], lane & 1));
}

#endif
