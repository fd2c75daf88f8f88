/* SPDX-License-Identifier: MIT */
/*
 * test_emulated.c - composed kernels without a GPU: their texts, as C++ for the host
 * (emulated/cuda_runtime.h), give the bits and the notes that their stages give one by one, written down here
 * the plain way. Random chains of functions, half of them with a window, on all types, layouts and borders;
 * bands of rows as chunks have them.
 *
 *     test_emulated [--seed N] [--random N] ROOT CXX...
 */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/demand.h"
#include "core/contract/rows_table.h"
#include "filters/color/color_math.h"
#include "filters/conv1d/conv1d_overlap.h"
#include "filters/filter2d/conv2d.h"
#include "filters/pointwise/curve.h"
#include "tests/device/emulate.h"
#include "tests/device/plain_statistic.h"
#include "core/compose/slide.h"
#include "tests/device/trials.h"

/* ---- the plain way ------------------------------------------------------------------ */

/* A curve or threshold, by the definition that the kernels share (curve.inc). */
static double curve_of(const stage *g, const double *n, double v, gboolean single) {
  const int power = g->op.exponent != 1;
  if (g->kind == THRESHOLD) return fc_threshold_value_f64(v, n[0], n[1], n[2], g->op.keeps);
  if (!single) return fc_curve_value_f64(v, n[0], n[1], n[2], n[3], n[4], n[5], power);
  return (double)fc_curve_value_f32((float)v, (float)n[0], (float)n[1], (float)n[2], (float)n[3], (float)n[4],
                                    (float)n[5], power);
}

/* Likewise a colour (color.inc). */
static void recolor(const stage *g, const double *v, double *y, gboolean single) {
  const fc_color_conversion *c = &g->color;
  double rgb[3] = {0}, n[FC_COLOR_NUMBERS];
  float from[4], rgb32[3] = {0}, made[3] = {0}, n32[FC_COLOR_NUMBERS];
  for (int i = 0; i < FC_COLOR_NUMBERS; i++) n[i] = c->numbers[i], n32[i] = (float)n[i];
  for (int i = 0; i < g->in; i++) from[i] = (float)v[i];
  if (single) {
    fc_color_decode_f32(from, rgb32, n32, c->from);
    fc_color_encode_f32(rgb32, made, n32, c->to);
    for (int i = 0; i < fc_space_channels(c->to); i++) y[i] = (double)made[i];
  } else {
    fc_color_decode_f64(v, rgb, n, c->from);
    fc_color_encode_f64(rgb, y, n, c->to);
  }
  if (c->extra) y[g->out - 1] = v[g->in - 1];
}

/* What functions that are told positions multiply by (chains_of_functions.h). */
static double placed_of(const trial *t, gint64 y, gint64 x, gint64 c) {
  const fc_view *out = &t->out;
  const double number = (double)((x + out->origin[2]) * 3 + (y + out->origin[1]) * 5 + c) / 4096,
               size = (double)(out->extent[2] - out->extent[1]);
  return t->what.compute == FC_F32 ? (double)((float)number + (float)size) : number + size;
}

/* What leaves stage s, stored as its type. */
static void store_at(trial *t, guint s, const double *v, void *to) {
  const fc_compose_stage *d = &t->described[s];
  const float f = (float)*v;
  if (t->what.compute == FC_F64 || (t->codes && s == t->what.window))
    fc_rows_table()->store_f64(to, 0, v, 1, d->kind, d->dtype, t->notes);
  else
    fc_rows_table()->store_f32(to, 0, &f, 1, d->kind, d->dtype, t->notes);
}

/* What it is then; the last stage's is not read again. */
static void round_at(trial *t, guint s, double *v, gint64 channels) {
  const fc_compose_stage *d = &t->described[s];
  guint64 code;
  for (gint64 c = 0; s + 1 < t->what.n && !fc_dtype_is_float(d->dtype) && c < channels; c++) {
    store_at(t, s, &v[c], &code);
    fc_rows_table()->load_f64(&v[c], &code, 0, 1, d->kind, d->dtype);
  }
}

/* A pixel of row y through stages from `from` on up to `to`, in float or double. Returns its channels. */
static gint64 through(trial *t, guint from, guint to, double *v, gint64 channels, gint64 row, gint64 column) {
  const gboolean single = t->what.compute == FC_F32;
  for (guint s = from; s < to; s++) {
    const stage *g = &t->stages[s];
    const float *f = t->described[s].function->bytes;
    const double *d = t->described[s].function->bytes;
    double y[16], n[6];
    const gint64 out = g->kind == MATRIX || g->kind == COLOR ? g->out : channels;
    if (g->kind == COLOR) recolor(g, v, y, single);
#define N(i)     (single ? (double)f[i] : d[i])
#define ROUND(x) (single ? (double)(float)(x) : (x))
    for (int i = 0; i < 6; i++) n[i] = g->kind == CURVE || (g->kind == THRESHOLD && i < 3) ? N(i) : 0;
    for (gint64 c = 0; c < out; c++) {
      switch (g->kind) {
      case AFFINE:
      case AFFINES: {
        const gint64 at = g->kind == AFFINES ? 2 * c : 0;
        y[c] = single ? (double)fmaf((float)v[c], f[at], f[at + 1]) : fma(v[c], d[at], d[at + 1]);
        break;
      }
      case COLOR: break;
      case PLACED: y[c] = ROUND(v[c] * placed_of(t, row, column, c)); break;
      case PLACED_PIXELS: y[c] = ROUND(v[out - 1 - c] * placed_of(t, row, column, 0)); break;
      case CURVE:
      case THRESHOLD: y[c] = curve_of(g, n, v[c], single); break;
      case GAIN: y[c] = ROUND(v[c] * N(0)); break;
      case RANGE: y[c] = ROUND(ROUND(ROUND(v[c] - N(0)) * N(1)) + N(2)); break;
      case CLIP:
        y[c] = v[c] < N(0) ? N(0) : v[c];
        y[c] = y[c] > N(1) ? N(1) : y[c];
        break;
      case GAINS: y[c] = ROUND(v[c] * N(c)); break;
      case MATRIX:
        y[c] = N(g->out * g->in + c);
        for (gint64 i = 0; i < g->in; i++)
          y[c] = single ? (double)fmaf(f[c * g->in + i], (float)v[i], (float)y[c])
                        : fma(d[c * g->in + i], v[i], y[c]);
        break;
      case MIX: y[c] = v[stage_mixes[g->order][c]]; break;
      default: y[c] = v[c];
      }
    }
    memcpy(v, y, (gsize)out * sizeof *v);
    channels = out;
    round_at(t, s, v, channels);
  }
  return channels;
}

