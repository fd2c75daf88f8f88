/* SPDX-License-Identifier: MIT */
/* spectrogram.c - see spectrogram.h. */
#include "filters/picture/spectrogram.h"

#include <math.h>
#include <string.h>

#include "filters/base/samples.h"

#define FLOOR -300. /* dB of silence */

/* ---- frequencies ---------------------------------------------------------------- */

/* Lower limit of a frequency axis in octaves, which would otherwise be endless. */
static double pitch_of(fc_pitch pitch, double f) {
  if (pitch == FC_PITCH_LOG) return log(f > 1e-3 ? f : 1e-3);
  return pitch == FC_PITCH_MEL ? log1p(f / 700) : f;
}

double fc_spectrogram_frequency(const fc_spectrogram *s, double height) {
  const double low = pitch_of(s->pitch, s->low), high = pitch_of(s->pitch, s->high);
  const double at = low + (high - low) * height;
  return s->pitch == FC_PITCH_LOG ? exp(at) : s->pitch == FC_PITCH_MEL ? 700 * expm1(at) : at;
}

double fc_spectrogram_height(const fc_spectrogram *s, double frequency) {
  const double low = pitch_of(s->pitch, s->low), high = pitch_of(s->pitch, s->high);
  return (pitch_of(s->pitch, frequency) - low) / (high - low);
}

/* ---- columns -------------------------------------------------------------------- */

typedef struct work {
  float *x, *re, *im; /* frames in lanes */
  double *power;      /* per bin; then its decibels */
  float *row;         /* samples of one frame */
  void *transform;
} work;

static size_t rounded(size_t bytes) {
  return (bytes + 63) & ~(size_t)63;
}

static size_t lay_out(const fc_spectrogram *s, void *memory, work *w) {
  const size_t n = (size_t)s->plan->n, bins = (size_t)s->plan->bins, lanes = (size_t)fc_rfft_lanes(s->plan);
  const size_t sizes[] = {n * lanes * 4,
                          bins * lanes * 4,
                          bins * lanes * 4,
                          bins * 8,
                          n * 4,
                          fc_rfft_scratch(s->plan, (int64_t)lanes)};
  void *parts[6];
  size_t at = 0;
  for (int i = 0; i < 6; i++) {
    parts[i] = memory ? (char *)memory + at : NULL;
    at += rounded(sizes[i]);
  }
  if (w)
    *w = (work){.x = parts[0],
                .re = parts[1],
                .im = parts[2],
                .power = parts[3],
                .row = parts[4],
                .transform = parts[5]};
  return at;
}

size_t fc_spectrogram_scratch(const fc_spectrogram *s) {
  return lay_out(s, NULL, NULL);
}

/* A block has no more spectra than this, where that does not make too many blocks. */
#define FRAMES_MOST 16
#define BLOCKS_MOST 1024

fc_spectrogram_grid fc_spectrogram_grid_of(const fc_spectrogram *s, int64_t length) {
  const int64_t width = fc_panels_box(&s->panels, 1, 0).width, columns = length < width ? length : width;
  fc_spectrogram_grid g = {length, columns, 1, 1};
  if (columns == 0) return g;
  const double hop = (double)s->plan->n / 2, span = (double)length / (double)columns;
  const int64_t frames = span > hop ? (int64_t)ceil(span / hop) : 1;
  g.blocks = (frames + FRAMES_MOST - 1) / FRAMES_MOST;
  if (g.blocks > BLOCKS_MOST) g.blocks = BLOCKS_MOST;
  g.frames = (frames + g.blocks - 1) / g.blocks;
  return g;
}

size_t fc_spectrogram_block_bytes(const fc_spectrogram *s, int64_t channels) {
  return (size_t)(channels * s->plan->bins) * sizeof(double);
}

int64_t fc_spectrogram_halo(const fc_spectrogram *s) {
  return s->plan->n / 2 + 1; /* a centre is rounded */
}

/* Spectrum `frame` of all, windowed; beyond the ends there is silence. */
static void load_frame(const fc_spectrogram *s, const fc_spectrogram_grid *g, const work *w,
                       const fc_view *in, int64_t frame, int64_t channel, int64_t lane, int64_t lanes) {
  const double frames = (double)(g->columns * g->blocks * g->frames),
               centre = (double)g->length * ((double)frame + 0.5) / frames;
  const int64_t n = s->plan->n, from = (int64_t)floor(centre + 0.5) - n / 2;
  const int64_t lo = from < 0 ? -from : 0, hi = from + n > g->length ? g->length - from : n;
  memset(w->row, 0, (size_t)n * sizeof *w->row);
  if (hi > lo)
    fc_load_f32(w->row + lo, fc_view_at(in, 0, 0, from + lo - in->origin[FC_AXIS_T], channel),
                in->stride[FC_AXIS_T], hi - lo, in->kind, in->dtype);
  for (int64_t i = 0; i < n; i++) w->x[i * lanes + lane] = w->row[i] * s->window[i];
}

