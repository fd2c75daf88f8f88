/* SPDX-License-Identifier: MIT */
/*
 * winstat_check.h - what the tests of winstat share: pictures with a halo in guarded
 * memory, the definition in long double (128-bit integers for integer input), and
 * comparison with it.
 */
#ifndef FC_TESTS_WINSTAT_CHECK_H
#define FC_TESTS_WINSTAT_CHECK_H

#include <float.h>

#include "filters/winstat/winstat.h"
#include "tests/filters/check.h"
#include "tests/filters/quad.h"

__extension__ typedef __int128 int128;

/* ---- pictures: views with a halo, in guarded memory ------------------------ */

enum { PACKED, PLANAR, PADDED, LAYOUTS };

typedef struct picture {
  guarded memory;
  fc_view view;
  int64_t halo[2][2]; /* x, y: before, after */
} picture;

static inline int64_t halo_of(const picture *p, int axis, int side) {
  return axis == FC_AXIS_X ? p->halo[0][side] : axis == FC_AXIS_Y ? p->halo[1][side] : 0;
}

static inline picture picture_new(int kind, int dtype, int layout, const int64_t shape[FC_AXES],
                                  const int64_t halo[2][2]) {
  picture p = {.view = {sizeof(fc_view), dtype, kind, FC_HOST, NULL, {0}, {0}, {0}, {0}}};
  static const int packed[] = {FC_AXIS_C, FC_AXIS_X, FC_AXIS_Y, FC_AXIS_N};
  static const int planar[] = {FC_AXIS_X, FC_AXIS_Y, FC_AXIS_C, FC_AXIS_N};
  int64_t size = (int64_t)fc_dtype_size(dtype), total = size;
  memcpy(p.halo, halo, sizeof p.halo);
  for (int i = 0; i < FC_AXES; i++) {
    int a = (layout == PLANAR ? planar : packed)[i];
    p.view.shape[a] = p.view.extent[a] = shape[a];
    p.view.stride[a] = total;
    total *= shape[a] + halo_of(&p, a, 0) + halo_of(&p, a, 1);
    if (layout == PADDED) total += (i + 1) * size;
  }
  p.memory = guarded_new((size_t)total);
  p.view.data = (char *)p.memory.data + p.halo[0][0] * p.view.stride[FC_AXIS_X] +
                p.halo[1][0] * p.view.stride[FC_AXIS_Y];
  return p;
}

static const int64_t no_halo[2][2];

/* Every sample with its halo, or only those of the halo. */
typedef double (*source_fn)(int dtype, double parameter);

static inline void picture_fill(picture *p, source_fn source, double parameter, int only_halo) {
  const int64_t *s = p->view.shape;
  for (int64_t n = 0; n < s[0]; n++)
    for (int64_t y = -p->halo[1][0]; y < s[1] + p->halo[1][1]; y++)
      for (int64_t x = -p->halo[0][0]; x < s[2] + p->halo[0][1]; x++)
        for (int64_t c = 0; c < s[3]; c++) {
          int inside = x >= 0 && x < s[2] && y >= 0 && y < s[1];
          if (!only_halo || !inside)
            element_set(fc_view_at(&p->view, n, y, x, c), p->view.dtype, source(p->view.dtype, parameter));
        }
}

static inline double source_random(int dtype, double parameter) {
  (void)parameter;
  return element_random(dtype);
}

static inline double source_offset(int dtype, double offset) {
  (void)dtype;
  return offset + random_real();
}

/* What no window may ever see. */
static inline double source_poison(int dtype, double parameter) {
  (void)parameter;
  return dtype == FC_F32 || dtype == FC_F64 ? NAN : dtype == FC_U8 ? 255 : dtype == FC_U16 ? 65535 : 32767;
}

/* ---- the definition --------------------------------------------------------- */

typedef struct expected {
  quad value;
  quad slack; /* the error that direct summation may have, in units of the type's epsilon */
} expected;

typedef struct window {
  int64_t x0, x1, y0, y1;
} window;

static inline window window_at(const fc_winstat *w, const fc_view *in, int64_t y, int64_t x) {
  window b = {x - w->before[0], x + w->after[0], y - w->before[1], y + w->after[1]};
  if (!w->shrink) return b;
  if (b.x0 < 0) b.x0 = 0;
  if (b.y0 < 0) b.y0 = 0;
  if (b.x1 >= in->shape[FC_AXIS_X]) b.x1 = in->shape[FC_AXIS_X] - 1;
  if (b.y1 >= in->shape[FC_AXIS_Y]) b.y1 = in->shape[FC_AXIS_Y] - 1;
  return b;
}

