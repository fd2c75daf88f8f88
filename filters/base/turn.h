/* SPDX-License-Identifier: MIT */
/*
 * turn.h - cosine and sine of a fraction of a turn, for tables. The fraction is reduced to an eighth of a
 * turn in integers, so that the result is accurate to about the last bit for any size, and symmetric values
 * are equal. Internal to filters/.
 */
#ifndef FC_FILTERS_TURN_H
#define FC_FILTERS_TURN_H

#include <math.h>
#include <stdint.h>

/* Of 2 pi a / n, with 0 <= a < 2^59 and 0 < n < 2^59. */
static inline void fc_turn(int64_t a, int64_t n, double *c, double *s) {
  static const double tau = 6.28318530717958647693;
  a %= n;
  /* The nearest quarter turn, and the distance from it in 1 / 4n of a turn. */
  int64_t quarter = (8 * a / n + 1) / 2, rest = 4 * a - quarter * n;
  double angle = tau * (double)rest / (4.0 * (double)n), x = cos(angle), y = sin(angle);
  switch (quarter % 4) {
  case 0: *c = x, *s = y; break;
  case 1: *c = -y, *s = x; break;
  case 2: *c = -x, *s = -y; break;
  default: *c = y, *s = -x; break;
  }
}

#endif
