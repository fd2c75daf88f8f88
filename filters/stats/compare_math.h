/* SPDX-License-Identifier: MIT */
/*
 * compare_math.h - a window of compare.h, for the host and a device.
 */
#ifndef FC_FILTERS_COMPARE_MATH_H
#define FC_FILTERS_COMPARE_MATH_H

#include "filters/stats/compare.h"

#ifdef __CUDACC__
#define FC_COMPARE_FN static __host__ __device__ inline
#else
#define FC_COMPARE_FN static inline
#endif

#define FC_COMPARE_TAPS (2 * FC_COMPARE_HALO + 1)

/* exp(-d^2 / 4.5) for d = 0 .. 5, over the sum of all eleven. */
#define FC_COMPARE_WEIGHTS                                                                                   \
  {                                                                                                          \
    0.0010283800844791099, 0.007598758135239184, 0.03600077212843082, 0.10936068950970002,                   \
        0.2130055377112537, 0.26601172486179436, 0.2130055377112537, 0.10936068950970002,                    \
        0.03600077212843082, 0.007598758135239184, 0.0010283800844791099                                     \
  }

/* Weighted sums over a window: of a, b, a^2, b^2 and ab. */
typedef struct fc_compare_sums {
  double a, b, aa, bb, ab;
} fc_compare_sums;

FC_COMPARE_FN double fc_compare_similarity(const fc_compare_sums *s, double c1, double c2) {
  const double ma = s->a * s->a, mb = s->b * s->b, mab = s->a * s->b;
  return (2 * mab + c1) * (2 * (s->ab - mab) + c2) / ((ma + mb + c1) * ((s->aa - ma) + (s->bb - mb) + c2));
}

/* The rows and columns of block i of a view. */
typedef struct fc_compare_area {
  int64_t y, x, rows, columns;
} fc_compare_area;

FC_COMPARE_FN fc_compare_area fc_compare_area_of(int kind, const int64_t shape[FC_AXES], int64_t align,
                                                 int64_t i) {
  const int64_t at = i * align, extent = shape[kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y];
  const int64_t count = extent - at < align ? extent - at : align;
  fc_compare_area area = {0, 0, shape[FC_AXIS_Y], shape[FC_AXIS_X]};
  if (kind == FC_AUDIO)
    area.x = at, area.columns = count;
  else
    area.y = at, area.rows = count;
  return area;
}

#endif