/* Positions are the signal's. */
static void load(const trial *t, gint64 n, gint64 y, gint64 x, double *v) {
  const fc_view *in = &t->in;
  y -= in->origin[1], x -= in->origin[2];
  for (gint64 c = 0; c < in->shape[3]; c++)
    if (t->what.compute == FC_F64) {
      fc_rows_table()->load_f64(&v[c], fc_view_at(in, n, y, x, c), 0, 1, in->kind, in->dtype);
    } else {
      float f;
      fc_rows_table()->load_f32(&f, fc_view_at(in, n, y, x, c), 0, 1, in->kind, in->dtype);
      v[c] = f;
    }
}

/* One more sample of a window in which k have been seen. */
static float seen_with(const seen *w, int k, float v, float sum) {
  if (w->statistic < 0) return fmaf(w->taps[k], v, sum);
  if (k == 0 || isnan(v) || isnan(sum)) return k > 0 && isnan(sum) ? sum : v;
  if (w->statistic == FC_WINSTAT_MIN) return v < sum || (v == sum && signbit(v)) ? v : sum;
  return v > sum || (v == sum && signbit(sum)) ? v : sum;
}

/* What a prefilter makes of a position inside the signal. */
static void prefilter(trial *t, gint64 n, gint64 y, gint64 x, gint64 channels, double *v) {
  const guint at = t->what.prefilter - 1;
  const seen *w = &t->series[at];
  const fc_compose_stage *d = &t->described[at];
  float sum[4] = {0};
  for (int k = 0; k < w->nx; k++) {
    const gint64 from = fc_border_map(d->border, x - w->nx / 2 + k, t->in.extent[2]);
    double u[16];
    for (gint64 c = 0; c < channels; c++) u[c] = (float)d->border_value;
    if (from >= 0) {
      load(t, n, y, from, u);
      through(t, 0, at, u, t->in.shape[3], 0, 0);
    }
    for (gint64 c = 0; c < channels; c++) sum[c] = seen_with(w, k, (float)u[c], sum[c]);
  }
  for (gint64 c = 0; c < channels; c++) v[c] = (double)sum[c];
  round_at(t, at, v, channels);
}

/* What the window sees of one position: through the stages ahead, or the border. */
static void look(trial *t, gint64 n, gint64 y, gint64 x, gint64 channels, double *v) {
  const gint64 from_y = fc_border_map(t->what.border, y, t->in.extent[1]),
               from_x = fc_border_map(t->what.border, x, t->in.extent[2]);
  if (from_y < 0 || from_x < 0) {
    for (gint64 c = 0; c < channels; c++) v[c] = (float)t->what.border_value;
    return;
  }
  if (t->what.prefilter)
    prefilter(t, n, from_y, from_x, channels, v);
  else
    load(t, n, from_y, from_x, v);
  through(t, t->what.prefilter, t->what.window, v, t->what.prefilter ? channels : t->in.shape[3], 0, 0);
}

static void sum_window(trial *t, gint64 n, gint64 y, gint64 x, gint64 channels, double *v) {
  const gboolean single = t->what.compute == FC_F32;
  double sum[4] = {0};
  if (t->window.flags & FC_FUNCTION_SELECTS) { /* the last one; the stages ahead take notes of all */
    for (int k = 0; k < t->nx * t->ny; k++)
      look(t, n, y - t->ny / 2 + k / t->nx, x - t->nx / 2 + k % t->nx, channels, v);
    return;
  }
  double runs[4] = {0}; /* of a dense mask of many taps, some rows a run */
  const int high = t->dense && t->nx * t->ny > FC_CONV2D_RUN ? FC_CONV2D_RUN / t->nx : t->ny;
  for (int j = 0; j < t->ny; j++) {
    float h[4] = {0};
    for (gint64 c = 0; c < channels && j > 0 && j % high == 0; c++)
      runs[c] = (float)(runs[c] + sum[c]), sum[c] = 0;
    for (int i = 0; i < t->nx; i++) {
      double w[16];
      look(t, n, y - t->ny / 2 + j, x - t->nx / 2 + i, channels, w);
      for (gint64 c = 0; c < channels; c++)
        if (t->dense)
          sum[c] = single ? fmaf(t->taps[j * t->nx + i], (float)w[c], (float)sum[c])
                          : fma(t->wide[j * t->nx + i], w[c], sum[c]);
        else
          h[c] = fmaf(t->taps[i], (float)w[c], h[c]);
    }
    for (gint64 c = 0; c < channels && !t->dense; c++) sum[c] = fmaf(t->taps[t->nx + j], h[c], (float)sum[c]);
  }
  for (gint64 c = 0; c < channels && high < t->ny; c++) sum[c] = (float)(runs[c] + sum[c]);
  double middle[16];
  look(t, n, y, x, channels, middle);
  const float *number = t->taps + t->nx + t->ny;
  for (gint64 c = 0; c < channels; c++) {
    const float at = (float)middle[c], d = at - sum[c], more = number[0] * d;
    v[c] = !t->sharpened ? sum[c] : fabsf(d) > number[1] ? at + more : at;
  }
}

