/* SPDX-License-Identifier: MIT */
/*
 * winstat_kernels.c - the loops of winstat_kernels.h, for one instruction set.
 *
 * Nothing here is fused, so that every instruction set gives the same bits.
 */
#include <math.h>
#include <string.h>

#include "filters/base/simd.h"
#include "filters/winstat/winstat_kernels.h"

/* Rows are disjoint or identical, so iterations are independent; the compiler's run-time checks would
 * choose the scalar loop for identical rows. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define PLANE(T, row, i) ((T *)((row).cells + (i) * (row).pitch))

#define DEFINE_JOIN(name, T, expression)                                                                     \
  static void name(fc_winstat_row to, fc_winstat_row a, fc_winstat_row b, int64_t count, double na,          \
                   double nb) {                                                                              \
    T *t = PLANE(T, to, 0);                                                                                  \
    const T *x = PLANE(T, a, 0), *y = PLANE(T, b, 0);                                                        \
    (void)na, (void)nb;                                                                                      \
    INDEPENDENT                                                                                              \
    for (int64_t i = 0; i < count; i++) t[i] = expression;                                                   \
  }

DEFINE_JOIN(add_f32, float, x[i] + y[i])
DEFINE_JOIN(add_f64, double, x[i] + y[i])
DEFINE_JOIN(add_i32, uint32_t, x[i] + y[i])
DEFINE_JOIN(add_i64, uint64_t, x[i] + y[i])

/* If the comparison is false the result is y, NaN or not; x != x keeps x. */
DEFINE_JOIN(least_f32, float, ((x[i] < y[i]) | (x[i] != x[i])) ? x[i] : y[i])
DEFINE_JOIN(least_f64, double, ((x[i] < y[i]) | (x[i] != x[i])) ? x[i] : y[i])
DEFINE_JOIN(least_i32, int32_t, x[i] < y[i] ? x[i] : y[i])
DEFINE_JOIN(most_f32, float, ((x[i] > y[i]) | (x[i] != x[i])) ? x[i] : y[i])
DEFINE_JOIN(most_f64, double, ((x[i] > y[i]) | (x[i] != x[i])) ? x[i] : y[i])
DEFINE_JOIN(most_i32, int32_t, x[i] > y[i] ? x[i] : y[i])

/* Chan, Golub and LeVeque's merge, with both means relative to the samples ap and bp. */
#define DEFINE_VARY(name, T)                                                                                 \
  static void name(fc_winstat_row to, fc_winstat_row a, fc_winstat_row b, int64_t count, double na,          \
                   double nb) {                                                                              \
    const T share = (T)(nb / (na + nb)), weight = (T)(na * (nb / (na + nb)));                                \
    T *tp = PLANE(T, to, 0), *td = PLANE(T, to, 1), *tm = PLANE(T, to, 2);                                   \
    const T *ap = PLANE(T, a, 0), *ad = PLANE(T, a, 1), *am = PLANE(T, a, 2);                                \
    const T *bp = PLANE(T, b, 0), *bd = PLANE(T, b, 1), *bm = PLANE(T, b, 2);                                \
    INDEPENDENT                                                                                              \
    for (int64_t i = 0; i < count; i++) {                                                                    \
      T apart = ((bp[i] - ap[i]) + bd[i]) - ad[i];                                                           \
      T d = ad[i] + apart * share, m = (am[i] + bm[i]) + apart * (apart * weight);                           \
      tp[i] = ap[i], td[i] = d, tm[i] = m;                                                                   \
    }                                                                                                        \
  }

DEFINE_VARY(vary_f32, float)
DEFINE_VARY(vary_f64, double)

/* The same with numbers of samples per cell. An empty piece holds zeros; if a is empty its p becomes that
 * of b, and the result is then b. */
#define DEFINE_VARY_N(name, T)                                                                               \
  static void name(fc_winstat_row to, fc_winstat_row a, fc_winstat_row b, int64_t count, double na,          \
                   double nb) {                                                                              \
    T *tp = PLANE(T, to, 0), *td = PLANE(T, to, 1), *tm = PLANE(T, to, 2), *tn = PLANE(T, to, 3);            \
    const T *ap = PLANE(T, a, 0), *ad = PLANE(T, a, 1), *am = PLANE(T, a, 2), *an = PLANE(T, a, 3);          \
    const T *bp = PLANE(T, b, 0), *bd = PLANE(T, b, 1), *bm = PLANE(T, b, 2), *bn = PLANE(T, b, 3);          \
    (void)na, (void)nb;                                                                                      \
    INDEPENDENT                                                                                              \
    for (int64_t i = 0; i < count; i++) {                                                                    \
      T n = an[i], total = n + bn[i], q = bp[i], p = ap[i];                                                  \
      T share = bn[i] / (total + (T)(total == 0)), weight = n * share;                                       \
      p = n == 0 ? q : p;                                                                                    \
      T apart = ((q - p) + bd[i]) - ad[i];                                                                   \
      T d = ad[i] + apart * share, m = (am[i] + bm[i]) + apart * (apart * weight);                           \
      tp[i] = p, td[i] = d, tm[i] = m, tn[i] = total;                                                        \
    }                                                                                                        \
  }

