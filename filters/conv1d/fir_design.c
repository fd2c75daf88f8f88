/* SPDX-License-Identifier: MIT */
/* fir_design.c - see fir_design.h. */
#include "filters/conv1d/fir_design.h"

#include <math.h>

#define PI 3.14159265358979323846

/* Low pass with that edge, `at` samples from its centre. */
static double ideal(double edge, double at) {
  const double angle = 2 * PI * edge * at;
  return 2 * edge * (angle == 0 ? 1 : sin(angle) / angle);
}

static double band_tap(const fc_fir_design *d, double at) {
  switch (d->band) {
  case FC_FIR_LOWPASS: return ideal(d->low, at);
  case FC_FIR_HIGHPASS: return ideal(0.5, at) - ideal(d->low, at);
  case FC_FIR_BANDPASS: return ideal(d->high, at) - ideal(d->low, at);
  default: return ideal(d->low, at) + ideal(0.5, at) - ideal(d->high, at);
  }
}

/* The frequency at which the gain is 1. */
static double reference_frequency(const fc_fir_design *d) {
  return d->band == FC_FIR_HIGHPASS ? 0.5 : d->band == FC_FIR_BANDPASS ? 0.5 * (d->low + d->high) : 0;
}

void fc_fir_design_fill(const fc_fir_design *d, double *taps) {
  const double centre = 0.5 * (double)(d->taps - 1), reference = reference_frequency(d);
  double gain = 0;
  fc_window_fill(d->window, d->beta, 1, d->taps, taps);
  for (int64_t i = 0; i < d->taps; i++) {
    const double at = (double)i - centre;
    taps[i] *= band_tap(d, at);
    gain += taps[i] * cos(2 * PI * reference * at);
  }
  for (int64_t i = 0; i < d->taps; i++) taps[i] /= gain;
}

double fc_fir_kaiser_beta(double attenuation) {
  if (attenuation > 50) return 0.1102 * (attenuation - 8.7);
  return attenuation > 21 ? 0.5842 * pow(attenuation - 21, 0.4) + 0.07886 * (attenuation - 21) : 0;
}

int64_t fc_fir_kaiser_taps(double attenuation, double width) {
  return (int64_t)fmin(ceil((attenuation - 7.95) / (2.285 * 2 * PI * width) + 1), 1e15);
}

double fc_fir_kaiser_attenuation(int64_t taps, double width) {
  return 2.285 * 2 * PI * width * (double)(taps - 1) + 7.95;
}