/* What the window sees of a line, unless it is the one there is. */
static void see_line(trial *t, gint64 n, gint64 y, gint64 channels) {
  const gint64 from = t->out.origin[2] - t->nx, count = t->out.shape[2] + 2 * t->nx;
  if (t->line[0] && t->line_n == n && t->line_y == y) return;
  t->line_n = n, t->line_y = y;
  for (gint64 c = 0; c < channels; c++)
    if (!t->line[c]) t->line[c] = g_new0(float, (gsize)count);
  const gint64 first = t->out.origin[2] - t->nx / 2, last = first + t->out.shape[2] + t->nx - 1;
  for (gint64 x = first; x < last; x++) {
    double v[16];
    look(t, n, y, x, channels, v);
    for (gint64 c = 0; c < channels; c++) t->line[c][x - from] = (float)v[c];
  }
}

/* A window of columns and rows, likewise (see say_window). */
static void say_box(trial *t, gint64 n, gint64 y, gint64 x, gint64 channels, double *v) {
  g_autofree float *samples = g_new(float, (gsize)(channels * t->nx * t->ny));
  const gint64 count = (gint64)t->nx * t->ny;
  gint64 inside = 0;
  for (gint64 k = 0; k < count; k++) {
    const gint64 row = y - t->ny / 2 + k / t->nx, column = x - t->nx / 2 + k % t->nx;
    inside += !t->shrinks || (row >= 0 && row < t->out.extent[1] && column >= 0 && column < t->out.extent[2]);
  }
  for (gint64 k = 0; k < count; k++) {
    double w[16];
    look(t, n, y - t->ny / 2 + k / t->nx, x - t->nx / 2 + k % t->nx, channels, w);
    for (gint64 c = 0; c < channels; c++) samples[c * count + k] = (float)w[c];
  }
  for (gint64 c = 0; c < channels; c++) {
    const plain_window w = {t->statistic, 0, count, 0, samples + c * count};
    v[c] = t->codes  ? plain_codes(&w, 1, inside)
           : t->sums ? (double)plain_box(t->statistic, w.samples, t->nx, t->ny, inside)
                     : (double)plain_floats(&w);
    if (fc_dtype_is_float(t->described[t->what.window].dtype)) v[c] = (double)(float)v[c];
  }
}

/* In double where a sum of codes is rounded once, by what is stored. */
static void say_window(trial *t, gint64 n, gint64 y, gint64 x, gint64 channels, double *v) {
  see_line(t, n, y, channels);
  const gint64 from = t->out.origin[2] - t->nx;
  const gboolean spread = plain_is_spread(t->statistic) && !t->codes;
  plain_window w = {t->statistic, x - t->nx / 2 - from, t->nx, 0, NULL};
  w.anchor = spread ? -(t->nx / 2) - from : -from;
  for (gint64 c = 0; c < channels; c++) {
    w.samples = t->line[c];
    v[c] = t->codes ? plain_codes(&w, fc_scaling_of(t->in.kind, t->in.dtype).scale, w.count)
                    : (double)plain_floats(&w);
    if (fc_dtype_is_float(t->described[t->what.window].dtype)) v[c] = (double)(float)v[c];
  }
}

/* ---- transforms: block by block, by the arithmetic that kernels share ------------------- */

static void *kernels;

static void *found(const char *what, gint64 n) {
  g_autofree char *name = g_strdup_printf("%s_%d", what, (int)n);
  void *function = dlsym(kernels, name);
  g_assert_nonnull(function);
  return function;
}

static void make_tables(trial *t) {
  const gint64 n = t->overlap.n;
  if (!n) return;
  size_t (*size)(size_t) = (size_t(*)(size_t))found("table", n);
  int (*make)(const fc_conv1d_overlap *, const fc_conv1d *, void *) =
      (int (*)(const fc_conv1d_overlap *, const fc_conv1d *, void *))found("make", n);
  t->tables = g_malloc0(size((size_t)t->filter.masks));
  g_assert_cmpint(make(&t->overlap, &t->filter, t->tables), ==, FC_OK);
  g_assert_cmpint(fc_conv1d_overlap_bind(&t->overlap, t->mask, t->tables, &t->window), ==, FC_OK);
}

/* What the convolution sees of a position for one channel. */
static float sample_of(trial *t, gint64 n, gint64 y, gint64 x, gint64 channels, gint64 c) {
  double v[16];
  look(t, n, y, x, channels, v);
  return (float)v[c];
}

static float sum_of(trial *t, gint64 n, gint64 y, gint64 x, gint64 channels, gint64 c) {
  const fc_conv1d *f = &t->filter;
  const float *mask = t->mask + (f->masks > 1 ? c * f->taps : 0);
  float sum = 0;
  for (gint64 begin = 0; begin < f->taps; begin += FC_CONV1D_BLOCK) {
    float block = 0;
    for (gint64 j = begin; j < MIN(begin + FC_CONV1D_BLOCK, f->taps); j++)
      block = fmaf(sample_of(t, n, y, x - f->before + j, channels, c), mask[j], block);
    sum = begin == 0 ? block : sum + block;
  }
  return sum;
}

/* The block of outputs from `first` on, of channels c and, of two together, c + 1. */
static void make_block(trial *t, gint64 n, gint64 y, gint64 first, gint64 channels, gint64 c) {
  const fc_conv1d_overlap *o = &t->overlap;
  const fc_conv1d *f = &t->filter;
  const gboolean lines = o->stretches == 2;
  const gint64 rest = t->out.extent[2] - first + o->lead + f->taps - 1, at = first - f->before - o->lead,
               count = MIN(o->lead + o->hop + f->taps - 1, rest);
  int (*run)(void *, const void *, int, int) = (int (*)(void *, const void *, int, int))found("block", o->n);
  g_autofree float *values = g_new0(float, (gsize)(2 * o->n));
  for (gint64 i = o->lead; i < count; i++) {
    const gint64 to = lines ? (i < o->n ? 2 * i : 2 * (i - o->n) + 1) : 2 * i;
    values[to] = sample_of(t, n, y, at + i, channels, c);
    if (!lines) values[to + 1] = sample_of(t, n, y, at + i, channels, c + 1);
  }
  const int bad = run(values, t->tables, f->masks > 1 ? (int)c : 0, lines);
  for (gint64 i = 0; i < o->hop && first + i < t->out.extent[2]; i++)
    for (gint64 k = 0; k < 3 - o->stretches; k++) {
      const gint64 from = lines ? (i < o->n ? 2 * i : 2 * (i - o->n) + 1) : 2 * i + k, x = first + i;
      if (x < t->out.origin[2] || x >= t->out.origin[2] + t->out.shape[2]) continue;
      t->made[c + k][x] = bad ? sum_of(t, n, y, x, channels, c + k) : values[from];
      if (bad || x % 97) continue;
      const double apart = fabs((double)t->made[c + k][x] - (double)sum_of(t, n, y, x, channels, c + k));
      double most = 1e-6;
      for (gint64 e = 0; e < 2 * o->n; e += 61) most = MAX(most, fabs((double)values[e]));
      if (t->in.dtype != FC_F32) g_assert_cmpfloat(apart, <, 1e-4 * (most + t->window.growth));
    }
}

