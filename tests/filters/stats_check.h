/* SPDX-License-Identifier: MIT */
/*
 * stats_check.h - what the tests of stats share: the definition in 113 bits (quad.h) and 128-bit
 * integers, and comparison of parts with it.
 */
#ifndef FC_TESTS_STATS_CHECK_H
#define FC_TESTS_STATS_CHECK_H

#include <float.h>

#include "filters/stats/stats.h"
#include "tests/filters/views.h"
#include "tests/filters/quad.h"

__extension__ typedef __int128 int128;

/* What one channel of a view holds. */
typedef struct truth {
  int128 codes, code_squares;      /* integers, less the bias */
  quad sum, size, squares, spread; /* real values; size: of |v| */
  double least, most;
  uint64_t finite, nan, inf;
} truth;

static inline double real_value(const fc_view *v, const int64_t at[4]) {
  fc_scaling map = fc_scaling_of(v->kind, v->dtype);
  return (view_get(v, at) - map.bias) * map.scale;
}

static inline void truth_add(truth *t, double v, int64_t code) {
  t->nan += isnan(v) != 0, t->inf += isinf(v) != 0;
  if (!isfinite(v)) return;
  t->finite++;
  t->codes += code, t->code_squares += (int128)code * code;
  t->sum += v, t->size += fabs(v), t->squares += quad_square(v);
  t->least = v < t->least ? v : t->least, t->most = v > t->most ? v : t->most;
}

/* Of one channel, or of all when c is -1. */
static inline truth truth_of(const fc_view *v, int64_t c) {
  truth t = {.least = INFINITY, .most = -INFINITY};
  double bias = fc_scaling_of(v->kind, v->dtype).bias;
  int64_t at[4];
  FOR_EACH(v, at) {
    if (c >= 0 && at[3] != c) continue;
    truth_add(&t, real_value(v, at), fc_dtype_is_float(v->dtype) ? 0 : (int64_t)(view_get(v, at) - bias));
  }
  FOR_EACH(v, at) {
    if ((c >= 0 && at[3] != c) || !isfinite(real_value(v, at))) continue;
    t.spread += quad_square(real_value(v, at) - t.sum / t.finite);
  }
  return t;
}

static inline int near(double got, quad want, quad slack) {
  if (isnan((double)want)) return isnan(got);
  return quad_abs(got - want) <= slack + quad_abs(want) * DBL_EPSILON;
}

static inline void check_part(const fc_stats_part *p, const truth *t, int kind, int dtype, const char *who) {
  fc_stats_result r = fc_stats_results(p, kind, dtype);
  const quad u = DBL_EPSILON / 2, n = t->finite;
  const int floats = fc_dtype_is_float(dtype);
  /* 8 in a row, 7 of lanes, then pairs; integers only round at the end. */
  quad slack = floats ? 24 * u : 4 * u, var = t->spread / n;
  CHECK(p->finite == t->finite && p->nan == t->nan && p->inf == t->inf, "%s: counts", who);
  CHECK(r.count == (double)(t->finite + t->nan + t->inf), "%s: count", who);
  if (!floats) {
    int128 sum = (int128)((unsigned __int128)p->sum_high << 64 | p->sum_low);
    int128 squares = (int128)((unsigned __int128)p->squares_high << 64 | p->squares_low);
    CHECK(sum == t->codes && squares == t->code_squares, "%s: exact sums", who);
  }
  CHECK(near(r.sum, t->sum, slack * t->size), "%s: sum %.17g, want %.17g", who, r.sum, (double)t->sum);
  CHECK(near(r.squares, t->squares, slack * t->squares), "%s: squares", who);
  CHECK(near(r.mean, t->sum / n, slack * t->size / n), "%s: mean %.17g, want %.17g", who, r.mean,
        (double)(t->sum / n));
  CHECK(near(r.rms, quad_root(t->squares / n), slack * quad_root(t->squares / n)), "%s: rms", who);
  /* The mean of each piece is off by some u of the samples: that squared is all it costs. */
  quad off = floats ? slack * t->size / n : 0;
  CHECK(near(r.var, var, 2 * slack * var + off * off + 2 * off * quad_root(var)), "%s: var %.17g, want %.17g",
        who, r.var, (double)var);
  CHECK(r.std == sqrt(r.var) || isnan(r.std), "%s: std", who);
  if (t->finite) {
    CHECK(r.least == t->least && r.most == t->most, "%s: extremes", who);
    CHECK(r.peak == fmax(fabs(r.least), fabs(r.most)), "%s: peak", who);
  } else
    CHECK(isnan(r.mean) && isnan(r.var) && isnan(r.least) && isnan(r.most), "%s: nothing to tell", who);
}

/* Blocks of a view of `align`, frame after frame. */
static inline int64_t block_count(const fc_view *v, int64_t align) {
  int64_t length = v->shape[v->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y];
  return (length + align - 1) / align;
}

/* The merge of one channel's parts of all blocks. */
static inline fc_stats_part merge_blocks(const void *blocks, int64_t count, int64_t channels, int64_t c) {
  fc_stats_tree tree = {0};
  for (int64_t i = 0; i < count; i++) {
    const char *at =
        (const char *)blocks + i * (int64_t)fc_stats_block_bytes(channels) + sizeof(fc_stats_block);
    fc_stats_push(&tree, (const fc_stats_part *)(const void *)at + c);
  }
  return fc_stats_total(&tree);
}

/* Samples of every sort: small, far from zero, or with some that are not finite. */
static inline void fill_sort(signal *s, int sort) {
  int64_t at[4];
  FOR_EACH(&s->view, at) {
    double v = element_random(s->view.dtype);
    if (fc_dtype_is_float(s->view.dtype)) {
      if (sort == 1) v = 1e6 + v * 0.125;
      if (sort == 2 && random_int(0, 9) == 0)
        v = random_int(0, 1) ? NAN : random_int(0, 1) ? INFINITY : -INFINITY;
    } else if (sort == 1)
      v = s->view.dtype == FC_U8    ? 255
          : s->view.dtype == FC_U16 ? 65535
          : s->view.dtype == FC_I16 ? -32768
                                    : INT32_MIN;
    view_set(&s->view, at, v);
  }
}

static inline int64_t pick(const int64_t *from, int count) {
  return from[random_int(0, count - 1)];
}
#define PICK(array) pick(array, (int)(sizeof array / sizeof *array))

/* A random view of any kind. */
static inline signal random_signal(int sort) {
  static const int64_t lengths[] = {0, 1, 2, 127, 128, 129, 1023, 1024, 1025, 5000},
                       channels[] = {1, 1, 2, 3, 5, 17, 20};
  static const int64_t heights[] = {0, 1, 2, 7, 31, 64}, widths[] = {1, 2, 3, 64, 127, 200};
  int kind = (int)random_int(0, 2), dtype = (int)random_int(0, FC_DTYPE_COUNT - 1);
  int64_t shape[4] = {1, 1, PICK(lengths), PICK(channels)};
  if (kind != FC_AUDIO) shape[0] = random_int(1, 2), shape[1] = PICK(heights), shape[2] = PICK(widths);
  signal s = signal_new(kind, dtype, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  fill_sort(&s, sort);
  return s;
}

#endif