void fc_spectrogram_blocks(const fc_spectrogram *s, const fc_spectrogram_grid *g, const fc_view *in,
                           int64_t first, int64_t count, double *powers, void *scratch) {
  const int64_t n = s->plan->n, bins = s->plan->bins, lanes = fc_rfft_lanes(s->plan),
                channels = in->shape[FC_AXIS_C], frames = count * g->frames;
  work w;
  lay_out(s, scratch, &w);
  memset(powers, 0, (size_t)count * fc_spectrogram_block_bytes(s, channels));
  for (int64_t c = 0; c < channels; c++)
    for (int64_t i = 0; i < frames; i += lanes) {
      const int64_t some = frames - i < lanes ? frames - i : lanes;
      if (some < lanes) memset(w.x, 0, (size_t)(n * lanes) * sizeof *w.x);
      for (int64_t l = 0; l < some; l++) load_frame(s, g, &w, in, first * g->frames + i + l, c, l, lanes);
      fc_rfft_forward(s->plan, w.x, w.re, w.im, lanes, w.transform);
      for (int64_t l = 0; l < some; l++) {
        double *power = powers + ((i + l) / g->frames * channels + c) * bins;
        for (int64_t b = 0; b < bins; b++) {
          const double re = w.re[b * lanes + l], im = w.im[b * lanes + l];
          power[b] += re * re + im * im;
        }
      }
    }
}

/* The value for the range between two heights of the panel. */
static double level_between(const fc_spectrogram *s, const double *level, double lower, double upper) {
  const double bin = (double)s->plan->n / s->rate, last = (double)(s->plan->bins - 1);
  const double a = fc_spectrogram_frequency(s, lower) * bin, b = fc_spectrogram_frequency(s, upper) * bin;
  double most = FLOOR;
  int64_t i = (int64_t)ceil(a);
  if ((double)i > b || (double)i > last) { /* no bin in the range */
    const double at = fmin((a + b) / 2, last);
    i = (int64_t)at;
    if (i + 1 >= s->plan->bins) return a > last ? FLOOR : level[s->plan->bins - 1];
    return level[i] + (level[i + 1] - level[i]) * (at - (double)i);
  }
  for (; (double)i <= b && (double)i <= last; i++) most = level[i] > most ? level[i] : most;
  return most;
}

/* ---- levels ---------------------------------------------------------------------- */

size_t fc_spectrogram_meter_bytes(const fc_spectrogram *s, const fc_spectrogram_grid *g, int64_t channels) {
  return fc_spectrogram_block_bytes(s, channels) +
         (size_t)(g->columns * channels * s->panels.height) * sizeof(float);
}

fc_spectrogram_meter fc_spectrogram_meter_of(const fc_spectrogram *s, const fc_spectrogram_grid *g,
                                             int64_t channels, void *memory) {
  return (fc_spectrogram_meter){*g, channels, 0, memory,
                                (float *)((double *)memory + channels * s->plan->bins)};
}

static float *levels_of(const fc_spectrogram *s, const fc_spectrogram_meter *m, int64_t column,
                        int64_t channel) {
  return m->levels + (column * m->channels + channel) * s->panels.height;
}

/* Of a column whose blocks are all there. */
static void end_column(const fc_spectrogram *s, const fc_spectrogram_meter *m, int64_t column) {
  const double full = s->window_sum * s->window_sum / 4 * (double)(m->grid.blocks * m->grid.frames);
  for (int64_t c = 0; c < m->channels; c++) {
    double *power = m->sum + c * s->plan->bins;
    float *levels = levels_of(s, m, column, c);
    const int64_t rows = fc_panels_box(&s->panels, m->channels, c).height;
    for (int64_t b = 0; b < s->plan->bins; b++)
      power[b] = power[b] > full * 1e-30 ? 10 * log10(power[b] / full) : FLOOR;
    for (int64_t y = 0; y < rows; y++) {
      const double lower = (double)(rows - 1 - y) / (double)rows;
      levels[y] = (float)level_between(s, power, lower, lower + 1 / (double)rows);
    }
  }
}

void fc_spectrogram_add(const fc_spectrogram *s, fc_spectrogram_meter *m, const double *powers,
                        int64_t count) {
  const int64_t bins = m->channels * s->plan->bins;
  for (int64_t i = 0; i < count; i++, m->taken++) {
    const int64_t part = m->taken % m->grid.blocks;
    for (int64_t b = 0; b < bins; b++) m->sum[b] = (part ? m->sum[b] : 0) + powers[i * bins + b];
    if (part == m->grid.blocks - 1) end_column(s, m, m->taken / m->grid.blocks);
  }
}