static void transform_window(trial *t, gint64 n, gint64 y, gint64 x, gint64 channels, double *v) {
  const gint64 hop = t->overlap.hop, together = 3 - t->overlap.stretches;
  if (!t->made[0] || t->line_n != n || t->line_y != y) {
    t->line_n = n, t->line_y = y;
    for (gint64 c = 0; c < channels; c++)
      if (!t->made[c]) t->made[c] = g_new0(float, (gsize)t->out.extent[2]);
    for (gint64 c = 0; c < channels; c += together)
      for (gint64 first = t->out.origin[2] / hop * hop; first < t->out.origin[2] + t->out.shape[2];
           first += hop)
        make_block(t, n, y, first, channels, c);
  }
  for (gint64 c = 0; c < channels; c++) v[c] = (double)t->made[c][x];
}

/* A frame of what is between two stages: float[rows][columns][channels]. */
typedef struct frame {
  gint64 rows, columns, channels;
  float *v;
} frame;

static frame frame_new(const trial *t, gint64 channels) {
  const gint64 rows = t->in.extent[1], columns = t->in.extent[2];
  return (frame){rows, columns, channels, g_new0(float, (gsize)(rows * columns * channels))};
}

static float *frame_at(const frame *f, gint64 y, gint64 x) {
  return f->v + (y * f->columns + x) * f->channels;
}

/* One window of several, of a pixel. */
static void see(const seen *w, const fc_compose_stage *d, const frame *f, gint64 y, gint64 x, float *to) {
  for (gint64 c = 0; c < f->channels; c++) {
    float sum = 0;
    for (int j = 0; j < w->ny; j++) {
      float h = w->dense || w->statistic >= 0 ? sum : 0;
      const gint64 from_y = fc_border_map(d->border, y - w->ny / 2 + j, f->rows);
      for (int i = 0; i < w->nx; i++) {
        const gint64 from_x = fc_border_map(d->border, x - w->nx / 2 + i, f->columns);
        const float v = from_y < 0 || from_x < 0 ? (float)d->border_value : frame_at(f, from_y, from_x)[c];
        h = seen_with(w, w->dense && w->statistic < 0 ? j * w->nx + i : i, v, h);
      }
      sum = w->dense || w->statistic >= 0 ? h : fmaf(w->taps[w->nx + j], h, sum);
    }
    to[c] = sum;
  }
}

/* Stage by stage, on whole frames; what is not there is not used. */
static void run_series(trial *t, guint8 *to) {
  const fc_view *in = &t->in, *out = &t->out;
  for (gint64 n = 0; n < out->shape[0]; n++) {
    frame f = frame_new(t, in->shape[3]);
    double v[16];
    for (gint64 y = in->origin[1]; y < in->origin[1] + in->shape[1]; y++)
      for (gint64 x = in->origin[2]; x < in->origin[2] + in->shape[2]; x++) {
        load(t, n, y, x, v);
        for (gint64 c = 0; c < f.channels; c++) frame_at(&f, y, x)[c] = (float)v[c];
      }
    for (guint s = 0; s < t->what.n; s++) {
      const gboolean window = (t->described[s].function->flags & FC_FUNCTION_WINDOW) != 0;
      const gboolean pixels = !window && (t->stages[s].kind == MATRIX || t->stages[s].kind == COLOR);
      frame made = frame_new(t, pixels ? t->stages[s].out : f.channels);
      for (gint64 y = 0; y < f.rows; y++)
        for (gint64 x = 0; x < f.columns; x++) {
          if (window) {
            see(&t->series[s], &t->described[s], &f, y, x, frame_at(&made, y, x));
            continue;
          }
          for (gint64 c = 0; c < f.channels; c++) v[c] = (double)frame_at(&f, y, x)[c];
          through(t, s, s + 1, v, f.channels, y, x);
          for (gint64 c = 0; c < made.channels; c++) frame_at(&made, y, x)[c] = (float)v[c];
        }
      g_free(f.v);
      f = made;
    }
    for (gint64 y = 0; y < out->shape[1]; y++)
      for (gint64 x = 0; x < out->shape[2]; x++)
        for (gint64 c = 0; c < f.channels; c++) {
          v[c] = (double)frame_at(&f, out->origin[1] + y, out->origin[2] + x)[c];
          store_at(t, t->what.n - 1, &v[c], to + ((guint8 *)fc_view_at(out, n, y, x, c) - t->out_memory));
        }
    g_free(f.v);
  }
}

