/* SPDX-License-Identifier: MIT */
/*
 * resample_math.h - the window of inputs of an output of resample.h, and their weights. For the host and a
 * device: sums and products of doubles only, in a fixed order, so that both give the same bits.
 *
 * Output o of an axis is at position (o + 1/2) in / out of the input, whose element i is at i + 1/2. Windows
 * as in Pillow's resampling: support as wide as the filter's, times the ratio when shrinking with
 * antialiasing.
 */
#ifndef FC_FILTERS_RESAMPLE_MATH_H
#define FC_FILTERS_RESAMPLE_MATH_H

#include "filters/resample/resample.h"

#ifdef __CUDACC__
#define FC_RESAMPLE_FN static __host__ __device__ inline
#else
#define FC_RESAMPLE_FN static inline
#endif

/* Fractional bits of a weight, and of a value between two passes over bytes. */
#define FC_RESAMPLE_WEIGHT_BITS 14
#define FC_RESAMPLE_VALUE_BITS  6
#define FC_RESAMPLE_VALUE_MOST  (255 << FC_RESAMPLE_VALUE_BITS)
/* Right shift of the sums in a pass over bytes. */
#define FC_RESAMPLE_SHIFT(pass)                                                                              \
  ((pass) ? FC_RESAMPLE_WEIGHT_BITS + FC_RESAMPLE_VALUE_BITS                                                 \
          : FC_RESAMPLE_WEIGHT_BITS - FC_RESAMPLE_VALUE_BITS)
/* With more taps, weights of 14 bits are too coarse. */
#define FC_RESAMPLE_MOST_TAPS 2048

/* One axis. */
typedef struct fc_resample_axis {
  int32_t filter, clamps; /* clamps: inputs beyond the ends are repeated; else they have no weight */
  int64_t in, out;        /* extents */
  int64_t most;           /* maximum of taps per output */
  double scale, inverse;  /* inputs per output; 1 / width of the filter in inputs */
  double reach, support;  /* of the filter as defined, and in inputs */
} fc_resample_axis;

FC_RESAMPLE_FN double fc_resample_reach_of(int filter) {
  switch (filter) {
  case FC_RESAMPLE_BILINEAR: return 1;
  case FC_RESAMPLE_BICUBIC:
  case FC_RESAMPLE_BICUBIC_SHARP: return 2;
  case FC_RESAMPLE_LANCZOS3: return 3;
  default: return 0.5;
  }
}

FC_RESAMPLE_FN fc_resample_axis fc_resample_axis_of(const fc_resample *r, int64_t in, int64_t out) {
  fc_resample_axis a;
  a.filter = r->filter == FC_RESAMPLE_BICUBIC && !r->antialias ? FC_RESAMPLE_BICUBIC_SHARP : r->filter;
  a.clamps = !r->antialias, a.in = in, a.out = out;
  a.scale = (double)in / (double)out;
  const double width = r->antialias && a.scale > 1 ? a.scale : 1;
  a.inverse = 1 / width;
  a.reach = fc_resample_reach_of(a.filter);
  a.support = a.reach * width;
  a.most = 2 * (int64_t)(a.support + 1) + 1;
  if (a.filter == FC_RESAMPLE_AREA) a.most = (int64_t)a.scale + 2;
  if (a.filter == FC_RESAMPLE_NEAREST) a.most = 1;
  if (a.most > in) a.most = in > 1 ? in : 1;
  return a;
}

/* How far windows extend beyond the inputs that an output covers, on either side. */
FC_RESAMPLE_FN int64_t fc_resample_halo_of(const fc_resample_axis *a) {
  if (a->filter == FC_RESAMPLE_AREA || a->filter == FC_RESAMPLE_NEAREST) return 0;
  const double beyond = a->support - a->scale / 2 + 0.5;
  return beyond > 0 ? (int64_t)beyond + 1 : 0;
}

/* sin(pi v) for v in [0, 1]: folded to [0, 1/2], then the Taylor series, whose first term left out is 2e-18
 * at v = 1/2. */
