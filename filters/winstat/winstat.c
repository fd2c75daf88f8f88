/* SPDX-License-Identifier: MIT */
/*
 * winstat.c - the parameters of winstat.h, and the plain scalar reference, with which the vectorised version
 * (winstat_cpu.c) and the CUDA version are compared: it computes every window separately, so an output costs
 * the window's area.
 */
#include "filters/winstat/winstat.h"

#include <math.h>

#include "core/contract/device_function.h"
#include "filters/base/codes.h"
#include "filters/winstat/winstat_math.h"

fc_status fc_winstat_init(fc_winstat *w, const int32_t *stats, int n_stats, int64_t columns, int64_t rows,
                          int shrink, int compute) {
  if (n_stats < 1 || n_stats > FC_WINSTAT_STATS || columns < 1 || rows < 1) return FC_INVALID;
  if (columns > FC_WINSTAT_AREA_MAX / rows) return FC_INVALID;
  w->n_stats = n_stats;
  for (int s = 0; s < n_stats; s++) {
    if (stats[s] < 0 || stats[s] >= FC_WINSTAT_STATS) return FC_INVALID;
    w->stat[s] = stats[s];
  }
  const int64_t size[2] = {columns, rows};
  for (int a = 0; a < 2; a++) w->before[a] = size[a] / 2, w->after[a] = (size[a] - 1) / 2;
  w->shrink = shrink;
  w->compute = compute;
  w->isa = fc_isa_best();
  return FC_OK;
}

void fc_winstat_clip(fc_winstat *w, int64_t columns, int64_t rows) {
  const int64_t extent[2] = {columns, rows};
  if (!w->shrink) return;
  for (int a = 0; a < 2; a++) {
    int64_t most = extent[a] < 1 ? 0 : extent[a] - 1;
    if (extent[a] == FC_UNKNOWN) continue;
    if (w->before[a] > most) w->before[a] = most;
    if (w->after[a] > most) w->after[a] = most;
  }
}

static int repeats(int border) {
  return border == FC_BORDER_REPLICATE || border == FC_BORDER_REFLECT || border == FC_BORDER_REFLECT101 ||
         border == FC_BORDER_WRAP;
}

void fc_winstat_fold(fc_winstat *w, int border, int64_t columns, int64_t rows) {
  const int64_t extent[2] = {columns, rows};
  if (w->shrink || !repeats(border)) return;
  for (int s = 0; s < w->n_stats; s++)
    if (w->stat[s] == FC_WINSTAT_SUM || w->stat[s] == FC_WINSTAT_SUMSQ) return;
  for (int a = 0; a < 2; a++)
    if (extent[a] == 1) w->before[a] = w->after[a] = 0;
}

static int64_t align_of(int64_t window) {
  return window <= FC_WINSTAT_SLIDE_MAX ? FC_WINSTAT_SLIDE_ANCHOR : FC_WINSTAT_ROW_BLOCK;
}

int64_t fc_winstat_align(const fc_winstat *w) {
  return align_of(w->before[0] + 1 + w->after[0]);
}

int64_t fc_winstat_align_rows(const fc_winstat *w, int64_t columns) {
  const int64_t rows = w->before[1] + 1 + w->after[1];
  if (columns == 1) return align_of(rows); /* processed as a row */
  return rows > 1 ? FC_WINSTAT_COLUMN_BLOCK : 1;
}

/* ---- reference -------------------------------------------------------- */

/* A window in the coordinates of the view, already clipped if it shrinks. */
typedef struct box {
  int64_t x0, x1, y0, y1; /* half open */
  int64_t n, c;
} box;

static box box_at(const fc_winstat *w, const fc_view *in, int64_t n, int64_t y, int64_t x, int64_t c) {
  box b = {x - w->before[0], x + w->after[0] + 1, y - w->before[1], y + w->after[1] + 1, n, c};
  if (!w->shrink) return b;
  fc_winstat_span xs = fc_winstat_inside(in, FC_AXIS_X, b.x0, b.x1);
  fc_winstat_span ys = fc_winstat_inside(in, FC_AXIS_Y, b.y0, b.y1);
  return (box){xs.lo, xs.hi, ys.lo, ys.hi, n, c};
}

static int32_t code_at(const fc_view *v, int64_t n, int64_t y, int64_t x, int64_t c) {
  int32_t code;
  fc_codes_load(&code, fc_view_at(v, n, y, x, c), 0, 1, v->kind, v->dtype);
  return code;
}

static double value_at(const fc_view *v, int64_t n, int64_t y, int64_t x, int64_t c) {
  double value;
  fc_load_f64(&value, fc_view_at(v, n, y, x, c), 0, 1, v->kind, v->dtype);
  return value;
}

