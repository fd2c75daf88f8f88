/* SPDX-License-Identifier: MIT */
/*
 * dct.c - cosines whose arguments are reduced as integers, so that large sizes lose
 * no accuracy: cos(pi a / 2n) has period 4n in a and its symmetries.
 */
#include <math.h>

#include "filters/fourier/dct.h"

static const double PI = 3.14159265358979323846;

/* cos(pi a / 2n), a >= 0, with the argument reduced to [0, pi/4]. */
static double cosine(int64_t a, int64_t n) {
  int64_t full = 4 * n;
  a %= full;
  if (a > full / 2) a = full - a;
  double sign = a > n ? -1 : 1;
  if (a > n) a = 2 * n - a;
  return sign *
         (2 * a > n ? sin(PI * (double)(n - a) / (double)(2 * n)) : cos(PI * (double)a / (double)(2 * n)));
}

/* Element [k][i] of the type II matrix. */
static double type2(const fc_dct *d, int64_t k, int64_t i) {
  double c = 2 * cosine(k % (4 * d->size) * (2 * i + 1), d->size);
  if (!d->orthonormal) return c;
  return c * sqrt(k == 0 ? 0.25 / (double)d->size : 0.5 / (double)d->size);
}

/* Type III: the transpose of II, except that x[0] counts once in the plain sum. */
static double type3(const fc_dct *d, int64_t k, int64_t i) {
  double c = type2(d, i, k);
  return !d->orthonormal && i == 0 ? c / 2 : c;
}

void fc_dct_matrix(const fc_dct *dct, int64_t keep, double *rows) {
  double scale = dct->inverse && !dct->orthonormal ? 0.5 / (double)dct->size : 1;
  int second = (dct->type == 2) != (dct->inverse != 0);
  for (int64_t k = 0; k < keep; k++)
    for (int64_t i = 0; i < dct->size; i++)
      rows[k * dct->size + i] = scale * (second ? type2(dct, k, i) : type3(dct, k, i));
}
