/* SPDX-License-Identifier: MIT */
/*
 * sum_in_order.h - a sum of floats in the order of filters/gpu/box.cuh and filters/winstat/box/sums.cu: those
 * of four, by halves, one after the other, then of two, and of one; of more than sixteen the sum of the first
 * sixteen, and of the rest.
 */
#ifndef FC_TESTS_SUM_IN_ORDER_H
#define FC_TESTS_SUM_IN_ORDER_H

#include <stdint.h>

static inline float sum_in_order(const float *v, int64_t count) {
  enum { PART = 16 };
  if (count > PART) return sum_in_order(v, PART) + sum_in_order(v + PART, count - PART);
  float sum = 0;
  for (int64_t i = 0, n = 0; i < count; i += n) {
    n = count - i >= 4 ? 4 : count - i >= 2 ? 2 : 1;
    const float some = n == 1 ? v[i] : n == 2 ? v[i] + v[i + 1] : (v[i] + v[i + 1]) + (v[i + 2] + v[i + 3]);
    sum = i ? sum + some : some;
  }
  return sum;
}

#endif
