/* SPDX-License-Identifier: MIT */
/*
 * mel.c - see mel.h.
 */
#include <math.h>

#include "filters/fourier/mel.h"

/* Slaney's scale: 15 mels to 1 kHz, then 27 to every factor of 6.4. */
#define SLANEY_KNEE 1000.0
#define SLANEY_MELS (3.0 / 200)
static const double slaney_step = 1.8562979903656263 / 27; /* ln 6.4 */

static double to_mel(const fc_mel *m, double hz) {
  if (m->htk) return 2595 * log10(1 + hz / 700);
  return hz < SLANEY_KNEE ? hz * SLANEY_MELS
                          : SLANEY_KNEE * SLANEY_MELS + log(hz / SLANEY_KNEE) / slaney_step;
}

static double to_hz(const fc_mel *m, double mel) {
  if (m->htk) return 700 * (pow(10, mel / 2595) - 1);
  double knee = SLANEY_KNEE * SLANEY_MELS;
  return mel < knee ? mel / SLANEY_MELS : SLANEY_KNEE * exp((mel - knee) * slaney_step);
}

/* Corner i of bands + 2, which are equally spaced in mels. */
static double corner(const fc_mel *m, int64_t i) {
  double low = to_mel(m, m->low), high = to_mel(m, m->high);
  return to_hz(m, low + (high - low) * (double)i / (double)(m->bands + 1));
}

int64_t fc_mel_fill(const fc_mel *mel, int64_t *first, int64_t *bin, double *weights) {
  int64_t count = 0, bins = mel->size / 2 + 1;
  double width = mel->rate / (double)mel->size;
  for (int64_t b = 0; b < mel->bands; b++) {
    double left = corner(mel, b), middle = corner(mel, b + 1), right = corner(mel, b + 2);
    double scale = mel->normalised ? 2 / (right - left) : 1;
    /* Bins strictly inside the triangle: those at its corners have no weight. */
    int64_t k = (int64_t)floor(left / width) + 1;
    first[b] = count;
    bin[b] = k < bins ? k : bins - 1;
    for (; k < bins && (double)k * width < right; k++, count++) {
      double hz = (double)k * width, rise = (hz - left) / (middle - left),
             fall = (right - hz) / (right - middle);
      if (weights) weights[count] = scale * fmax(0, fmin(rise, fall));
    }
  }
  first[mel->bands] = count;
  return count;
}
