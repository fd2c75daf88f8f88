/* SPDX-License-Identifier: MIT */
/* waveform.c - see waveform.h. */
#include "filters/picture/waveform.h"

#include <math.h>

#include "filters/base/samples.h"

#define PIECE      4096 /* samples at a time */
#define BLOCK_MOST 65536

fc_waveform_grid fc_waveform_grid_of(const fc_waveform *w, int64_t length) {
  const int64_t width = fc_panels_box(&w->panels, 1, 0).width;
  fc_waveform_grid g = {length, length < width ? length : width, 1};
  if (g.columns > 0) g.blocks = (length / g.columns + BLOCK_MOST) / BLOCK_MOST;
  return g;
}

size_t fc_waveform_scratch(void) {
  return PIECE * sizeof(double);
}

static fc_waveform_part measure(const fc_view *in, int64_t from, int64_t to, int64_t channel, double *row) {
  fc_waveform_part e = {INFINITY, -INFINITY, 0, 0};
  for (int64_t t = from; t < to; t += PIECE) {
    const int64_t count = to - t < PIECE ? to - t : PIECE;
    fc_load_f64(row, fc_view_at(in, 0, 0, t - in->origin[FC_AXIS_T], channel), in->stride[FC_AXIS_T], count,
                in->kind, in->dtype);
    for (int64_t i = 0; i < count; i++) {
      if (row[i] < e.least) e.least = row[i];
      if (row[i] > e.most) e.most = row[i];
      if (row[i] == row[i]) e.squares += row[i] * row[i], e.count++;
    }
  }
  return e;
}

void fc_waveform_blocks(const fc_waveform_grid *g, const fc_view *in, int64_t first, int64_t count,
                        fc_waveform_part *parts, void *scratch) {
  const int64_t all = g->columns * g->blocks, channels = in->shape[FC_AXIS_C];
  for (int64_t b = first; b < first + count; b++)
    for (int64_t c = 0; c < channels; c++)
      *parts++ = measure(in, b * g->length / all, (b + 1) * g->length / all, c, scratch);
}

void fc_waveform_add(const fc_waveform_grid *g, int64_t b, int64_t channels, const fc_waveform_part *parts,
                     fc_waveform_part *columns) {
  fc_waveform_part *column = columns + b / g->blocks * channels;
  for (int64_t c = 0; c < channels; c++) {
    if (parts[c].count == 0) continue;
    const int none = column[c].count == 0;
    column[c].least = none ? parts[c].least : fmin(column[c].least, parts[c].least);
    column[c].most = none ? parts[c].most : fmax(column[c].most, parts[c].most);
    column[c].squares += parts[c].squares, column[c].count += parts[c].count;
  }
}

/* The row of a value, within the panel. */
static int64_t row_of(const fc_waveform *w, fc_box panel, double value) {
  const double at = (1 - value / w->top) / 2 * (double)panel.height;
  return panel.y + (at < 0 ? 0 : at >= (double)panel.height ? panel.height - 1 : (int64_t)at);
}

static void draw_between(const fc_waveform *w, const fc_view *out, fc_box panel, int64_t x, double low,
                         double high, fc_rgb color) {
  const int64_t top = row_of(w, panel, high), bottom = row_of(w, panel, low);
  fc_canvas_fill(out, (fc_box){x, top, 1, bottom - top + 1}, color);
}

static void draw_panel(const fc_waveform *w, const fc_waveform_grid *g, int64_t channels,
                       const fc_waveform_part *columns, const fc_view *out, fc_box panel, int64_t channel) {
  fc_canvas_fill(out, (fc_box){panel.x, row_of(w, panel, 0), panel.width, 1}, fc_panels_ink(&w->panels));
  for (int64_t x = 0; x < panel.width && g->columns > 0; x++) {
    const fc_waveform_part *e = &columns[x * g->columns / panel.width * channels + channel];
    if (e->count == 0) continue;
    const double rms = sqrt(e->squares / (double)e->count);
    draw_between(w, out, panel, panel.x + x, e->least, e->most, w->range);
    draw_between(w, out, panel, panel.x + x, fmax(-rms, e->least), fmin(rms, e->most), w->rms);
  }
}

static void draw_levels(const fc_waveform *w, const fc_view *out, fc_box panel) {
  const double step = fc_nice_step(2 * w->top * 24 / (double)panel.height, 0);
  for (int64_t i = -(int64_t)(w->top / step); (double)i * step <= w->top; i++) {
    char text[FC_LABEL_ROOM];
    fc_label((double)i * step, step, 0, text);
    fc_panels_tick(&w->panels, out, panel, row_of(w, panel, (double)i * step) - panel.y, text);
  }
}

fc_status fc_waveform_draw(const fc_waveform *w, const fc_waveform_grid *g, int64_t channels,
                           const fc_waveform_part *columns, const fc_view *out) {
  if (fc_view_count(out) == 0) return FC_OK;
  if (out->dtype != FC_U8 || out->shape[FC_AXIS_X] != w->panels.width ||
      out->shape[FC_AXIS_Y] != w->panels.height)
    return FC_UNSUPPORTED;
  fc_panels_begin(&w->panels, out, channels, w->rate > 0 ? (double)g->length / w->rate : 0);
  for (int64_t c = 0; c < channels; c++) {
    const fc_box panel = fc_panels_box(&w->panels, channels, c);
    draw_panel(w, g, channels, columns, out, panel, c);
    if (w->panels.axes) draw_levels(w, out, panel);
  }
  return FC_OK;
}
