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

enum { SHORT_ROW = 1024 };

int fc_winstat_is_row_box(int kind, int stat, int in_dtype, int out_dtype, int64_t columns, int64_t samples) {
  return kind != FC_AUDIO && (in_dtype == FC_I16 || in_dtype == FC_U16) &&
         (stat == FC_WINSTAT_MIN || stat == FC_WINSTAT_MAX) && columns >= 0 && columns < SHORT_ROW &&
         samples > 1 && fc_winstat_is_box(stat, in_dtype, out_dtype, samples, 1);
}

/* Extremes of images whose rows are short, which take a block each as composed, in windows of moderate size
 * (of floats small ones, up to three channels; those of 16 bits in small ones are composed as boxes of one
 * row, fc_winstat_is_row_box); variances of bytes in short ones; sums of floats that remain floats, of
 * several channels in windows of up to 1025, in images not of twice a row's length: 1001 of 224 x 224 x 3
 * 0.75 ms, composed 0.40; means of bytes in windows of up to 2032 of them, or of twice a row's length, which
 * are folded (filters/winstat/rows), and other sums of an image's bytes in short ones. On an H200, of copy,
 * and composed: f32 mean of 15 0.82, 0.67, of 1001 0.64, 0.49, RGB 0.75, 0.47, largest of 15 0.73, 0.78; u8
 * mean 0.47, 0.17, largest 0.44, 0.34, of 101 0.12, 0.30, RGB of 31 0.33, 0.45, rows of 224 0.39, 0.07; u16
 * RGB of 30 0.26, 0.71; sound, u8, of 6 0.64, 0.76; std 0.29, 0.12; f32 std of 64 0.07, 0.31; i16 stereo mean
 * 0.20, 0.43, rms of 1001 0.06, 0.19; u8 rms of 101 0.04. Bytes
 * to floats, us of 30 M: mean of 20 143, 60, RGB 186, 52, rows of 224 180, 353, of 224 x 3 218, 237; rms of
 * 20 316, 80; std of 20 511, 92; sound, std of 9 599, 81. */
int fc_winstat_is_quick(int kind, int in_dtype, int out_dtype, int64_t columns, int64_t channels, int stat,
                        int64_t samples) {
  /* a window in one part, and 64 segments of 16 (filters/winstat/rows) */
  enum { LONG = 1025, FOLDED = 1024, WORTH = 768 };
  const int bytes = in_dtype == FC_U8, single = bytes && channels == 1,
            twice = kind != FC_AUDIO && columns > 1 && samples >= 2 * columns;
  if (in_dtype == FC_F32 && out_dtype != FC_F32) return 0;
  if (bytes && out_dtype != FC_U8)
    return stat == FC_WINSTAT_MEAN && kind != FC_AUDIO && columns > 0 && columns * channels < WORTH;
  if (stat == FC_WINSTAT_MIN || stat == FC_WINSTAT_MAX)
    return kind == FC_AUDIO || columns < 0 || columns >= SHORT_ROW ? 0
           : in_dtype == FC_F32                                    ? samples <= 33 && channels <= 3
                                                                   : samples <= 257;
  if (in_dtype == FC_F32)
    return stat != FC_WINSTAT_VAR && stat != FC_WINSTAT_STD && !twice && (samples <= LONG || channels == 1);
  if (bytes && stat == FC_WINSTAT_MEAN)
    return samples * channels <= 2032 || (twice && samples < FOLDED && channels <= 4);
  if (single && (stat == FC_WINSTAT_VAR || stat == FC_WINSTAT_STD) && samples <= 16) return 1;
  return bytes && kind != FC_AUDIO &&
         samples <= (stat == FC_WINSTAT_SUM || stat == FC_WINSTAT_SUMSQ ? 256 : 33);
}

int fc_winstat_is_box(int stat, int in_dtype, int out_dtype, int64_t columns, int64_t rows) {
  enum { MOST = FC_FUNCTION_BOX_MOST };
  if (columns > MOST || rows > MOST || in_dtype == FC_I32 || in_dtype == FC_F64) return 0;
  if (stat == FC_WINSTAT_MIN || stat == FC_WINSTAT_MAX) return 1;
  if (in_dtype == FC_F32 || (out_dtype != in_dtype && out_dtype != FC_F32)) return 0;
  if (stat == FC_WINSTAT_VAR && out_dtype != FC_F32) return 0;
  return stat == FC_WINSTAT_SUM || stat == FC_WINSTAT_MEAN || in_dtype == FC_U8;
}

static int is_less(int64_t extent, int64_t than) {
  return extent > 0 && extent < than;
}

/* On an H200, us for 33.5 M samples, by these and composed. Extremes: u8 of 15 x 15 43, 47, RGB 55, 73; f32
 * 96, 89, RGB of 31 x 31 167, 181, in frames of 32 x 32 by 3 x 3 140, 81, RGB by 15 x 15 156, 210; u16 56,
 * 51, in odd rows 222, 76. Means: u8 of 15 x 15 67, 41, RGB 90, 66, in frames of 8 rows 80, 113, of 32 x 32
 * by 31 x 31 165, 277, of 100 columns by 5 x 5 97, 121; u16 361, 73. Deviations of u8: of 7 x 7 71, 63, odd
 * rows 77, 120, of 31 x 31 549, 197; rms of 15 x 15 85, 72. Those of extremes of u8 and u16 in rows of whole
 * words are of an earlier kernel; the one for bytes that is left takes 1.35 times as long, that for 16 bits
 * twice. */
int fc_winstat_box_is_quick(int stat, int in_dtype, int64_t channels, const int64_t window[2],
                            const int64_t extent[2]) {
  enum { NARROW = 128, FEW = 49, MANY = 400, STD_ROWS = 16, LOW = 64, WORD = 4 };
  const int64_t area = window[0] * window[1];
  const int narrow = is_less(extent[0], NARROW), thin = is_less(extent[1], 2 * window[1]);
  if (stat == FC_WINSTAT_MIN || stat == FC_WINSTAT_MAX) {
    if (in_dtype == FC_F32 && extent[1] == 1) return 1; /* composed ones go through all rows of a window */
    if (in_dtype == FC_F32) return narrow ? area > FEW : channels > 1 && area > MANY;
    if (in_dtype != FC_U8) return 0;
    return channels > 1 || narrow || is_less(extent[1], LOW) || extent[0] < 0 || extent[0] % WORD != 0;
  }
  if (stat == FC_WINSTAT_VAR || stat == FC_WINSTAT_STD) return window[1] <= STD_ROWS;
  return stat == FC_WINSTAT_MEAN && in_dtype == FC_U8 && ((thin && area > FEW) || narrow);
}
