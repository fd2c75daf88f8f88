/* SPDX-License-Identifier: MIT */
/*
 * window.h - window functions, as scipy.signal.get_window names and defines them: periodic,
 * for spectra, or symmetric, for filter design.
 *
 * A cosine window is w[i] = sum_k (-1)^k a[k] cos(2 pi k i / m), with m = n for a periodic
 * and n - 1 for a symmetric one of n values.
 */
#ifndef FC_FILTERS_WINDOW_H
#define FC_FILTERS_WINDOW_H

#include <stdint.h>

#include "filters/base/api.h"

FC_BEGIN_DECLS

typedef enum fc_window {
  FC_WINDOW_RECT = 0,
  FC_WINDOW_HANN = 1,
  FC_WINDOW_HAMMING = 2,        /* 0.54, 0.46 */
  FC_WINDOW_BLACKMAN = 3,       /* 0.42, 0.5, 0.08 */
  FC_WINDOW_BLACKMANHARRIS = 4, /* 0.35875, 0.48829, 0.14128, 0.01168 */
  FC_WINDOW_BARTLETT = 5,       /* a triangle that begins with 0 */
  FC_WINDOW_COSINE = 6,         /* half a sine wave, sampled between its zeros */
  FC_WINDOW_KAISER = 7          /* I0(beta sqrt(1 - x^2)) / I0(beta) */
} fc_window;

/* Writes n >= 0 values, accurate to the last bits of a double. `beta` is Kaiser's parameter. */
FC_FILTERS_API void fc_window_fill(fc_window kind, double beta, int symmetric, int64_t n, double *to);

/* The modified Bessel function of order 0, of |x| up to 700: Kaiser's window before it is divided by its
 * middle. */
FC_FILTERS_API double fc_bessel_i0(double x);

FC_END_DECLS

#endif
