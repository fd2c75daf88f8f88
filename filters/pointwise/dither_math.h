/* SPDX-License-Identifier: MIT */
/*
 * dither_math.h - the numbers from which the noise of dither.h is made, for the host and a device.
 */
#ifndef FC_FILTERS_DITHER_MATH_H
#define FC_FILTERS_DITHER_MATH_H

#include <stdint.h>

#ifdef __CUDACC__
#define FC_DITHER_FN static __host__ __device__ inline
#else
#define FC_DITHER_FN static inline
#endif

/* What the state grows by from place to place: along x what that of SplitMix64 does from number to number,
 * 2^64 by the golden ratio; down the rows and from channel to channel 2^64 by the plastic number (the root of
 * p^3 = p + 1, which does in two dimensions what the golden ratio does in one: M. Roberts's sequence R2) and
 * by its square. No two places within 2^20 columns, 2^16 rows and 64 channels of each other have states
 * closer than 712579, or alike in their lower 48 bits. */
#define FC_DITHER_GROWTH   0x9e3779b97f4a7c15u
#define FC_DITHER_ROWS     0xc13fa9a902a6328fu
#define FC_DITHER_CHANNELS 0x91e10da5c79e7b1du

/* The low 64 bits of a product. In words on a device, where the compiler's version takes four instructions
 * instead of three: it adds the contributions to the upper word separately. */
FC_DITHER_FN uint64_t fc_dither_times(uint64_t z, uint64_t by) {
#ifdef __CUDA_ARCH__
  uint32_t low, high;
  asm("{\n\t.reg .u64 w;\n\t.reg .u32 h;\n\t"
      "mul.wide.u32 w, %2, %4;\n\tmov.b64 {%0, h}, w;\n\t"
      "mad.lo.u32 h, %2, %5, h;\n\tmad.lo.u32 %1, %3, %4, h;\n\t}"
      : "=r"(low), "=r"(high)
      : "r"((uint32_t)z), "r"((uint32_t)(z >> 32)), "r"((uint32_t)by), "r"((uint32_t)(by >> 32)));
  return (uint64_t)high << 32 | low;
#else
  return z * by;
#endif
}

/* SplitMix64's mixing of a state: variant 13 of D. Stafford's. */
FC_DITHER_FN uint64_t fc_dither_mix(uint64_t z) {
  z = fc_dither_times(z ^ (z >> 30), 0xbf58476d1ce4e5b9u);
  z = fc_dither_times(z ^ (z >> 27), 0x94d049bb133111ebu);
  return z ^ (z >> 31);
}

/* Adds another number to a hash. */
FC_DITHER_FN uint64_t fc_dither_hash(uint64_t hash, int64_t value) {
  return fc_dither_mix(hash + ((uint64_t)value + 1) * FC_DITHER_GROWTH);
}

/* The part of the states that all samples of a frame share. */
FC_DITHER_FN uint64_t fc_dither_frame(uint64_t seed, int64_t n) {
  return fc_dither_hash(fc_dither_mix(seed + FC_DITHER_GROWTH), n);
}

/* The part that depends on row, column and channel. */
FC_DITHER_FN uint64_t fc_dither_place(int64_t y, int64_t x, int64_t c) {
  return (uint64_t)y * FC_DITHER_ROWS + (uint64_t)x * FC_DITHER_GROWTH + (uint64_t)c * FC_DITHER_CHANNELS;
}

/* a - b in units of 2^-24, which a float holds exactly. */
FC_DITHER_FN int32_t fc_dither_units(uint64_t state) {
  uint64_t bits = fc_dither_mix(state);
  return (int32_t)(uint32_t)(bits >> 40) - (int32_t)((uint32_t)bits >> 8);
}

#endif