/* Integers: sums without rounding; the statistic in 113 bits of them. */
static inline expected define_codes(const fc_view *in, window b, int64_t n, int64_t c, int stat) {
  fc_scaling map = fc_scaling_of(in->kind, in->dtype);
  int128 sum = 0, squares = 0, count = (int128)(b.x1 - b.x0 + 1) * (b.y1 - b.y0 + 1);
  int64_t least = INT64_MAX, most = INT64_MIN;
  for (int64_t y = b.y0; y <= b.y1; y++)
    for (int64_t x = b.x0; x <= b.x1; x++) {
      int64_t v = (int64_t)(element_get(fc_view_at(in, n, y, x, c), in->dtype) - map.bias);
      sum += v, squares += v * v;
      least = v < least ? v : least, most = v > most ? v : most;
    }
  quad area = (quad)count, var = (quad)(count * squares - sum * sum) / area / area;
  quad s = map.scale, q = s * s;
  switch (stat) {
  case FC_WINSTAT_SUM: return (expected){sum * s, 0};
  case FC_WINSTAT_SUMSQ: return (expected){squares * q, 0};
  case FC_WINSTAT_MEAN: return (expected){sum / area * s, 0};
  case FC_WINSTAT_VAR: return (expected){var * q, 0};
  case FC_WINSTAT_STD: return (expected){quad_root(var) * s, 0};
  case FC_WINSTAT_RMS: return (expected){quad_root(squares / area) * s, 0};
  case FC_WINSTAT_MIN: return (expected){least * s, 0};
  default: return (expected){most * s, 0};
  }
}

/* In long double, whichever it is: direct summation may be off by more. */
static inline expected define_values(const fc_view *in, window b, int64_t n, int64_t c, int stat) {
  long double sum = 0, size = 0, squares = 0, spread = 0, least = INFINITY, most = -INFINITY;
  long double count = (long double)(b.x1 - b.x0 + 1) * (b.y1 - b.y0 + 1);
  for (int64_t y = b.y0; y <= b.y1; y++)
    for (int64_t x = b.x0; x <= b.x1; x++) {
      double v = element_get(fc_view_at(in, n, y, x, c), in->dtype);
      sum += v, size += fabs(v), squares += (long double)v * v;
      least = isnan(least) || v >= least ? least : v, most = isnan(most) || v <= most ? most : v;
    }
  for (int64_t y = b.y0; y <= b.y1; y++)
    for (int64_t x = b.x0; x <= b.x1; x++) {
      long double apart = element_get(fc_view_at(in, n, y, x, c), in->dtype) - sum / count;
      spread += apart * apart;
    }
  switch (stat) {
  case FC_WINSTAT_SUM: return (expected){sum, count * size};
  case FC_WINSTAT_SUMSQ: return (expected){squares, (count + 1) * squares};
  case FC_WINSTAT_MEAN: return (expected){sum / count, (count + 1) * size / count};
  case FC_WINSTAT_VAR: return (expected){spread / count, (count + 12) * spread / count};
  case FC_WINSTAT_STD: return (expected){sqrtl(spread / count), (count + 12) * sqrtl(spread / count)};
  case FC_WINSTAT_RMS: return (expected){sqrtl(squares / count), (count + 3) * sqrtl(squares / count)};
  case FC_WINSTAT_MIN: return (expected){least, 0};
  default: return (expected){most, 0};
  }
}

/* What is stored of a value as an integer: rounded half to even, clamped. */
static inline double as_code(double value, int dtype) {
  const double low = dtype == FC_I16   ? INT16_MIN
                     : dtype == FC_I32 ? INT32_MIN
                                       : 0,
               high = dtype == FC_U8    ? UINT8_MAX
                      : dtype == FC_I16 ? INT16_MAX
                      : dtype == FC_U16 ? UINT16_MAX
                                        : INT32_MAX;
  return fmin(fmax(rint(value), low), high);
}

/* Integers: two double roundings of slack where the statistic is no integer itself. */
static inline int close_enough(double got, expected e, int in_dtype, int out_dtype, int compute, int stat) {
  if (isnan((double)e.value)) return isnan(got);
  if (!fc_dtype_is_float(out_dtype)) return got == as_code((double)e.value, out_dtype);
  quad size = quad_abs(e.value), slack;
  if (fc_dtype_is_float(in_dtype))
    slack = e.slack * (compute == FC_F64 ? DBL_EPSILON : FLT_EPSILON) / 2;
  else
    slack = stat == FC_WINSTAT_SUM || stat == FC_WINSTAT_MIN || stat == FC_WINSTAT_MAX
                ? 0
                : 2.5 * DBL_EPSILON / 2 * size;
  if (out_dtype == FC_F32) slack += size * FLT_EPSILON / 2 + FLT_TRUE_MIN / 2;
  if (out_dtype == FC_F64) slack += size * DBL_EPSILON / 2;
  return quad_abs(got - e.value) <= slack;
}

