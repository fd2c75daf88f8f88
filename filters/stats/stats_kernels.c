/* SPDX-License-Identifier: MIT */
/*
 * stats_kernels.c - the loops of stats_kernels.h, for one instruction set. Sums run down
 * the rows of a chunk for many lanes at once; nothing is fused, so that every
 * instruction set gives the same bits.
 */
#include <math.h>

#include "filters/stats/stats_kernels.h"

#define ROWS FC_STATS_ROWS

/* ---- floats ----------------------------------------------------------- */

/* If all samples are finite: v - v is 0 then, and only then. */
static void add_finite(const double *restrict cells, int64_t width, double *restrict sum,
                       double *restrict squares, double *restrict zero) {
  for (int64_t i = 0; i < width; i++) {
    double s = 0, q = 0, z = 0;
    for (int r = 0; r < ROWS; r++) {
      double v = cells[r * width + i];
      s += v, q += v * v, z += v - v;
    }
    sum[i] = s, squares[i] = q, zero[i] = z;
  }
}

static void compare_finite(const double *restrict cells, int64_t width, double *restrict least,
                           double *restrict most) {
  for (int64_t i = 0; i < width; i++) {
    double low = INFINITY, high = -INFINITY;
    for (int r = 0; r < ROWS; r++) {
      double v = cells[r * width + i];
      low = v < low ? v : low, high = v > high ? v : high;
    }
    least[i] = low, most[i] = high;
  }
}

static void deviate_finite(const double *restrict cells, int64_t width, const double *restrict mean,
                           double *restrict spread) {
  for (int64_t i = 0; i < width; i++) {
    double s = 0;
    for (int r = 0; r < ROWS; r++) s += (cells[r * width + i] - mean[i]) * (cells[r * width + i] - mean[i]);
    spread[i] = s;
  }
}

/* The same sums if some are not; rare, so not vectorised. */
static void add_some(const double *cells, int64_t rows, int64_t width, const fc_stats_lanes *l) {
  for (int64_t i = 0; i < width; i++) {
    double s = 0, q = 0, finite = 0, nan = 0, low = INFINITY, high = -INFINITY;
    for (int64_t r = 0; r < rows; r++) {
      double v = cells[r * width + i];
      nan += v != v;
      if (v - v != 0) continue;
      s += v, q += v * v, finite += 1;
      low = v < low ? v : low, high = v > high ? v : high;
    }
    l->sum[i] = s, l->squares[i] = q, l->least[i] = low, l->most[i] = high;
    l->finite[i] = finite, l->nan[i] = nan;
  }
}

static void deviate_some(const double *cells, int64_t rows, int64_t width, const double *mean,
                         double *spread) {
  for (int64_t i = 0; i < width; i++) {
    double s = 0;
    for (int64_t r = 0; r < rows; r++) {
      double v = cells[r * width + i];
      if (v - v == 0) s += (v - mean[i]) * (v - mean[i]);
    }
    spread[i] = s;
  }
}

static int all_zero(const double *v, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (v[i] != 0) return 0; /* or NaN */
  return 1;
}

/* Adds lanes i and i + half until one per channel remains. */
static void fold_sums(double *lanes, int64_t channels) {
  for (int64_t half = FC_STATS_LANES / 2 * channels; half >= channels; half /= 2)
    for (int64_t i = 0; i < half; i++) lanes[i] = lanes[i] + lanes[half + i];
}

static void fold_extremes(double *least, double *most, int64_t channels) {
  for (int64_t half = FC_STATS_LANES / 2 * channels; half >= channels; half /= 2)
    for (int64_t i = 0; i < half; i++) {
      double low = least[half + i], high = most[half + i];
      least[i] = low < least[i] ? low : least[i];
      most[i] = high > most[i] ? high : most[i];
    }
}

/* ---- whole chunks of f32: pairwise, in one go ------------------------- */

static void add_columns(const double *restrict cells, int64_t width, double *restrict sum,
                        double *restrict twice) {
  for (int64_t i = 0; i < width; i++) {
    double v[ROWS];
    for (int r = 0; r < ROWS; r++) v[r] = cells[r * width + i];
    const fc_stats_moments m = fc_stats_column(v);
    sum[i] = m.sum, twice[i] = m.twice;
  }
}

