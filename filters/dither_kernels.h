/* SPDX-License-Identifier: MIT */
/*
 * dither_kernels.h - the numbers that dither.c is made of, and its loops for one instruction set.
 */
#ifndef FC_FILTERS_DITHER_KERNELS_H
#define FC_FILTERS_DITHER_KERNELS_H

#include "filters/isa.h"

/* What the state of SplitMix64 grows by from number to number: 2^64 by the golden ratio. */
#define FC_DITHER_GROWTH 0x9e3779b97f4a7c15u

/* SplitMix64's mixing of a state: variant 13 of D. Stafford's. */
static inline uint64_t fc_dither_mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* a - b in units of 2^-24, which a float holds exactly. */
static inline int32_t fc_dither_units(uint64_t state) {
  uint64_t bits = fc_dither_mix(state);
  return (int32_t)(uint32_t)(bits >> 40) - (int32_t)((uint32_t)bits >> 8);
}

typedef struct fc_dither_kernels {
  /* Adds `unit` times the noise of the states from `state` on to each of `count` values. */
  void (*add_f32)(float *values, int64_t count, uint64_t state, float unit);
  void (*add_f64)(double *values, int64_t count, uint64_t state, double unit);
} fc_dither_kernels;

FC_ISA_DECLARE(fc_dither_kernels, fc_dither_kernels);

#endif
