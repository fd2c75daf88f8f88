/* SPDX-License-Identifier: MIT */
/* test_power.c - log2, 2^x and x^y of filters/base/power.h against long double arithmetic, and at the ends.
 */
#include "filters/base/power.h"
#include "tests/filters/check.h"

/* |got - want| / |want|. */
static double off(double got, long double want) {
  return (double)fabsl(((long double)got - want) / want);
}

static void check_accuracy(void) {
  double log_off = 0, exp_off = 0, power_off = 0;
  for (int i = 0; i < 300000; i++) {
    const double v = exp(random_real() * 40), x = random_real() * 500, y = fabs(random_real()) * 5;
    const double part = fabs(random_real()) + 1e-9, size = fmax(1, fabs(y * log2(part)));
    log_off = fmax(log_off, off(fc_log2(v), log2l((long double)v)));
    exp_off = fmax(exp_off, off(fc_exp2(x), exp2l((long double)x)));
    power_off = fmax(power_off, off(fc_power(part, y), powl((long double)part, (long double)y)) / size);
  }
  CHECK(log_off < 4e-16, "log2 is off by %g", log_off);
  CHECK(exp_off < 3e-16, "2^x is off by %g", exp_off);
  CHECK(power_off < 4e-16, "x^y is off by %g for each |y log2 x|", power_off);
}

static void check_ends(void) {
  CHECK(fc_power(1, 2.2) == 1 && fc_power(1, 0.3) == 1, "1 does not stay");
  CHECK(fc_power(0, 0.5) == 0 && fc_power(INFINITY, 0.5) == INFINITY, "0 or infinity does not stay");
  CHECK(fc_power(-0.3, 2.5) == 0 && fc_power(-INFINITY, 2) == 0, "a negative number does not become 0");
  CHECK(isnan(fc_power(NAN, 2)), "NaN becomes a number");
  CHECK(fc_exp2(0) == 1 && fc_exp2(10) == 1024 && fc_exp2(-3) == 0.125, "powers of 2 are not exact");
  CHECK(fc_exp2(5000) == INFINITY && fc_exp2(-5000) < 1e-300, "no limits");
  for (int e = -1000; e <= 1000; e++) CHECK(fc_log2(ldexp(1, e)) == e, "log2 of 2^%d", e);
}

int main(void) {
  random_start(20261124);
  check_accuracy();
  check_ends();
  return check_result();
}
