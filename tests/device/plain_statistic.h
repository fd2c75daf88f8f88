/* SPDX-License-Identifier: MIT */
/*
 * plain_statistic.h - statistics of one window as composed kernels make them (filters/gpu/slide.cuh), written
 * down as recursions over the samples of the window: the order of sums is the definition, and nothing of it
 * looks at tiles or threads. O(window). Variances are those of filters/gpu/moments.cuh.
 */
#ifndef FC_TESTS_PLAIN_STATISTIC_H
#define FC_TESTS_PLAIN_STATISTIC_H

#include <math.h>

#include "core/contract/view.h"
#include "filters/winstat/winstat.h"
#include "filters/winstat/winstat_math.h"
#include "tests/filters/sum_in_order.h"

enum { PLAIN_RUN = 16 }; /* samples of a segment */

/* Of floats: p is a sum, or an extreme; of variances all four, as in statistic.cuh. */
typedef struct plain_piece {
  float p, d, m, n;
} plain_piece;

typedef struct plain_window {
  int which;            /* statistic */
  gint64 first, count;  /* position of the first sample, and how many */
  gint64 anchor;        /* where a segment begins: positions - anchor are multiples */
  const float *samples; /* that of position 0 */
} plain_window;

static int plain_is_spread(int which) {
  return which == FC_WINSTAT_VAR || which == FC_WINSTAT_STD;
}

static plain_piece plain_none(const plain_window *w) {
  return (plain_piece){w->which == FC_WINSTAT_MIN   ? INFINITY
                       : w->which == FC_WINSTAT_MAX ? -INFINITY
                                                    : 0,
                       0, 0, 0};
}

static float plain_extreme(float a, float b, gboolean most) {
  if (a != a || b != b) return NAN;
  if (a == b) return !!signbit(a) != most ? a : b;
  return (a < b) != most ? a : b;
}

static plain_piece plain_join(const plain_window *w, plain_piece a, plain_piece b) {
  if (w->which == FC_WINSTAT_MIN || w->which == FC_WINSTAT_MAX)
    return (plain_piece){plain_extreme(a.p, b.p, w->which == FC_WINSTAT_MAX), 0, 0, 0};
  if (!plain_is_spread(w->which)) return (plain_piece){a.p + b.p, 0, 0, 0};
  if (a.n == 0 || b.n == 0) return a.n == 0 ? b : a;
  const float total = a.n + b.n, share = b.n / total, apart = (b.p - a.p) + (b.d - a.d),
              m = (a.m + b.m) + apart * (apart * (a.n * share));
  return (plain_piece){a.p, a.d + apart * share, m, total};
}

static plain_piece plain_sample(const plain_window *w, gint64 at) {
  const float v = w->samples[at];
  return (plain_piece){w->which == FC_WINSTAT_RMS || w->which == FC_WINSTAT_SUMSQ ? v * v : v, 0, 0, 0};
}

/* Of variances: the mean and squared deviations of distances from some sample. */
typedef struct plain_moments {
  float mean, squares;
} plain_moments;

static void plain_add(plain_moments *m, float distance, gint64 count) {
  const float n = (float)count, d = distance - m->mean;
  m->mean = fmaf(d, 1 / n, m->mean), m->squares = fmaf(d * ((n - 1) / n), d, m->squares);
}

/* From the last sample on; of variances those from it. */
static plain_piece plain_suffix(const plain_window *w, gint64 from, gint64 to) {
  if (plain_is_spread(w->which)) {
    const float own = w->samples[to - 1];
    plain_moments m = {0, 0};
    for (gint64 i = to - 1; i >= from; i--) plain_add(&m, w->samples[i] - own, to - i);
    return (plain_piece){own, m.mean, m.squares, (float)(to - from)};
  }
  plain_piece sum = plain_sample(w, to - 1);
  for (gint64 i = to - 2; i >= from; i--) sum = plain_join(w, plain_sample(w, i), sum);
  return sum;
}