/* Lanes 2 i and 2 i + 1 of each channel. */
static inline void join_neighbours(const double *restrict sum, const double *restrict twice, int64_t count,
                                   int64_t channels, double each, double *restrict to_sum,
                                   double *restrict to_twice) {
  for (int64_t i = 0; i < count; i++)
    for (int64_t c = 0; c < channels; c++) {
      const int64_t a = 2 * i * channels + c, b = a + channels, to = i * channels + c;
      const fc_stats_moments x = {sum[a], twice[a]}, y = {sum[b], twice[b]}, m = fc_stats_join(x, y, each);
      to_sum[to] = m.sum, to_twice[to] = m.twice;
    }
}

static void join_pairs(const double *sum, const double *twice, int64_t count, int64_t channels, double each,
                       double *to_sum, double *to_twice) {
  if (channels == 1) /* a loop that the compiler can vectorise */
    join_neighbours(sum, twice, count, 1, each, to_sum, to_twice);
  else
    join_neighbours(sum, twice, count, channels, each, to_sum, to_twice);
}

/* Lanes i and i + half. */
static void join_halves(double *restrict sum, double *restrict twice, int64_t half, double each) {
  for (int64_t i = 0; i < half; i++) {
    const fc_stats_moments x = {sum[i], twice[i]}, y = {sum[half + i], twice[half + i]};
    const fc_stats_moments m = fc_stats_join(x, y, each);
    sum[i] = m.sum, twice[i] = m.twice;
  }
}

/* The parts of channels whose samples, and so their sum, are finite; false if some are not. */
static int values_of_floats(const double *cells, int64_t channels, const fc_stats_lanes *l,
                            fc_stats_part *parts) {
  const int64_t width = FC_STATS_LANES * channels;
  double each = 1.0 / ROWS;
  add_columns(cells, width, l->sum, l->squares);
  join_pairs(l->sum, l->squares, FC_STATS_LANES / 2, channels, each, l->mean, l->finite);
  join_pairs(l->mean, l->finite, FC_STATS_LANES / 4, channels, each / 2, l->sum, l->squares);
  each /= 4;
  for (int64_t half = FC_STATS_LANES / 8 * channels; half >= channels; half /= 2, each /= 2)
    join_halves(l->sum, l->squares, half, each);
  compare_finite(cells, width, l->least, l->most);
  fold_extremes(l->least, l->most, channels);
  int all = 1;
  for (int64_t c = 0; c < channels; c++) {
    const fc_stats_moments m = {l->sum[c], l->squares[c]};
    if (m.sum - m.sum != 0) {
      all = 0;
      continue;
    }
    parts[c] = fc_stats_part_none();
    fc_stats_part_set(&parts[c], m);
    /* The sign of a zero does not matter. */
    parts[c].least = l->least[c] + 0.0, parts[c].most = l->most[c] + 0.0;
  }
  return all;
}

/* ---- any chunk -------------------------------------------------------- */

static void values_of_any(const double *cells, int64_t rows, int64_t channels, const fc_stats_lanes *l,
                          fc_stats_part *parts) {
  const int64_t width = FC_STATS_LANES * channels;
  int finite = rows == ROWS;
  if (finite) {
    add_finite(cells, width, l->sum, l->squares, l->nan);
    finite = all_zero(l->nan, width);
  }
  if (finite)
    compare_finite(cells, width, l->least, l->most);
  else {
    add_some(cells, rows, width, l);
    fold_sums(l->finite, channels), fold_sums(l->nan, channels);
  }
  fold_sums(l->sum, channels), fold_sums(l->squares, channels);
  fold_extremes(l->least, l->most, channels);
  for (int64_t c = 0; c < channels; c++) {
    fc_stats_part p = fc_stats_part_none();
    p.sum = l->sum[c], p.squares = l->squares[c];
    p.least = l->least[c] + 0.0, p.most = l->most[c] + 0.0;
    p.finite = finite ? FC_STATS_CHUNK : (uint64_t)l->finite[c], p.nan = finite ? 0 : (uint64_t)l->nan[c];
    p.inf = (uint64_t)(rows * FC_STATS_LANES) - p.finite - p.nan;
    parts[c] = p;
    for (int64_t i = c; i < width; i += channels) l->mean[i] = p.finite ? p.sum / (double)p.finite : 0;
  }
  if (finite)
    deviate_finite(cells, width, l->mean, l->sum);
  else
    deviate_some(cells, rows, width, l->mean, l->sum);
  fold_sums(l->sum, channels);
  for (int64_t c = 0; c < channels; c++) parts[c].spread = l->sum[c];
}