static void run_plain(trial *t, guint8 *to) {
  const fc_view *out = &t->out;
  const gboolean window = t->what.window < t->what.n;
  gint64 middle = t->in.shape[3];
  for (guint i = 0; i < t->what.window; i++)
    if (!t->series[i].nx && (t->stages[i].kind == MATRIX || t->stages[i].kind == COLOR))
      middle = t->stages[i].out;
  for (gint64 n = 0; n < out->shape[0]; n++)
    for (gint64 y = 0; y < out->shape[1]; y++)
      for (gint64 x = 0; x < out->shape[2]; x++) {
        double v[16];
        gint64 channels = middle;
        if (window) {
          if (t->overlap.n)
            transform_window(t, n, out->origin[1] + y, out->origin[2] + x, middle, v);
          else if (t->box)
            say_box(t, n, out->origin[1] + y, out->origin[2] + x, middle, v);
          else if (t->statistic < 0)
            sum_window(t, n, out->origin[1] + y, out->origin[2] + x, middle, v);
          else
            say_window(t, n, out->origin[1] + y, out->origin[2] + x, middle, v);
          round_at(t, t->what.window, v, middle);
          channels = through(t, t->what.window + 1, t->what.n, v, middle, y, x);
        } else {
          load(t, n, y, x, v);
          channels = through(t, 0, t->what.n, v, t->in.shape[3], y, x);
        }
        for (gint64 c = 0; c < channels; c++)
          store_at(t, t->what.n - 1, &v[c], to + ((guint8 *)fc_view_at(out, n, y, x, c) - t->out_memory));
      }
}

/* ---- both --------------------------------------------------------------------------------- */

static char *describe(const trial *t) {
  static const char *const kinds[] = {"copy",  "gain",      "range",  "clip",         "affine",
                                      "curve", "threshold", "gains",  "affines",      "matrix",
                                      "color", "mix",       "placed", "placed_pixels"};
  GString *s = g_string_new(NULL);
  g_string_printf(s, "%s %u, %s to %s, kind %d, %dx%dx%dx%d from row %d of %d, element %d of %d, border %d:",
                  fc_compose_skeleton(t->launch.variant), t->launch.variant, fc_dtype_name(t->in.dtype),
                  fc_dtype_name(t->out.dtype), t->in.kind, (int)t->out.shape[0], (int)t->out.shape[1],
                  (int)t->out.shape[2], (int)t->in.shape[3], (int)t->out.origin[1], (int)t->in.extent[1],
                  (int)t->out.origin[2], (int)t->in.extent[2], t->what.border);
  for (guint i = 0; i < t->what.n; i++)
    g_string_append_printf(s, " %s%s",
                           t->series[i].nx       ? t->series[i].entry
                           : i == t->what.window ? t->entry
                                                 : kinds[t->stages[i].kind],
                           i == t->rounding ? "," : "");
  return g_string_free(s, FALSE);
}

/* Which of its bits a NaN has set is the machine's business. */
static gboolean both_nan(const trial *t, const guint8 *expected, gsize i) {
  const gsize at = i - (i - AROUND) % sizeof(float);
  float a, b;
  if (t->out.dtype != FC_F32 || i < AROUND || at + sizeof a > t->out_bytes + 2 * AROUND) return FALSE;
  memcpy(&a, t->out_memory + at, sizeof a), memcpy(&b, expected + at, sizeof b);
  return a != a && b != b;
}

static trial *running;

static void say_fault(int signal) {
  g_autofree char *what = describe(running);
  g_printerr("%s: it reads beyond its input\n", what);
  _exit(128 + signal);
}

static gboolean check(trial *t, run_fn run) {
  const gsize bytes = t->out_bytes + 2 * AROUND;
  guint32 notes[FC_NOTES] = {0};
  g_autofree guint8 *expected = g_malloc(bytes);
  memset(t->out_memory, 0xa5, bytes), memset(expected, 0xa5, bytes);
  (t->what.windows > 1 ? run_series : run_plain)(t, expected);
  fc_composed again;
  g_assert_true(fc_compose(&t->what, &t->in, &t->out, notes, t->processors, 5, &again));
  running = t;
  signal(SIGSEGV, say_fault), signal(SIGBUS, say_fault);
  run(again.params, again.grid, again.threads);
  signal(SIGSEGV, SIG_DFL), signal(SIGBUS, SIG_DFL);
  gsize differ = 0, first = 0;
  for (gsize i = 0; i < bytes; i++)
    if (t->out_memory[i] != expected[i] && !both_nan(t, expected, i) && differ++ == 0) first = i;
  if (!differ && memcmp(notes, t->notes, sizeof notes) == 0) return TRUE;
  g_autofree char *what = describe(t);
  g_printerr("%s: %d of %d bytes differ from byte %d on; notes %u%u for %u%u\n", what, (int)differ,
             (int)bytes, (int)first - AROUND, notes[0], notes[1], t->notes[0], t->notes[1]);
  return FALSE;
}

/* Of lines that follow each other as one (FOLDED of slide.cuh). */
static gboolean is_folded(const trial *t) {
  return t->out.shape[0] * t->out.shape[1] > 1 &&
         g_regex_match_simple("fc_slide<[^;]*, (true|false), \\d+, true, ", t->text, 0, 0);
}

/* Whose windows see nothing beyond the ends of the signal. */
static gboolean is_within(const trial *t) {
  const gint64 first = t->out.origin[2], end = first + t->out.shape[2];
  return is_folded(t) && first > t->nx + 16 * 16 && end + t->nx < t->out.extent[2];
}

/* Variances of floats (moments.cuh), of short windows and long ones. */
static gboolean is_moments(const trial *t, gboolean is_long) {
  return plain_is_spread(t->statistic) && !t->codes && !t->box && (t->nx > FC_WINSTAT_SPREAD_MOST) == is_long;
}

/* Several images in a block of threads; of bytes in rows that begin anywhere, `bytes`. */
static gboolean is_narrow(const trial *t, gboolean bytes) {
  static const char cells[] = "fc_march<[^;]*, (\\d+), (?!\\1,)\\d+, true, false, \\d+, ",
                    loose[] = "fc_march<u?int8_t, \\d, \\w+, \\d, 1, 1, (\\d+, ){3}1, ";
  return g_regex_match_simple(cells, t->text, 0, 0) && (!bytes || g_regex_match_simple(loose, t->text, 0, 0));
}

/* Pieces of images, of which some are shorter. */
static gboolean is_in_pieces(const trial *t) {
  fc_window_args a;
  memcpy(&a, t->launch.params, sizeof a);
  return is_narrow(t, FALSE) && a.total > a.each && a.total % a.each;
}