/* ---- cases ------------------------------------------------------------------ */

/* The part of a view from x0, y0 on, as the host would hand it over. */
static inline fc_view part_of(const fc_view *v, int64_t x0, int64_t y0, int64_t columns, int64_t rows) {
  fc_view p = *v;
  p.data = fc_view_at(v, 0, y0, x0, 0);
  p.shape[FC_AXIS_X] = columns, p.shape[FC_AXIS_Y] = rows;
  p.origin[FC_AXIS_X] += x0, p.origin[FC_AXIS_Y] += y0;
  return p;
}

static inline int same_bits(const picture *a, const picture *b) {
  const int64_t *s = a->view.shape;
  size_t size = fc_dtype_size(a->view.dtype);
  for (int64_t n = 0; n < s[0]; n++)
    for (int64_t y = 0; y < s[1]; y++)
      for (int64_t x = 0; x < s[2]; x++)
        for (int64_t c = 0; c < s[3]; c++)
          if (memcmp(fc_view_at(&a->view, n, y, x, c), fc_view_at(&b->view, n, y, x, c), size)) return 0;
  return 1;
}

typedef struct sample_case {
  int kind, dtype, out_dtype, layout, out_layout, compute, shrink;
  int64_t shape[FC_AXES], columns, rows;
} sample_case;

static inline char *describe(const sample_case *t) {
  static char text[200];
  snprintf(text, sizeof text,
           "kind %d %s to %s layout %d to %d compute %s shrink %d shape %dx%dx%dx%d window %dx%d", t->kind,
           fc_dtype_name(t->dtype), fc_dtype_name(t->out_dtype), t->layout, t->out_layout,
           fc_dtype_name(t->compute), t->shrink, (int)t->shape[0], (int)t->shape[1], (int)t->shape[2],
           (int)t->shape[3], (int)t->columns, (int)t->rows);
  return text;
}

static inline void check_picture(const sample_case *t, const fc_winstat *w, const picture *in,
                                 const picture *out, const char *who) {
  const int64_t channels = t->shape[FC_AXIS_C];
  for (int64_t n = 0; n < t->shape[0]; n++)
    for (int64_t y = 0; y < t->shape[1]; y++)
      for (int64_t x = 0; x < t->shape[2]; x++)
        for (int64_t c = 0; c < channels; c++)
          for (int s = 0; s < w->n_stats; s++) {
            window b = window_at(w, &in->view, y, x);
            expected e = fc_dtype_is_float(t->dtype) ? define_values(&in->view, b, n, c, w->stat[s])
                                                     : define_codes(&in->view, b, n, c, w->stat[s]);
            double got = element_get(fc_view_at(&out->view, n, y, x, s * channels + c), t->out_dtype);
            CHECK(close_enough(got, e, t->dtype, t->out_dtype, t->compute, w->stat[s]),
                  "%s: %s stat %d at %d,%d,%d,%d: got %.17g, want %.17g (slack %g)", who, describe(t),
                  w->stat[s], (int)n, (int)y, (int)x, (int)c, got, (double)e.value, (double)e.slack);
          }
}

/* Every stat, in an order of its own each time. */
static inline int random_stats(int32_t stats[FC_WINSTAT_STATS]) {
  for (int i = 0; i < FC_WINSTAT_STATS; i++) stats[i] = i;
  for (int i = FC_WINSTAT_STATS - 1; i > 0; i--) {
    int j = (int)random_int(0, i), keep = stats[i];
    stats[i] = stats[j], stats[j] = keep;
  }
  return (int)random_int(1, FC_WINSTAT_STATS);
}

static inline picture output_for(const sample_case *t, const fc_winstat *w) {
  int64_t shape[FC_AXES];
  memcpy(shape, t->shape, sizeof shape);
  shape[FC_AXIS_C] *= w->n_stats;
  return picture_new(t->kind, t->out_dtype, t->out_layout, shape, no_halo);
}

static inline int64_t pick(const int64_t *from, int count) {
  return from[random_int(0, count - 1)];
}
#define PICK(array) pick(array, (int)(sizeof array / sizeof *array))

/* Sums that would leave 32 and 53 bits: the widest integers, all alike and extreme. */
static inline double source_extreme(int dtype, double parameter) {
  (void)parameter;
  int high = (int)random_int(0, 7) > 0;
  switch (dtype) {
  case FC_U8: return high ? 255 : 0;
  case FC_I16: return high ? -32768 : 32767;
  case FC_U16: return high ? 65535 : 0;
  default: return high ? INT32_MIN : INT32_MAX;
  }
}

#endif
