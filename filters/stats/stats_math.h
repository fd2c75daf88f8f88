/* SPDX-License-Identifier: MIT */
/*
 * stats_math.h - the arithmetic of stats that host and device share, so that both give
 * the same bits. No operation here is ever fused with another.
 */
#ifndef FC_FILTERS_STATS_MATH_H
#define FC_FILTERS_STATS_MATH_H

#include "filters/stats/stats.h"

#ifdef __CUDACC__
#define FC_STATS_FN static __host__ __device__ inline
#else
#define FC_STATS_FN static inline
#endif

/* Samples are added up in chunks of ROWS x LANES: row r holds samples r * LANES .. of the
 * chunk. Each lane is added down its rows, then lanes i and i + LANES/2, and so on.
 *
 * A whole chunk of finite f32 samples is measured pairwise in one go (fc_stats_moments): rows 2 i and 2 i + 1
 * of each lane, and so on; then lanes 2 i and 2 i + 1, those pairs' pairs, and then of the 32 that are left i
 * and i + 16, and so on. Sums of 1024 of them hardly round in double, so nothing is lost by that. Others have
 * their deviations taken from the chunk's mean in a second go. */
#define FC_STATS_LANES 128
#define FC_STATS_ROWS  8
#define FC_STATS_CHUNK (FC_STATS_LANES * FC_STATS_ROWS)

#ifdef __CUDA_ARCH__
FC_STATS_FN double fc_stats_plus(double a, double b) {
  return __dadd_rn(a, b);
}
FC_STATS_FN double fc_stats_times(double a, double b) {
  return __dmul_rn(a, b);
}
#else
FC_STATS_FN double fc_stats_plus(double a, double b) {
  return a + b;
}
FC_STATS_FN double fc_stats_times(double a, double b) {
  return a * b;
}
#endif

/* Sums over some f32 samples, and how those of two halves with 1 / each samples each (a power of two) are
 * joined: squared deviations are added pairwise, as Chan, Golub and LeVeque (1983) do, and doubled, so
 * that those of a pair are one product. A product with a power of two is exact and may be fused. */
typedef struct fc_stats_moments {
  double sum, twice;
} fc_stats_moments;

FC_STATS_FN fc_stats_moments fc_stats_pair(double a, double b) {
  const double apart = fc_stats_plus(a, -b);
  fc_stats_moments m = {fc_stats_plus(a, b), fc_stats_times(apart, apart)};
  return m;
}

FC_STATS_FN fc_stats_moments fc_stats_join(fc_stats_moments a, fc_stats_moments b, double each) {
  fc_stats_moments m = fc_stats_pair(a.sum, b.sum);
  const double twice = fc_stats_plus(a.twice, b.twice);
#ifdef __CUDA_ARCH__
  m.twice = __fma_rn(m.twice, each, twice);
#else
  m.twice = twice + m.twice * each;
#endif
  return m;
}

/* For FC_STATS_ROWS samples of a lane. */
FC_STATS_FN fc_stats_moments fc_stats_column(const double v[8]) {
  const fc_stats_moments low = fc_stats_join(fc_stats_pair(v[0], v[1]), fc_stats_pair(v[2], v[3]), 0.5);
  const fc_stats_moments high = fc_stats_join(fc_stats_pair(v[4], v[5]), fc_stats_pair(v[6], v[7]), 0.5);
  return fc_stats_join(low, high, 0.25);
}

/* a + b of two halves each. */
FC_STATS_FN void fc_stats_add_wide(uint64_t *low, uint64_t *high, uint64_t b_low, uint64_t b_high) {
  *low += b_low;
  *high += b_high + (*low < b_low);
}

FC_STATS_FN fc_stats_part fc_stats_part_none(void) {
  fc_stats_part p = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  p.least = 1.0 / 0.0, p.most = -1.0 / 0.0;
  return p;
}

/* Of a whole chunk: the squares follow from the deviations and the mean. */
FC_STATS_FN void fc_stats_part_set(fc_stats_part *p, fc_stats_moments m) {
  p->finite = FC_STATS_CHUNK, p->sum = m.sum, p->spread = fc_stats_times(m.twice, 0.5);
  p->squares = fc_stats_plus(p->spread, fc_stats_times(m.sum, fc_stats_times(m.sum, 1.0 / FC_STATS_CHUNK)));
}

/* The change of the squared deviations when merging na and nb samples with sums sa and sb. */
FC_STATS_FN double fc_stats_spread_between(double na, double sa, double nb, double sb) {
  double apart = fc_stats_plus(sb / nb, -(sa / na));
  return fc_stats_times(fc_stats_times(apart, apart), fc_stats_times(na, nb / fc_stats_plus(na, nb)));
}

FC_STATS_FN fc_stats_part fc_stats_part_merge(const fc_stats_part *a, const fc_stats_part *b) {
  fc_stats_part m = *a;
  m.finite += b->finite, m.nan += b->nan, m.inf += b->inf;
  m.least = b->least < a->least ? b->least : a->least;
  m.most = b->most > a->most ? b->most : a->most;
  m.sum = fc_stats_plus(a->sum, b->sum);
  m.squares = fc_stats_plus(a->squares, b->squares);
  m.spread = fc_stats_plus(a->spread, b->spread);
  if (a->finite && b->finite)
    m.spread = fc_stats_plus(m.spread,
                             fc_stats_spread_between((double)a->finite, a->sum, (double)b->finite, b->sum));
  fc_stats_add_wide(&m.sum_low, &m.sum_high, b->sum_low, b->sum_high);
  fc_stats_add_wide(&m.squares_low, &m.squares_high, b->squares_low, b->squares_high);
  return m;
}

#endif
