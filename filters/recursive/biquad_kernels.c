/* SPDX-License-Identifier: MIT */
/*
 * biquad_kernels.c - a section over channels side by side. Products and sums round one by one, on every
 * machine alike: contraction is off and there is no fused multiply-add on purpose.
 */
#include "filters/recursive/biquad_kernels.h"

#define LANES FC_BIQUAD_LANES

static void run(double *restrict values, int64_t count, const fc_biquad_section *restrict s,
                double *restrict state) {
  const fc_biquad_section q = *s;
  double s1[LANES], s2[LANES];
  for (int l = 0; l < LANES; l++) s1[l] = state[l], s2[l] = state[LANES + l];
  for (int64_t i = 0; i < count; i++) {
    double *at = values + i * LANES;
    for (int l = 0; l < LANES; l++) {
      double x = at[l], y = q.b0 * x + s1[l];
      s1[l] = (q.b1 * x - q.a1 * y) + s2[l];
      s2[l] = q.b2 * x - q.a2 * y;
      at[l] = y;
    }
  }
  for (int l = 0; l < LANES; l++) state[l] = s1[l], state[LANES + l] = s2[l];
}

const fc_biquad_kernels FC_ISA_NAME(fc_biquad_kernels) = {run};