static void extremes(const fc_view *in, const box *b, double *least, double *most) {
  *least = INFINITY, *most = -INFINITY;
  for (int64_t y = b->y0; y < b->y1; y++)
    for (int64_t x = b->x0; x < b->x1; x++) {
      double v = value_at(in, b->n, y, x, b->c);
      *least = *least != *least || v >= *least ? *least : v;
      *most = *most != *most || v <= *most ? *most : v;
    }
}

/* Sum, sum of squares and squared deviations, of integers exactly. */
typedef struct totals {
  double n, sum, squares, spread;
} totals;

static totals totals_of_codes(const fc_view *in, const box *b) {
  const double scale = fc_scaling_of(in->kind, in->dtype).scale;
  uint64_t n = (uint64_t)((b->x1 - b->x0) * (b->y1 - b->y0));
  int64_t sum = 0;
  fc_uint128 squares = 0;
  for (int64_t y = b->y0; y < b->y1; y++)
    for (int64_t x = b->x0; x < b->x1; x++) {
      int64_t v = code_at(in, b->n, y, x, b->c);
      sum += v, squares += (uint64_t)(v * v);
    }
  return (totals){(double)n, (double)sum * scale, fc_winstat_double_of(squares) * scale * scale,
                  fc_winstat_spread(n, sum, squares) * scale * scale};
}

/* Squares are in the compute type: in f32 they overflow long before the samples do. */
static long double square(long double v, int compute) {
  return compute == FC_F64 ? (double)(v * v) : (float)(v * v);
}

/* In the widest type available, so that the comparison shows the error of the others. */
static totals totals_of_values(const fc_view *in, const box *b, int compute) {
  const long double n = (long double)(b->x1 - b->x0) * (long double)(b->y1 - b->y0);
  long double sum = 0, squares = 0, spread = 0;
  for (int64_t y = b->y0; y < b->y1; y++)
    for (int64_t x = b->x0; x < b->x1; x++) {
      double v = value_at(in, b->n, y, x, b->c);
      sum += v, squares += square(v, compute);
    }
  for (int64_t y = b->y0; y < b->y1; y++)
    for (int64_t x = b->x0; x < b->x1; x++)
      spread += square(value_at(in, b->n, y, x, b->c) - sum / n, compute);
  return (totals){(double)n, (double)sum, (double)squares, (double)spread};
}

static double stat_of(int stat, const totals *t, double least, double most) {
  switch (stat) {
  case FC_WINSTAT_SUM: return t->sum;
  case FC_WINSTAT_SUMSQ: return t->squares;
  case FC_WINSTAT_MEAN: return t->sum / t->n;
  case FC_WINSTAT_VAR: return t->spread / t->n;
  case FC_WINSTAT_STD: return sqrt(t->spread / t->n);
  case FC_WINSTAT_RMS: return sqrt(t->squares / t->n);
  case FC_WINSTAT_MIN: return least;
  default: return most;
  }
}

static void ref_at(const fc_winstat *w, const fc_view *in, const fc_view *out, const box *b, int64_t y,
                   int64_t x, uint32_t *notes) {
  totals t = fc_dtype_is_float(in->dtype) ? totals_of_values(in, b, w->compute) : totals_of_codes(in, b);
  double least, most;
  extremes(in, b, &least, &most);
  for (int s = 0; s < w->n_stats; s++) {
    double v = stat_of(w->stat[s], &t, least, most);
    fc_store_f64(fc_view_at(out, b->n, y, x, s * in->shape[FC_AXIS_C] + b->c), 0, &v, 1, out->kind,
                 out->dtype, notes);
  }
}

fc_status fc_winstat_ref(const fc_winstat *w, const fc_view *in, const fc_view *out, uint32_t *notes) {
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
      for (int64_t x = 0; x < out->shape[FC_AXIS_X]; x++)
        for (int64_t c = 0; c < in->shape[FC_AXIS_C]; c++) {
          box b = box_at(w, in, n, y, x, c);
          ref_at(w, in, out, &b, y, x, notes);
        }
  return FC_OK;
}

static int is_extreme(int stat) {
  return stat == FC_WINSTAT_MIN || stat == FC_WINSTAT_MAX;
}

static int is_spread(int stat) {
  return stat == FC_WINSTAT_VAR || stat == FC_WINSTAT_STD;
}

/* On an H200, us of 30 M as a window of rows (slide.cuh) and as a box of one: u8 mean of 5 148 wide 534, 80,
 * RGB 7737 wide 44, 37, of 24 49, 60; largest of 9 148 wide 345, 80, 7500 wide 40, 41; std of 20 7500 wide
 * 81, 94; f32 largest of 24 148 wide 235, 90, 7500 wide 73, 69, of four channels 2500 wide 73, 87. */
