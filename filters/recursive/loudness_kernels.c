/* SPDX-License-Identifier: MIT */
/*
 * loudness_kernels.c - sums of squares of interleaved channels, and maxima of an interpolation.
 */
#include "filters/recursive/loudness_kernels.h"

#include <string.h>

#define LANES FC_BIQUAD_LANES
#define GROUP 32 /* results computed together, in registers */

typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));

/* Four sums, so that additions do not wait for each other. */
static void squares(const double *values, int64_t count, double (*sums)[LANES]) {
  lanes s[4], x;
  memcpy(s, sums, sizeof s);
  int64_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (int k = 0; k < 4; k++) {
      memcpy(&x, values + (i + k) * LANES, sizeof x);
      s[k] += x * x;
    }
  for (int k = 0; i < count; i++, k++) {
    memcpy(&x, values + i * LANES, sizeof x);
    s[k] += x * x;
  }
  memcpy(sums, s, sizeof s);
}

static float largest(const float *restrict x, int64_t count, const float *restrict taps) {
  float most[GROUP] = {0}, top = 0;
  int64_t i = 0;
  for (; i + GROUP <= count; i += GROUP) {
    float y[GROUP] = {0};
    for (int j = 0; j < FC_LOUDNESS_TAPS; j++)
      for (int k = 0; k < GROUP; k++) y[k] = FC_FMAF(taps[j], x[i + k - j], y[k]);
    for (int k = 0; k < GROUP; k++) {
      const float v = __builtin_fabsf(y[k]);
      most[k] = v > most[k] ? v : most[k];
    }
  }
  for (; i < count; i++) {
    float y = 0;
    for (int j = 0; j < FC_LOUDNESS_TAPS; j++) y = FC_FMAF(taps[j], x[i - j], y);
    const float v = __builtin_fabsf(y);
    top = v > top ? v : top;
  }
  for (int k = 0; k < GROUP; k++) top = most[k] > top ? most[k] : top;
  return top;
}

const fc_loudness_kernels FC_ISA_NAME(fc_loudness_kernels) = {squares, largest};