FC_RESAMPLE_FN double fc_resample_sine(double v) {
  const double u = v > 0.5 ? 1 - v : v, z = u * u;
  double sum = 5.3926646626081281e-10;
  sum = sum * z - 2.2948428997269871e-08;
  sum = sum * z + 7.9520540014755128e-07;
  sum = sum * z - 2.1915353447830216e-05;
  sum = sum * z + 0.00046630280576761257;
  sum = sum * z - 0.0073704309457143506;
  sum = sum * z + 0.082145886611128228;
  sum = sum * z - 0.59926452932079210;
  sum = sum * z + 2.5501640398773455;
  sum = sum * z - 5.1677127800499702;
  sum = sum * z + 3.1415926535897932;
  return u * sum;
}

/* sinc(x) sinc(x / 3); sin(pi x) by that of a third of the angle. */
FC_RESAMPLE_FN double fc_resample_lanczos3(double x) {
  const double s = fc_resample_sine(x * (1.0 / 3)), s2 = s * s;
  const double value = 3 * s2 * (3 - 4 * s2) / (9.8696044010893586 * x * x);
  return x >= 3 ? 0 : x < 1e-9 ? 1 : value;
}

FC_RESAMPLE_FN double fc_resample_cubic(double x, double a) {
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

/* The distance of input i from output o, in units of the filter. */
FC_RESAMPLE_FN double fc_resample_distance(const fc_resample_axis *a, int64_t o, int64_t i) {
  const double centre = ((double)o + 0.5) * a->scale, x = ((double)i - centre + 0.5) * a->inverse;
  return x < 0 ? -x : x;
}

/* The filter at input i, which may be beyond the ends; not normalised. */
FC_RESAMPLE_FN double fc_resample_value(const fc_resample_axis *a, int64_t o, int64_t i) {
  if (a->filter == FC_RESAMPLE_NEAREST) return 1;
  if (a->filter == FC_RESAMPLE_AREA) { /* overlap of both, in 1 / (in out) of the axis */
    const int64_t low = i * a->out > o * a->in ? i * a->out : o * a->in, i_end = (i + 1) * a->out,
                  o_end = (o + 1) * a->in;
    return (double)((i_end < o_end ? i_end : o_end) - low);
  }
  const double x = fc_resample_distance(a, o, i);
  switch (a->filter) {
  case FC_RESAMPLE_BILINEAR: return x < 1 ? 1 - x : 0;
  case FC_RESAMPLE_BICUBIC: return fc_resample_cubic(x, -0.5);
  case FC_RESAMPLE_BICUBIC_SHARP: return fc_resample_cubic(x, -0.75);
  default: return fc_resample_lanczos3(x);
  }
}

/* The first input `low` of output o's window, ignoring the ends. Both ends of the window grow with o. */
FC_RESAMPLE_FN int64_t fc_resample_span(const fc_resample_axis *a, int64_t o, int64_t *low) {
  int64_t end;
  if (a->filter == FC_RESAMPLE_NEAREST) {
    *low = (2 * o + 1) * a->in / (2 * a->out);
    return 1;
  }
  if (a->filter == FC_RESAMPLE_AREA) {
    *low = o * a->in / a->out;
    return ((o + 1) * a->in + a->out - 1) / a->out - *low;
  }
  const double centre = ((double)o + 0.5) * a->scale;
  /* Conversion truncates: negative numbers are shifted by a whole number, which is subtracted afterwards. */
  const int64_t lift = (int64_t)a->support + 2;
  *low = (int64_t)(centre - a->support + 0.5 + (double)lift) - lift;
  end = (int64_t)(centre + a->support + 0.5);
  if (fc_resample_distance(a, o, end - 1) >= a->reach) end--;
  if (fc_resample_distance(a, o, *low) >= a->reach) ++*low;
  return end - *low;
}

/* The window of output o: its first input and size, within the signal. */
FC_RESAMPLE_FN int64_t fc_resample_window(const fc_resample_axis *a, int64_t o, int64_t *first) {
  int64_t low, end = fc_resample_span(a, o, &low);
  end += low;
  *first = low < 0 ? 0 : low;
  if (end > a->in) end = a->in;
  return end - *first;
}

/* The filter at input i of the window; if ends are clamped, including the weights beyond them. */
FC_RESAMPLE_FN double fc_resample_folded(const fc_resample_axis *a, int64_t o, int64_t i) {
  double value = fc_resample_value(a, o, i);
  if (!a->clamps || (i > 0 && i < a->in - 1)) return value;
  int64_t low, end = fc_resample_span(a, o, &low);
  end += low;
  if (i == 0)
    for (int64_t k = low; k < 0; k++) value += fc_resample_value(a, o, k);
  if (i == a->in - 1)
    for (int64_t k = a->in; k < end; k++) value += fc_resample_value(a, o, k);
  return value;
}

/* The filter over the window: fc_resample_folded of each input, in loops that a compiler can vectorise. */
FC_RESAMPLE_FN void fc_resample_values(const fc_resample_axis *a, int64_t o, int64_t first, int64_t taps,
                                       double *values) {
  const double centre = ((double)o + 0.5) * a->scale, inverse = a->inverse;
  const int looks = a->filter == FC_RESAMPLE_NEAREST || a->filter == FC_RESAMPLE_AREA || a->clamps;
  for (int64_t i = 0; looks && i < taps; i++) values[i] = fc_resample_folded(a, o, first + i);
  if (looks) return;
  for (int64_t i = 0; i < taps; i++) {
    const double x = ((double)(first + i) - centre + 0.5) * inverse;
    values[i] = x < 0 ? -x : x;
  }
  if (a->filter == FC_RESAMPLE_BILINEAR)
    for (int64_t i = 0; i < taps; i++) values[i] = values[i] < 1 ? 1 - values[i] : 0;
  else if (a->filter == FC_RESAMPLE_BICUBIC)
    for (int64_t i = 0; i < taps; i++) values[i] = fc_resample_cubic(values[i], -0.5);
  else
    for (int64_t i = 0; i < taps; i++) values[i] = fc_resample_lanczos3(values[i]);
}

/* 1 / the sum of the window's filter values. */
FC_RESAMPLE_FN double fc_resample_norm(const double *values, int64_t taps) {
  double sum = 0;
  for (int64_t i = 0; i < taps; i++) sum += values[i];
  return 1 / sum;
}

/* Weights of 14 bits from the filter's values: differences of the rounded running sum, so that they add up
 * to exactly 1 and errors of neighbours cancel. `room` of them are written, 0 beyond the window. */
FC_RESAMPLE_FN void fc_resample_codes(const double *values, int64_t taps, int16_t *weights, int64_t room) {
  const double norm = fc_resample_norm(values, taps);
  double running = 0;
  int32_t before = 0;
  for (int64_t i = 0; i < taps; i++) {
    running += values[i] * norm;
    /* Partial sums are within (-1, 3): shifted, so that truncation rounds down. */
    const int32_t now = (int32_t)(running * (1 << FC_RESAMPLE_WEIGHT_BITS) + 65536.5) - 65536;
    weights[i] = (int16_t)(now - before);
    before = now;
  }
  for (int64_t i = taps; i < room; i++) weights[i] = 0;
}

/* Whether bytes are summed as integers: not if the result is divided by alpha, nor with very many taps. */
FC_RESAMPLE_FN int fc_resample_by_codes(const fc_resample *r, int dtype, const fc_resample_axis *x,
                                        const fc_resample_axis *y) {
  return dtype == FC_U8 && !r->alpha && x->most <= FC_RESAMPLE_MOST_TAPS && y->most <= FC_RESAMPLE_MOST_TAPS;
}

/* Whether bytes are limited to 0..255 between the passes: yes in Pillow, no in OpenCV. */
FC_RESAMPLE_FN int fc_resample_limits(const fc_resample *r, int codes) {
  return codes && r->antialias && fc_resample_reach_of(r->filter) > 1;
}

/* Whether columns come first: cheaper when shrinking, but not done where the order changes the result. */
FC_RESAMPLE_FN int fc_resample_down_first(const fc_resample *r, int codes, const fc_resample_axis *y) {
  return y->in >= y->out && !fc_resample_limits(r, codes);
}

/* Rounds a finished sum of bytes, or of values between the passes, which fit 16 bits. */
FC_RESAMPLE_FN int32_t fc_resample_finished(int32_t sum, int pass, int limits) {
  const int32_t low = pass || limits ? 0 : INT16_MIN;
  const int32_t high = pass ? 255 : limits ? FC_RESAMPLE_VALUE_MOST : INT16_MAX;
  const int32_t value = (sum + (1 << (FC_RESAMPLE_SHIFT(pass) - 1))) >> FC_RESAMPLE_SHIFT(pass);
  return value < low ? low : value > high ? high : value;
}

#endif