int fc_winstat_is_row_box(int kind, int stat, int in_dtype, int out_dtype, int64_t columns, int64_t channels,
                          int64_t samples) {
  enum { SHORT = 3072, FEW = 27 }; /* elements of a row; of a window */
  if (kind == FC_AUDIO || columns < 0 || samples < 2 ||
      !fc_winstat_is_box(stat, in_dtype, out_dtype, samples, 1))
    return 0;
  const int slides = is_spread(stat) || is_extreme(stat); /* and may be narrowed (core/plan/narrow.c) */
  return columns * channels < SHORT || (!slides && samples * channels <= FEW);
}

/* Sums of floats: of one channel of sound, of short rows, and of one channel in long windows. On an H200, us
 * of 20 M samples by a mean of 15 precompiled and composed, and by one of 101; the composed ones behind a
 * gain, which takes 1 to 2 of it: images 163 wide 61, 78 and 80, 155; 224 wide 61, 67 and 65, 123; 4099 wide
 * 65, 61 and 86, 70, of two channels 59, 55 and 67, 61, RGB 58, 65 and 71, 70; 7300 wide 48, 51 and 56, 54.
 * Of 30 M of sound 64, 68 and 71, 72. */
static int is_quick_in_floats(int kind, int64_t columns, int64_t channels, int64_t samples) {
  enum { SHORT = 500, LONG = 500, PART = 1025 }; /* a row; a window; one in one part */
  if (kind == FC_AUDIO || columns < 0) return channels == 1;
  return columns < SHORT ? samples <= PART || channels == 1 : samples > LONG && channels == 1;
}

/* Sums of floats that remain floats, see above, and variances in narrow images (std of 15 and 33, f32, us of
 * 20 M: 48 wide 113, composed 135; 115, 191; 100 wide 102, 108; 105, 131; 160 wide 126, 94; 129, 103); of
 * integers in short rows, in windows that are no boxes of one row. On an H200, us of 30 M, by precompiled
 * kernels and by composed ones: u16 mean of 24 148 wide 348, 556, 500 wide 236, 148; u8 mean of 300 7500 wide
 * 79, 90, largest of 24 111, 48; i16 sound, mean of 5 144, 36, rms of 60 600, 67; f32 largest of 24 7500 wide
 * 153, 73. Bytes to floats: mean of 20 143, 60, rows of 224 180, 353, of 224 x 3 218, 237. */
int fc_winstat_is_quick(int kind, int in_dtype, int out_dtype, int64_t columns, int64_t channels, int stat,
                        int64_t samples) {
  enum { SHORT = 768, STRIPS = 256, NARROW = 100 }; /* elements of a row; of a window (box/strips.cu) */
  const int twice = kind != FC_AUDIO && columns > 1 && samples >= 2 * columns,
            plain = stat == FC_WINSTAT_SUM || stat == FC_WINSTAT_MEAN;
  if (is_extreme(stat)) return 0;
  if (is_spread(stat))
    return in_dtype == FC_F32 && out_dtype == FC_F32 && kind != FC_AUDIO &&
           samples <= FC_WINSTAT_SPREAD_MOST && columns > 0 && columns * channels <= NARROW;
  if (in_dtype == FC_F32)
    return out_dtype == FC_F32 && !twice && is_quick_in_floats(kind, columns, channels, samples);
  return kind != FC_AUDIO && columns > 0 && columns * channels < SHORT && samples <= STRIPS &&
         (plain || in_dtype == FC_U8);
}

int fc_winstat_is_box(int stat, int in_dtype, int out_dtype, int64_t columns, int64_t rows) {
  enum { MOST = FC_FUNCTION_BOX_MOST, ROW = 64 }; /* of one row: the registers of a thread */
  if (columns > (rows == 1 ? ROW : MOST) || rows > MOST || in_dtype == FC_I32 || in_dtype == FC_F64) return 0;
  if (is_extreme(stat)) return 1;
  if (in_dtype == FC_F32 || (out_dtype != in_dtype && out_dtype != FC_F32)) return 0;
  if (stat == FC_WINSTAT_VAR && out_dtype != FC_F32) return 0;
  return stat == FC_WINSTAT_SUM || stat == FC_WINSTAT_MEAN || in_dtype == FC_U8;
}

_Static_assert(FC_WINSTAT_SUMS_MOST <= FC_FUNCTION_BOX_MOST, "all of them are composed");

int fc_winstat_is_box_of_floats(int stat, int in_dtype, int compute, int64_t columns, int64_t rows) {
  return in_dtype == FC_F32 && compute == FC_F32 && !is_extreme(stat) && !is_spread(stat) && rows > 1 &&
         columns <= FC_WINSTAT_SUMS_MOST && rows <= FC_WINSTAT_SUMS_MOST;
}