/* `n` segments; scans add what is a power of two away, the largest last. */
static plain_piece plain_scan(const plain_window *w, gint64 at, gint64 n, gboolean forward) {
  if (n == 0) return plain_none(w);
  if (n == 1) return plain_suffix(w, at, at + PLAIN_RUN);
  gint64 power = 1;
  while (2 * power < n) power *= 2;
  const gint64 left = forward ? n - power : power;
  return plain_join(w, plain_scan(w, at, left, forward),
                    plain_scan(w, at + left * PLAIN_RUN, n - left, forward));
}

/* Whole groups, dealt to 32 lanes. */
static plain_piece plain_middle(const plain_window *w, gint64 group, gint64 count) {
  plain_piece lanes[32];
  for (gint64 l = 0; l < 32; l++) {
    lanes[l] = plain_none(w);
    for (gint64 k = l; k < count; k += 32)
      lanes[l] = plain_join(w, lanes[l], plain_scan(w, group + k * 32 * PLAIN_RUN, 32, TRUE));
  }
  for (int by = 16; by > 0; by /= 2)
    for (int l = 0; l < by; l++) lanes[l] = plain_join(w, lanes[l], lanes[l + by]);
  return lanes[0];
}

/* Windows of no more than a segment, in blocks as long as themselves. */
static plain_piece plain_short(const plain_window *w, gint64 segment) {
  const gint64 at = w->first - segment, block = at / w->count * w->count, k = at - block;
  plain_piece sum = plain_suffix(w, w->first, segment + block + w->count);
  if (k == 0) return sum;
  plain_piece prefix = plain_sample(w, segment + block + w->count);
  for (gint64 i = 1; i < k; i++)
    prefix = plain_join(w, prefix, plain_sample(w, segment + block + w->count + i));
  return plain_join(w, sum, prefix);
}

/* Where the segment begins in which a window does. */
static gint64 plain_begin(const plain_window *w) {
  return w->first - ((w->first - w->anchor) % PLAIN_RUN + PLAIN_RUN) % PLAIN_RUN;
}

/* What lies between that and the segment in which the window ends. */
static plain_piece plain_between(const plain_window *w) {
  const gint64 segment = plain_begin(w), q = (w->count - 1) / PLAIN_RUN;
  gint64 group = 1;
  if (q < 2) return plain_none(w);
  while (group < 32 && 2 * group <= q) group *= 2;
  const gint64 size = group * PLAIN_RUN, whole = q / group, last = segment + q * PLAIN_RUN,
               begin = segment - (((segment - w->anchor) % size + size) % size),
               end = last - (((last - w->anchor) % size + size) % size);
  plain_piece core = plain_scan(w, segment + PLAIN_RUN, (begin + size - segment) / PLAIN_RUN - 1, FALSE);
  if (whole > 1) core = plain_join(w, core, plain_middle(w, begin + size, whole - 1));
  if (end > begin + whole * size)
    core = plain_join(w, core, plain_scan(w, begin + whole * size, group, TRUE));
  return plain_join(w, core, plain_scan(w, end, (last - end) / PLAIN_RUN, TRUE));
}

static plain_piece plain_piece_of(const plain_window *w) {
  const gint64 segment = plain_begin(w), q = (w->count - 1) / PLAIN_RUN;
  if (q == 0) return plain_short(w, segment);
  plain_piece core = plain_between(w);
  for (gint64 i = segment + q * PLAIN_RUN; i < w->first + w->count; i++)
    core = plain_join(w, core, plain_sample(w, i));
  return plain_join(w, plain_suffix(w, w->first, segment + PLAIN_RUN), core);
}

/* Means and squared deviations of distances from the last sample of the segment, or of a block as long as the
 * window, in which the window begins; up to that from the last on, then what is behind it: in long windows
 * what lies between segments, and what follows one by one. */