DEFINE_VARY_N(vary_n_f32, float)
DEFINE_VARY_N(vary_n_f64, double)

static void square_f32(float *restrict to, const float *restrict from, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] = from[i] * from[i];
}

static void square_f64(double *restrict to, const double *restrict from, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] = from[i] * from[i];
}

static void square_i32(uint32_t *restrict to, const int32_t *restrict from, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] = (uint32_t)from[i] * (uint32_t)from[i];
}

static void square_i64(uint64_t *restrict to, const int32_t *restrict from, int64_t count,
                       fc_winstat_part part) {
  if (part == FC_WINSTAT_WHOLE)
    for (int64_t i = 0; i < count; i++) to[i] = (uint64_t)((int64_t)from[i] * from[i]);
  else if (part == FC_WINSTAT_LOW)
    for (int64_t i = 0; i < count; i++) to[i] = (uint64_t)((int64_t)from[i] * from[i]) & 0xffffffffu;
  else
    for (int64_t i = 0; i < count; i++) to[i] = (uint64_t)((int64_t)from[i] * from[i]) >> 32;
}

static void widen_i64(int64_t *restrict to, const int32_t *restrict from, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] = from[i];
}

#define DEFINE_DOUBLE(name, T)                                                                               \
  static void name(double *restrict to, const T *restrict from, int64_t count, double scale) {               \
    for (int64_t i = 0; i < count; i++) to[i] = (double)from[i] * scale;                                     \
  }

DEFINE_DOUBLE(double_i32, int32_t)
DEFINE_DOUBLE(double_u32, uint32_t)
DEFINE_DOUBLE(double_i64, int64_t)
DEFINE_DOUBLE(double_u64, uint64_t)

static void spread_f64(double *restrict to, const double *restrict sum, const double *restrict squares,
                       const double *restrict n, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] = (n[i] * squares[i] - sum[i] * sum[i]) / n[i];
}

#define DEFINE_RATIO(name, T, root)                                                                          \
  static void name(T *restrict to, const T *restrict from, const T *restrict n, int64_t count) {             \
    for (int64_t i = 0; i < count; i++) to[i] = root(from[i] / n[i]);                                        \
  }

#define PLAIN(v) (v)
DEFINE_RATIO(ratio_f32, float, PLAIN)
DEFINE_RATIO(ratio_f64, double, PLAIN)
DEFINE_RATIO(root_f32, float, sqrtf)
DEFINE_RATIO(root_f64, double, sqrt)

/* The same with whole vectors, stored past the cache at aligned addresses. */
#define DEFINE_RATIO_PAST(name, T, V, LOAD, STREAM, cached)                                                  \
  static void name(T *restrict to, const T *restrict from, const T *restrict n, int64_t count) {             \
    int64_t lead = (int64_t)(-(uintptr_t)to % sizeof(V) / sizeof(T)),                                        \
            lanes = (int64_t)(sizeof(V) / sizeof(T));                                                        \
    int64_t i = lead < count ? lead : count;                                                                 \
    cached(to, from, n, i);                                                                                  \
    for (; i + lanes <= count; i += lanes) STREAM(to + i, LOAD(from + i) / LOAD(n + i));                     \
    cached(to + i, from + i, n + i, count - i);                                                              \
  }

DEFINE_RATIO_PAST(ratio_past_f32, float, fc_vf, fc_vf_load, FC_VF_STREAM, ratio_f32)
DEFINE_RATIO_PAST(ratio_past_f64, double, fc_vd, fc_vd_load, FC_VD_STREAM, ratio_f64)

const fc_winstat_kernels FC_ISA_NAME(fc_winstat_kernels) = {
    .join = {{add_f32, add_f64, add_i32, add_i64},
             {least_f32, least_f64, least_i32, NULL},
             {most_f32, most_f64, most_i32, NULL},
             {vary_f32, vary_f64, NULL, NULL},
             {vary_n_f32, vary_n_f64, NULL, NULL}},
    .square_f32 = square_f32,
    .square_f64 = square_f64,
    .square_i32 = square_i32,
    .square_i64 = square_i64,
    .widen_i64 = widen_i64,
    .double_i32 = double_i32,
    .double_u32 = double_u32,
    .double_i64 = double_i64,
    .double_u64 = double_u64,
    .spread_f64 = spread_f64,
    .ratio_f32 = ratio_f32,
    .ratio_f64 = ratio_f64,
    .ratio_past_f32 = ratio_past_f32,
    .ratio_past_f64 = ratio_past_f64,
    .root_f32 = root_f32,
    .root_f64 = root_f64,
};
