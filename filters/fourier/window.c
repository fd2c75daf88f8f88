/* SPDX-License-Identifier: MIT */
/*
 * window.c - window functions. A window of one value is 1, for any kind, as in SciPy.
 */
#include <math.h>

#include "filters/base/turn.h"
#include "filters/fourier/window.h"

#define MOST_TERMS 4

static double cosine_sum(const double *terms, int64_t i, int64_t m) {
  double sum = terms[0], c, s;
  for (int k = 1; k < MOST_TERMS; k++) {
    fc_turn(k * i, m, &c, &s);
    sum += (k % 2 ? -terms[k] : terms[k]) * c;
  }
  return fabs(sum) < 1e-15 ? 0 : sum; /* Blackman's ends are 0 except for rounding */
}

/* By its power series: all terms are positive, so nothing cancels. Beyond |x| = 700 it would overflow. */
double fc_bessel_i0(double x) {
  const double squared = 0.25 * x * x;
  double term = 1, sum = 1;
  for (int k = 1; term > sum * 1e-17; k++) {
    term *= squared / ((double)k * k);
    sum += term;
  }
  return sum;
}

static double value(fc_window kind, double beta, int64_t i, int64_t m) {
  static const double terms[][MOST_TERMS] = {
      [FC_WINDOW_RECT] = {1},
      [FC_WINDOW_HANN] = {0.5, 0.5},
      [FC_WINDOW_HAMMING] = {0.54, 0.46},
      [FC_WINDOW_BLACKMAN] = {0.42, 0.5, 0.08},
      [FC_WINDOW_BLACKMANHARRIS] = {0.35875, 0.48829, 0.14128, 0.01168},
  };
  double c, s, x = 2.0 * (double)i / (double)m - 1;
  switch (kind) {
  case FC_WINDOW_BARTLETT: return 1 - fabs(x);
  case FC_WINDOW_COSINE: fc_turn(2 * i + 1, 4 * (m + 1), &c, &s); return s;
  case FC_WINDOW_KAISER: return fc_bessel_i0(beta * sqrt(fmax(1 - x * x, 0))) / fc_bessel_i0(beta);
  default: return cosine_sum(terms[kind], i, m);
  }
}

void fc_window_fill(fc_window kind, double beta, int symmetric, int64_t n, double *to) {
  int64_t m = symmetric ? n - 1 : n;
  for (int64_t i = 0; i < n; i++) to[i] = n == 1 ? 1 : value(kind, beta, i, m);
}
