/* SPDX-License-Identifier: MIT */
/*
 * compare_kernels.c - plain loops that the compiler vectorises: sums are kept in LANES, which are added in a
 * fixed order, so that the results are the same on every machine.
 */
#include "filters/stats/compare_kernels.h"
#include "filters/stats/compare_math.h"

#define LANES 8
#define TAPS  FC_COMPARE_TAPS

static const double weights[TAPS] = FC_COMPARE_WEIGHTS;

static double sum_of(const double lanes[LANES]) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

typedef struct lanes {
  double squares[LANES], signal[LANES], largest[LANES], finite[LANES];
} lanes;

/* x - x is 0 if x is finite, NaN otherwise. */
static inline void add_pair(lanes *l, int j, double a, double b) {
  double d = a - b;
  int finite = d - d == 0 && b - b == 0;
  double difference = finite ? d : 0, value = finite ? b : 0,
         size = difference < 0 ? -difference : difference;
  l->squares[j] += difference * difference;
  l->signal[j] += value * value;
  l->finite[j] += finite ? 1 : 0;
  l->largest[j] = size > l->largest[j] ? size : l->largest[j];
}

static void differences(const double *restrict a, const double *restrict b, int64_t count,
                        fc_compare_part *restrict part) {
  lanes l = {{0}, {0}, {0}, {0}};
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES)
    for (int j = 0; j < LANES; j++) add_pair(&l, j, a[i + j], b[i + j]);
  for (; i < count; i++) add_pair(&l, 0, a[i], b[i]);
  uint64_t finite = (uint64_t)sum_of(l.finite);
  part->count += finite, part->bad += (uint64_t)count - finite;
  part->squares += sum_of(l.squares), part->signal += sum_of(l.signal);
  for (int j = 0; j < LANES; j++) part->largest = l.largest[j] > part->largest ? l.largest[j] : part->largest;
}

static void columns(const double *restrict a, const double *restrict b, int64_t pitch, int64_t count,
                    double *restrict sums) {
  for (int64_t i = 0; i < 5 * count; i++) sums[i] = 0;
  for (int k = 0; k < TAPS; k++) {
    const double *x = a + k * pitch, *y = b + k * pitch, w = weights[k];
    for (int64_t i = 0; i < count; i++) {
      sums[i] += w * x[i];
      sums[count + i] += w * y[i];
      sums[2 * count + i] += w * (x[i] * x[i]);
      sums[3 * count + i] += w * (y[i] * y[i]);
      sums[4 * count + i] += w * (x[i] * y[i]);
    }
  }
}

static double across(const double *sums) {
  double sum = 0;
  for (int k = 0; k < TAPS; k++) sum += weights[k] * sums[k];
  return sum;
}

/* Sets `similarity` to that of a window, or 0 if it has a NaN; returns whether it counts. */
static inline double window_at(const double *sums, int64_t pitch, int64_t i, double c1, double c2,
                               double *counts) {
  fc_compare_sums s = {across(sums + i), across(sums + pitch + i), across(sums + 2 * pitch + i),
                       across(sums + 3 * pitch + i), across(sums + 4 * pitch + i)};
  double similarity = fc_compare_similarity(&s, c1, c2);
  int finite = similarity - similarity == 0;
  *counts += finite ? 1 : 0;
  return finite ? similarity : 0;
}

static void windows(const double *restrict sums, int64_t count, double c1, double c2,
                    fc_compare_part *restrict part) {
  double similarity[LANES] = {0}, counts[LANES] = {0};
  const int64_t pitch = count + TAPS - 1;
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES)
    for (int j = 0; j < LANES; j++) similarity[j] += window_at(sums, pitch, i + j, c1, c2, &counts[j]);
  for (; i < count; i++) similarity[0] += window_at(sums, pitch, i, c1, c2, &counts[0]);
  part->similarity += sum_of(similarity);
  part->windows += (uint64_t)sum_of(counts);
}

const fc_compare_kernels FC_ISA_NAME(fc_compare_kernels) = {differences, columns, windows};