static void draw_panel(const fc_spectrogram *s, const fc_spectrogram_meter *m, const fc_view *out,
                       fc_box panel, int64_t channel) {
  const int64_t columns = m->grid.columns;
  for (int64_t x = 0; x < panel.width; x++) {
    const float *levels = columns ? levels_of(s, m, x * columns / panel.width, channel) : NULL;
    for (int64_t y = 0; y < panel.height; y++)
      fc_canvas_set(out, panel.x + x, panel.y + y,
                    fc_color_of(s->colors, 1 + ((levels ? (double)levels[y] : FLOOR) - s->top) / s->range));
  }
}

/* ---- axes ----------------------------------------------------------------------- */

static void frequency_tick(const fc_spectrogram *s, const fc_view *out, fc_box panel, double f, double step,
                           int64_t *last) {
  char text[FC_LABEL_ROOM];
  const double row = (1 - fc_spectrogram_height(s, f)) * (double)panel.height;
  const int64_t y = row < (double)(panel.height - 1) ? (int64_t)(row + 0.5) : panel.height - 1;
  if (f < s->low * (1 - 1e-9) || f > s->high * (1 + 1e-9) || *last - y < FC_FONT_HEIGHT + 4) return;
  fc_label(f, step, 0, text);
  fc_panels_tick(&s->panels, out, panel, y, text);
  *last = y;
}

static void draw_frequencies(const fc_spectrogram *s, const fc_view *out, fc_box panel) {
  int64_t last = INT64_MAX / 2;
  if (s->pitch == FC_PITCH_LINEAR) {
    const double step = fc_nice_step((s->high - s->low) * 24 / (double)panel.height, 0);
    for (double f = ceil(s->low / step) * step; f <= s->high; f += step)
      frequency_tick(s, out, panel, f, step, &last);
    return;
  }
  if (s->low == 0) frequency_tick(s, out, panel, 0, 1, &last);
  for (double decade = 1e-2; decade < 1e9; decade *= 10)
    for (int i = 0; i < 3; i++) {
      const double f = decade * (double[]){1, 2, 5}[i];
      if (f <= s->high) frequency_tick(s, out, panel, f, decade, &last);
    }
}

static void draw_bar(const fc_spectrogram *s, const fc_view *out, fc_box bar) {
  const fc_rgb ink = fc_panels_ink(&s->panels);
  const double step = fc_nice_step(s->range * 24 / (double)bar.height, 0);
  for (int64_t y = 0; y < bar.height; y++)
    fc_canvas_fill(out, (fc_box){bar.x, bar.y + y, bar.width, 1},
                   fc_color_of(s->colors, 1 - ((double)y + 0.5) / (double)bar.height));
  for (double l = floor(s->top / step) * step; l >= s->top - s->range - 1e-9; l -= step) {
    char text[FC_LABEL_ROOM];
    const int64_t y = bar.y + (int64_t)((s->top - l) / s->range * (double)(bar.height - 1) + 0.5);
    fc_label(l, step, 0, text);
    fc_canvas_fill(out, (fc_box){bar.x + bar.width, y, 3, 1}, ink);
    fc_canvas_text(out, bar.x + bar.width + 5, y - FC_FONT_HEIGHT / 2, text, ink);
  }
  fc_canvas_text(out, bar.x, bar.y - FC_FONT_HEIGHT - 4, "dB", ink);
}

fc_status fc_spectrogram_draw(const fc_spectrogram *s, const fc_spectrogram_meter *m, const fc_view *out) {
  const int64_t channels = m->channels;
  if (fc_view_count(out) == 0) return FC_OK;
  if (out->dtype != FC_U8 || out->shape[FC_AXIS_X] != s->panels.width ||
      out->shape[FC_AXIS_Y] != s->panels.height)
    return FC_UNSUPPORTED;
  fc_panels_begin(&s->panels, out, channels, (double)m->grid.length / s->rate);
  for (int64_t c = 0; c < channels; c++) {
    const fc_box panel = fc_panels_box(&s->panels, channels, c);
    draw_panel(s, m, out, panel, c);
    if (s->panels.axes) draw_frequencies(s, out, panel);
  }
  if (!s->panels.axes || channels == 0) return FC_OK;
  fc_canvas_text(out, 2, 2, "Hz", fc_panels_ink(&s->panels));
  draw_bar(s, out, fc_panels_bar(&s->panels, channels));
  return FC_OK;
}