/* Rows that begin anywhere, sample by sample (fc_march_units). */
static gboolean is_by_units(const trial *t) {
  static const char text[] = "fc_march<u?int16_t, \\d, \\w+, \\d, 1, 1, (\\d+, ){3}1, ";
  return g_regex_match_simple(text, t->text, 0, 0) || is_narrow(t, TRUE);
}

/* Codes of several channels that become one ahead of the window, in rows that begin anywhere. */
static gboolean is_mixed(const trial *t) {
  static const char text[] = "fc_march<u?int(8|16)_t, \\d, \\w+, \\d, [2-4], 1, (\\d+, ){3}1, ";
  return g_regex_match_simple(text, t->text, 0, 0);
}

/* Lines of three floats a position that begin anywhere (fc_window_load_floats). */
static gboolean is_of_three(const trial *t) {
  return t->statistic >= 0 && t->statistic < FC_WINSTAT_MIN &&
         g_regex_match_simple("fc_slide<float, \\d, \\w+, \\d, 3, [^;]*, false, \\d+, \\w+, ", t->text, 0, 0);
}

/* Images of some rows, of one column, and of one whose pixels lie apart (few.cuh), each by masks of four
 * kinds: which of these it is; -1: none. */
enum { OF_SEPARABLE, OF_DENSE, OF_BOX, OF_SUMS, MASKS, SHORTS = 3 * MASKS };
static int short_of(const trial *t) {
  const gboolean turned = strstr(t->text, "typedef fc_turned<") != NULL,
                 apart = turned && g_regex_match_simple("fc_march<([^,]*, ){9}0, 0, ", t->text, 0, 0);
  const int mask = t->sums                        ? OF_SUMS
                   : strstr(t->text, "::fc_box<") ? OF_BOX
                   : t->dense                     ? OF_DENSE
                                                  : OF_SEPARABLE;
  if (!strstr(t->text, "fc_few<") || (!turned && strstr(t->text, "fc_few<1,"))) return -1;
  return MASKS * (apart ? 2 : turned ? 1 : 0) + mask;
}

/* Sums of floats that become floats, so that a wrong one shows. */
static gboolean is_telling(const trial *t) {
  return t->sums && t->out.dtype == FC_F32;
}

/* Windows that are cut at the ends, of which that shows in how many samples there are; of integers or not. */
static gboolean is_cut(const trial *t, gboolean codes) {
  return (codes ? t->codes : is_telling(t)) && t->shrinks && t->statistic != FC_WINSTAT_SUM &&
         t->statistic != FC_WINSTAT_SUMSQ;
}

/* A box of integers whose sums are pairs in a word (SUM_PAIRS of box.cuh). */
static gboolean has_pairs(const trial *t) {
  int dtype = -1;
  return sscanf(t->entry, "fc_box<%*d,%*d,%*d,%d", &dtype) == 1 && dtype == FC_U8 &&
         t->nx * t->ny * 255 <= 65535;
}

/* Means of integers that are integers, where some lie between two. */
static gboolean has_ties(const trial *t) {
  int dtype = -1;
  return t->statistic == FC_WINSTAT_MEAN && sscanf(t->entry, "fc_box<%*d,%*d,%*d,%*d,%d", &dtype) == 1 &&
         (dtype == FC_I16 || dtype == FC_U16);
}

/* Whether windows are unlike, and that shows in what is stored. */
static gboolean is_varied(const trial *t) {
  return !t->loud && t->out.dtype == FC_F32 && t->statistic != FC_WINSTAT_SUM &&
         t->statistic != FC_WINSTAT_SUMSQ && t->what.window + 1 == t->what.n;
}

/* Sums of integers along rows: in windows so long that warps share what they begin with
 * (FC_RUNNING_ALONE), and are not mostly border; or such that tiles do not begin where these do, in several
 * rows or in one of several tiles. */
static gboolean is_running(const trial *t) {
  return t->codes && !t->box && is_varied(t) && strstr(t->text, "fc_slide<");
}
static gboolean is_shared(const trial *t) {
  return is_running(t) && t->nx > 4096 && t->nx < 2 * t->out.shape[2];
}
static gboolean is_odd(const trial *t, gboolean rows) {
  return is_running(t) && t->nx > 128 && t->nx % 16 == 1 &&
         (rows ? t->out.shape[1] > 1 : t->out.shape[2] > 2048);
}

/* Of these such as see the constant beside a column, and such as sum squares. */
static gboolean is_short_of(const trial *t, int which) {
  const gboolean squares = t->statistic == FC_WINSTAT_SUMSQ || t->statistic == FC_WINSTAT_RMS ||
                           plain_is_spread(t->statistic),
                 constant = t->what.border == FC_BORDER_ZERO || t->what.border == FC_BORDER_CONSTANT,
                 beside = constant && t->nx > 1;
  return short_of(t) == which && (which != OF_BOX || squares) && (which != MASKS + OF_DENSE || beside) &&
         (which != MASKS + OF_SUMS || beside) && (which % MASKS != OF_SUMS || is_telling(t));
}

/* Whether images are cut into pieces of rows. */
static gboolean is_cut_up(const trial *t) {
  fc_window_args a;
  memcpy(&a, t->launch.params, sizeof a);
  return a.total > a.each;
}

/* Rows that are copied into shared memory: of sums in long windows whose first parts wait, and of separable
 * masks with a constant border, which the copies leave out; images are cut into pieces. */
static gboolean is_copied(const trial *t, gboolean sums) {
  return t->sums == sums && is_cut_up(t) && (sums || t->what.border == FC_BORDER_CONSTANT) &&
         g_regex_match_simple("fc_march<[^;]*, true, true, \\d+, ", t->text, 0, 0);
}

/* Kinds that chance alone would hardly draw: of many taps, summed in runs, to floats; means and the like of
 * more rows than registers keep, which are not copied; and those above. */