static void values(const double *cells, int64_t rows, int64_t channels, int wide, const fc_stats_lanes *l,
                   fc_stats_part *parts) {
  const int pairwise = !wide && rows == ROWS;
  if (pairwise && values_of_floats(cells, channels, l, parts)) return;
  values_of_any(cells, rows, channels, l, parts);
  /* A channel's result does not depend on other channels. */
  if (pairwise) (void)values_of_floats(cells, channels, l, parts);
}

/* ---- integers --------------------------------------------------------- */

/* Rows of `width` cells, and a last one of `rest`: any order gives the same sums. */
#define DEFINE_CODES(name, LOW, HIGH)                                                                        \
  static inline void name##_some(const int32_t *restrict cells, int64_t rows, int64_t width, int64_t from,   \
                                 int64_t to, const fc_stats_lanes *lanes) {                                  \
    int64_t *restrict sum = lanes->codes;                                                                    \
    uint64_t *restrict low = lanes->low, *restrict high = lanes->high;                                       \
    int32_t *restrict small = lanes->small, *restrict large = lanes->large;                                  \
    for (int64_t i = from; i < to; i++) {                                                                    \
      int64_t s = 0;                                                                                         \
      uint64_t a = 0, b = 0;                                                                                 \
      int32_t least = INT32_MAX, most = INT32_MIN;                                                           \
      for (int64_t r = 0; r < rows; r++) {                                                                   \
        int32_t v = cells[r * width + i];                                                                    \
        uint64_t square = (uint64_t)((int64_t)v * v);                                                        \
        s += v, a += LOW(square), b += HIGH(square);                                                         \
        least = v < least ? v : least, most = v > most ? v : most;                                           \
      }                                                                                                      \
      sum[i] = s, low[i] = a, high[i] = b, small[i] = least, large[i] = most;                                \
    }                                                                                                        \
  }                                                                                                          \
  static void name(const int32_t *cells, int64_t count, int64_t width, const fc_stats_lanes *lanes) {        \
    if (count == ROWS * width)                                                                               \
      name##_some(cells, ROWS, width, 0, width, lanes);                                                      \
    else {                                                                                                   \
      name##_some(cells, count / width + 1, width, 0, count % width, lanes);                                 \
      name##_some(cells, count / width, width, count % width, width, lanes);                                 \
    }                                                                                                        \
  }

#define ALL_OF(v)  (v)
#define NONE_OF(v) 0
#define LOW_OF(v)  ((v)&0xffffffffu)
#define HIGH_OF(v) ((v) >> 32)
DEFINE_CODES(narrow_codes, ALL_OF, NONE_OF)
DEFINE_CODES(wide_codes, LOW_OF, HIGH_OF)

static void codes(const int32_t *cells, int64_t samples, int64_t channels, int wide, const fc_stats_lanes *l,
                  fc_stats_part *parts) {
  const int64_t width = FC_STATS_LANES * channels;
  if (wide)
    wide_codes(cells, samples * channels, width, l);
  else
    narrow_codes(cells, samples * channels, width, l);
  for (int64_t c = 0; c < channels; c++) {
    int64_t sum = 0;
    uint64_t low = 0, high = 0;
    int32_t least = INT32_MAX, most = INT32_MIN;
    for (int64_t i = c; i < width; i += channels) {
      sum += l->codes[i], low += l->low[i], high += l->high[i];
      least = l->small[i] < least ? l->small[i] : least, most = l->large[i] > most ? l->large[i] : most;
    }
    fc_stats_part p = fc_stats_part_none();
    p.finite = (uint64_t)samples, p.least = least, p.most = most;
    p.sum_low = (uint64_t)sum, p.sum_high = sum < 0 ? UINT64_MAX : 0;
    p.squares_low = low;
    fc_stats_add_wide(&p.squares_low, &p.squares_high, high << 32, high >> 32);
    parts[c] = p;
  }
}

const fc_stats_kernels FC_ISA_NAME(fc_stats_kernels) = {values, codes};
