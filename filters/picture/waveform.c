/* SPDX-License-Identifier: MIT */
/* waveform.c - see waveform.h. */
#include "filters/picture/waveform.h"

#include <math.h>

#include "filters/base/samples.h"

#define PIECE 4096 /* samples at a time */

size_t fc_waveform_scratch(void) {
  return PIECE * sizeof(double);
}

typedef struct extent {
  double least, most, squares;
  int64_t count;
} extent;

static extent measure(const fc_view *in, int64_t from, int64_t to, int64_t channel, double *row) {
  extent e = {INFINITY, -INFINITY, 0, 0};
  for (int64_t t = from; t < to; t += PIECE) {
    const int64_t count = to - t < PIECE ? to - t : PIECE;
    fc_load_f64(row, fc_view_at(in, 0, 0, t, channel), in->stride[FC_AXIS_T], count, in->kind, in->dtype);
    for (int64_t i = 0; i < count; i++) {
      if (row[i] < e.least) e.least = row[i];
      if (row[i] > e.most) e.most = row[i];
      if (row[i] == row[i]) e.squares += row[i] * row[i], e.count++;
    }
  }
  return e;
}

/* The row of a value in the panel. */
static int64_t row_of(const fc_waveform *w, fc_box panel, double value) {
  const double at = (1 - value / w->top) / 2 * (double)panel.height;
  return panel.y + (at < 0 ? 0 : at >= (double)panel.height ? panel.height - 1 : (int64_t)at);
}

static void draw_between(const fc_waveform *w, const fc_view *out, fc_box panel, int64_t x, double low,
                         double high, fc_rgb color) {
  const int64_t top = row_of(w, panel, high), bottom = row_of(w, panel, low);
  fc_canvas_fill(out, (fc_box){x, top, 1, bottom - top + 1}, color);
}

static void draw_panel(const fc_waveform *w, const fc_view *in, const fc_view *out, fc_box panel,
                       int64_t channel, double *row) {
  const int64_t length = in->shape[FC_AXIS_T];
  fc_canvas_fill(out, (fc_box){panel.x, row_of(w, panel, 0), panel.width, 1}, fc_panels_ink(&w->panels));
  for (int64_t x = 0; x < panel.width; x++) {
    const int64_t from = (int64_t)((double)length * (double)x / (double)panel.width);
    int64_t to = (int64_t)((double)length * (double)(x + 1) / (double)panel.width);
    if (to == from && from < length) to = from + 1;
    const extent e = measure(in, from, to, channel, row);
    if (e.count == 0) continue;
    const double rms = sqrt(e.squares / (double)e.count);
    draw_between(w, out, panel, panel.x + x, e.least, e.most, w->range);
    draw_between(w, out, panel, panel.x + x, fmax(-rms, e.least), fmin(rms, e.most), w->rms);
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

fc_status fc_waveform_cpu(const fc_waveform *w, const fc_view *in, const fc_view *out, void *scratch) {
  const int64_t channels = in->shape[FC_AXIS_C];
  if (fc_view_count(out) == 0) return FC_OK;
  if (out->dtype != FC_U8 || out->shape[FC_AXIS_X] != w->panels.width ||
      out->shape[FC_AXIS_Y] != w->panels.height)
    return FC_UNSUPPORTED;
  fc_panels_begin(&w->panels, out, channels, w->rate > 0 ? (double)in->shape[FC_AXIS_T] / w->rate : 0);
  for (int64_t c = 0; c < channels; c++) {
    const fc_box panel = fc_panels_box(&w->panels, channels, c);
    draw_panel(w, in, out, panel, c, scratch);
    if (w->panels.axes) draw_levels(w, out, panel);
  }
  return FC_OK;
}