typedef enum rare {
  COMMON,
  MANY,
  FOLDED,
  MOMENTS,
  UNITS,
  THREE,
  NARROW,
  WITHIN,
  MIXED,
  LONGER,
  TOLD,
  TALL,
  COPIED,
  COPIED_SUMS,
  CUT,
  CUT_PIXELS,
  CUT_ROWS,
  CUT_COLUMN,
  CUT_CODES,
  CUT_CODES_ROWS,
  CUT_PAIRS,
  SHARED,
  ODD_ROWS,
  ODD_LINE,
  SHORT
} rare;

static gboolean is_rare(const trial *t, rare kind) {
  switch (kind) {
  case MANY: return t->dense && t->nx * t->ny > FC_CONV2D_RUN && t->out.dtype == FC_F32;
  case FOLDED: return is_folded(t);
  case WITHIN: return is_within(t);
  case MIXED: return is_mixed(t);
  case MOMENTS: return is_moments(t, FALSE);
  case UNITS: return is_by_units(t) && !is_narrow(t, TRUE);
  case THREE: return is_of_three(t);
  case NARROW: return is_narrow(t, TRUE) && is_in_pieces(t);
  case LONGER: return is_moments(t, TRUE);
  case TOLD: return strstr(t->text, "PLACED = true") != NULL;
  case TALL:
    return is_telling(t) && t->ny > 16 && t->out.shape[1] > t->ny && short_of(t) < 0 && !is_copied(t, TRUE);
  case COPIED: return is_copied(t, FALSE);
  case COPIED_SUMS: return is_telling(t) && t->ny > 16 && is_copied(t, TRUE);
  case CUT: return is_cut(t, FALSE) && short_of(t) < 0 && t->out.origin[1] > 0 && is_cut_up(t) && t->ny > 2;
  case CUT_PIXELS: /* some windows are cut at either end, others are not */
    return is_cut(t, FALSE) && short_of(t) < 0 && t->in.shape[3] > 1 && t->nx > 4 && t->nx < 12 &&
           t->ny > 4 && t->ny < 10 && t->out.shape[1] == t->out.extent[1] && t->out.shape[1] > 20;
  case CUT_ROWS: return is_cut(t, FALSE) && short_of(t) >= 0 && t->out.shape[1] > 2 && t->out.shape[2] > 1;
  case CUT_COLUMN: return is_cut(t, FALSE) && short_of(t) >= 0 && t->out.shape[2] == 1 && t->ny > 2;
  case CUT_CODES:
    return is_cut(t, TRUE) && short_of(t) < 0 && t->out.shape[1] > 2 * t->ny && t->ny > 2 && t->nx > 2 &&
           has_ties(t);
  case CUT_PAIRS:
    return is_cut(t, TRUE) && short_of(t) < 0 && t->out.shape[1] > 2 * t->ny && t->ny > 2 && t->nx > 2 &&
           has_pairs(t) && is_varied(t) && t->statistic != FC_WINSTAT_RMS;
  case CUT_CODES_ROWS: return is_cut(t, TRUE) && short_of(t) >= 0 && t->out.shape[1] > 2 && t->nx > 2;
  case SHARED: return is_shared(t);
  case ODD_ROWS: return is_odd(t, TRUE);
  case ODD_LINE: return is_odd(t, FALSE);
  default: return kind < SHORT || is_short_of(t, (int)(kind - SHORT));
  }
}

/* Whether it cannot be of that kind, whatever its kernel is. */
static gboolean is_hopeless(const trial *t, rare kind) {
  if (kind >= SHARED && kind < SHORT) return t->nx <= 128 || !t->codes || t->box;
  if (kind >= CUT && kind < SHARED) return !t->shrinks;
  return (kind == TALL || kind == COPIED_SUMS) && (!t->sums || t->ny <= 16);
}

/* Where these are among each 96 trials. */
static rare rare_at(int i) {
  static const int at[] = {-1, 3,  15, 39, 27, 75, 51, 63, 87, 60, 0,  8,  76, 92, 16, 32, 40, 56,
                           24, 48, 64, 72, 80, 88, 4,  20, 45, 12, 36, 52, 57, 28, 68, 81, 84, 44};
  for (int kind = MANY; kind < SHORT + SHORTS; kind++)
    if (at[kind] == i % 96) return (rare)kind;
  G_STATIC_ASSERT(G_N_ELEMENTS(at) == SHORT + SHORTS);
  return COMMON;
}

/* Trial number i, or NULL: most with a window are no kernels. */
static trial *draw(int i) {
  trial *t = NULL;
  const rare kind = rare_at(i);
  const trial_kind of = kind == COPIED || kind == COPIED_SUMS ? FLOATS
                        : kind == TOLD                        ? SAMPLES
                        : kind                                ? WINDOW
                        : i % 2 == 0                          ? SAMPLES
                        : i % 8 == 5                          ? FILTERED
                        : i % 12 == 9                         ? TURNS
                        : i % 6 == 1                          ? MIXING
                        : i % 6 == 5                          ? AROUND_EACH
                                                              : WINDOW;
  for (int tries = 0; !t && tries < (kind >= TALL     ? 1000000
                                     : kind           ? 6000
                                     : of == FILTERED ? 12
                                                      : 3);
       tries++) {
    t = i % 4 == 2 ? series_new() : trial_new(of);
    t->processors = i % 3 ? 132 : 1; /* or blocks have much to do */
    if (!is_hopeless(t, kind)) trial_load(t);
    if (t->guarded && fc_compose(&t->what, &t->in, &t->out, NULL, t->processors, 0, &t->launch))
      t->text = fc_compose_text(&t->what, &t->in, &t->out, t->launch.variant);
    if (!t->text || !is_rare(t, kind)) g_clear_pointer(&t, trial_free);
  }
  return t;
}