static float plain_variance(const plain_window *w) {
  for (gint64 i = 0; i < w->count; i++) /* infinities have no variance */
    if (!isfinite(w->samples[w->first + i])) return NAN;
  const gint64 phase = w->first - plain_begin(w), block = w->count > PLAIN_RUN ? PLAIN_RUN : w->count,
               own = w->first + block - 1 - phase % block, end = w->first + w->count;
  plain_moments a = {0, 0}, b = {0, 0};
  gint64 next = own + 1;
  for (gint64 i = own; i >= w->first; i--) plain_add(&a, w->samples[i] - w->samples[own], own - i + 1);
  if (w->count > FC_WINSTAT_SPREAD_MOST) {
    const plain_piece core = plain_between(w);
    b = (plain_moments){(core.p - w->samples[own]) + core.d, core.m};
    next += ((w->count - 1) / PLAIN_RUN - 1) * PLAIN_RUN;
  }
  for (gint64 i = next; i < end; i++) plain_add(&b, w->samples[i] - w->samples[own], i - own);
  const double before = (double)(own + 1 - w->first), after = (double)(end - own - 1), n = (double)w->count;
  const float share = (float)(after / n), of_short = (float)after * (1 - share);
  const float d = b.mean - a.mean, weight = w->count > PLAIN_RUN ? (float)(before * after / n) : of_short;
  const float all = after > 0 ? fmaf(d * weight, d, a.squares + b.squares) : a.squares;
  return all * (1 / (float)w->count);
}

/* What is said of a sum, or a sum of squares, of so many floats. */
static float plain_of_sum(int which, float sum, gint64 count) {
  const float n = (float)count, q = sum * (1 / n), exact = fmaf(fmaf(-q, n, sum), 1 / n, q);
  if (which == FC_WINSTAT_MEAN) return fabsf(q) < INFINITY ? exact : q;
  return which == FC_WINSTAT_RMS ? sqrtf(sum / n) : sum;
}

static float plain_floats(const plain_window *w) {
  if (plain_is_spread(w->which)) {
    const float variance = plain_variance(w);
    return w->which == FC_WINSTAT_STD ? sqrtf(variance) : variance;
  }
  return plain_of_sum(w->which, plain_piece_of(w).p, w->count);
}

/* Of columns and rows, in reading order; `count` samples are not zeros beyond the signal's ends. */
static float plain_box(int which, const float *samples, gint64 nx, gint64 ny, gint64 count) {
  g_autofree float *row = g_new(float, (gsize)nx), *sums = g_new(float, (gsize)ny);
  const gboolean squares = which == FC_WINSTAT_RMS || which == FC_WINSTAT_SUMSQ;
  for (gint64 y = 0; y < ny; y++) {
    for (gint64 x = 0; x < nx; x++) row[x] = samples[y * nx + x] * (squares ? samples[y * nx + x] : 1);
    sums[y] = sum_in_order(row, nx);
  }
  return plain_of_sum(which, sum_in_order(sums, ny), count);
}

/* Of codes times `scale`: sums are exact, what is said of them is rounded once. `count` are not zeros beyond
 * the signal's ends. */
static double plain_codes(const plain_window *w, double scale, gint64 count) {
  gint64 sum = 0;
  fc_uint128 squares = 0;
  const double n = (double)count;
  for (gint64 i = 0; i < w->count; i++) {
    const gint64 v = (gint64)rint(w->samples[w->first + i] / scale);
    sum += v, squares += (guint64)(v * v);
  }
  switch (w->which) {
  case FC_WINSTAT_SUM: return (double)sum * scale;
  case FC_WINSTAT_MEAN: return (double)sum * scale / n;
  case FC_WINSTAT_SUMSQ: return fc_winstat_double_of(squares) * scale * scale;
  case FC_WINSTAT_RMS: return sqrt(fc_winstat_double_of(squares) * scale * scale / n);
  default: break;
  }
  const double variance = fc_winstat_spread((guint64)count, sum, squares) * scale * scale / n;
  return w->which == FC_WINSTAT_STD ? sqrt(variance) : variance;
}

#endif