int main(int argc, char **argv) {
  int random = 96, failed = 0, at = 1;
  guint seed = 1, windows = 0, series = 0;
  for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
    if (strcmp(argv[at], "--seed") == 0) seed_text = argv[at + 1], seed = (guint)atoi(seed_text);
    if (strcmp(argv[at], "--random") == 0) random = atoi(argv[at + 1]);
  }
  g_assert_cmpint(argc, >, at + 1);
  numbers = g_rand_new_with_seed(seed);
  g_autoptr(GPtrArray) trials = g_ptr_array_new_with_free_func(trial_free);
  guint variants[FC_COMPOSE_VARIANTS] = {0}, quiet = 0, nan_free = 0, placed = 0, early = 0, around = 0,
        lent = 0, boxes = 0, cells = 0, turns = 0, tall = 0, longer = 0, prefiltered = 0, runs = 0,
        folded = 0, moments = 0, deviations = 0, units = 0, three = 0, within = 0, mixed = 0, pieces = 0,
        high = 0, copied = 0, sums = 0, cut = 0, codes = 0, shared = 0, odd = 0, shorts[SHORTS + 1] = {0};
  for (int i = 0; i < random; i++) {
    trial *t = draw(i);
    if (!t) continue;
    g_assert_true(!strstr(t->text, "fc_box<") || strstr(t->text, "#include \"filters/gpu/box.cuh\""));
    folded += is_folded(t), moments += is_moments(t, FALSE), deviations += is_moments(t, TRUE),
        units += is_by_units(t), three += is_of_three(t), within += is_within(t), mixed += is_mixed(t),
        pieces += is_in_pieces(t), high += is_rare(t, TALL), copied += is_copied(t, FALSE),
        sums += is_rare(t, COPIED_SUMS), cut += is_cut(t, FALSE), codes += is_cut(t, TRUE),
        shared += is_shared(t), odd += is_odd(t, TRUE) + is_odd(t, FALSE), shorts[short_of(t) + 1]++;
    variants[t->launch.variant]++, windows += i % 2, series += t->what.windows > 1;
    prefiltered += t->what.prefilter > 0, runs += t->dense && t->nx * t->ny > FC_CONV2D_RUN;
    around += strstr(t->text, "fc_around<") != NULL;
    lent += !is_by_units(t) && !is_narrow(t, FALSE) &&
            g_regex_match_simple("fc_march<[^;]*, true, (true|false), \\d+, ", t->text, 0, 0);
    boxes += strstr(t->text, "::fc_box<") != NULL, tall += strstr(t->text, "fc_column<") != NULL;
    longer += g_regex_match_simple("fc_march<[^;]*, 8, 1, (32|64), (32|64), (true|false), false, 1, ",
                                   t->text, 0, 0);
    g_autofree char *bounds = g_strdup_printf("__launch_bounds__(%u", t->launch.threads);
    if (strstr(t->text, "fc_march<") || strstr(t->text, "fc_column<"))
      g_assert_nonnull(strstr(t->text, bounds));
    turns += g_regex_match_simple("Op::is\\(\\d+, \\d+, [2-4], ", t->text, 0, 0);
    cells += is_narrow(t, FALSE);
    placed += strstr(t->text, "PLACED = true") != NULL, early += t->rounding + 1 < t->what.n;
    quiet += strstr(t->text, "QUIET = true") != NULL, nan_free += strstr(t->text, "fc_larger") != NULL;
    g_ptr_array_add(trials, t);
  }
  g_autofree const char **texts = g_new0(const char *, trials->len + 1);
  for (guint i = 0; i < trials->len; i++) texts[i] = ((const trial *)g_ptr_array_index(trials, i))->text;
  kernels = emulate_compile(texts, argv[at], argv + at + 1);
  for (guint i = 0; i < trials->len; i++) {
    g_autofree char *name = g_strdup_printf("run%u", i);
    run_fn run = (run_fn)dlsym(kernels, name);
    g_assert_nonnull(run);
    make_tables(g_ptr_array_index(trials, i));
    failed += !check(g_ptr_array_index(trials, i), run);
  }
  g_print("seed %u: %u kernels, %u with a window, %u with several, %u that clip nothing, %u without NaN, %u "
          "told positions, %u "
          "that select among integers, %u whose threads load two vectors, %u of narrow images, %u of columns "
          "and rows, %u of one long column, %u of many taps, %u whose transforms take turns, %u with a "
          "prefilter, %u of several runs, %u of folded lines, %u of moments, %u of them in long windows, %u "
          "sample by "
          "sample, %u of three floats, %u of folded lines within the signal, %u of narrow images in pieces, "
          "%u of few rows or one column, %u of sums of many rows, %u of copied rows, %u of both, %u of cut "
          "windows, %u of integers, %u of windows that warps share, %d failed; by variant",
          seed, trials->len, windows, series, quiet, nan_free, placed, early, lent, cells, boxes, tall,
          longer, turns, prefiltered, runs, folded, moments + deviations, deviations, units, three, within,
          pieces, trials->len - shorts[0], high, copied, sums, cut, codes, shared, failed);
  for (guint v = 0; v < FC_COMPOSE_VARIANTS; v++) g_print(" %u", variants[v]);
  g_print("\n");
  g_assert_true(windows > (guint)random / 12 && series > (guint)random / 24 && quiet > 0 && nan_free > 0 &&
                placed > 0 && early > 0 && around > (guint)random / 24 && (lent > 0 || random < 600) &&
                (boxes > 0 || random < 200) && cells >= (guint)random / 96 && (turns > 0 || random < 200) &&
                prefiltered > (guint)random / 24 && ((tall > 0 && longer > 0) || random < 3000));
  g_assert_true(runs >= (guint)random / 96 && folded >= (guint)random / 96 && moments >= (guint)random / 96 &&
                deviations >= (guint)random / 96 && units >= (guint)random / 96 &&
                three >= (guint)random / 96 && within >= (guint)random / 96 && mixed >= (guint)random / 96 &&
                pieces >= (guint)random / 96 && high >= (guint)random / 96 && copied >= (guint)random / 96 &&
                sums >= (guint)random / 96 && cut >= 4 * ((guint)random / 96) &&
                codes >= 3 * ((guint)random / 96) && shared >= (guint)random / 96 &&
                odd >= 2 * ((guint)random / 96));
  for (int i = 1; i <= SHORTS; i++) g_assert_cmpuint(shorts[i], >=, (guint)random / 96);
  dlclose(kernels);
  return failed != 0;
}
