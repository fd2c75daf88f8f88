/* SPDX-License-Identifier: MIT */
/* panels.c - see panels.h. */
#include "filters/picture/panels.h"

#include <math.h>
#include <string.h>

enum { LEFT = 40, RIGHT = 10, BAR = 56, TOP = 14, BOTTOM = 18, GAP = 10, TICK = 4, LEAST = 16, APART = 60 };

int64_t fc_panels_least_height(const fc_panels *p, int64_t channels) {
  return p->axes ? TOP + BOTTOM + channels * (LEAST + GAP) : channels;
}

int64_t fc_panels_least_width(const fc_panels *p) {
  return p->axes ? LEFT + BAR + LEAST : 1;
}

fc_box fc_panels_box(const fc_panels *p, int64_t channels, int64_t channel) {
  const int64_t gap = p->axes ? GAP : 0, top = p->axes ? TOP : 0, n = channels > 0 ? channels : 1;
  const int64_t room = p->height - top - (p->axes ? BOTTOM : 0) - gap * (n - 1);
  const int64_t from = room * channel / n, to = room * (channel + 1) / n;
  return (fc_box){p->axes ? LEFT : 0, top + from + gap * channel,
                  p->width - (p->axes ? LEFT + (p->bar ? BAR : RIGHT) : 0), to - from};
}

fc_box fc_panels_bar(const fc_panels *p, int64_t channels) {
  const fc_box first = fc_panels_box(p, channels, 0), last = fc_panels_box(p, channels, channels - 1);
  return (fc_box){first.x + first.width + 8, first.y, 10, last.y + last.height - first.y};
}

fc_rgb fc_panels_paper(const fc_panels *p) {
  return p->dark ? (fc_rgb){0, 0, 0} : (fc_rgb){255, 255, 255};
}

fc_rgb fc_panels_ink(const fc_panels *p) {
  return p->dark ? (fc_rgb){210, 210, 210} : (fc_rgb){40, 40, 40};
}

static void draw_time(const fc_panels *p, const fc_view *canvas, fc_box panel, double seconds) {
  const double step = fc_nice_step(seconds * APART / (double)panel.width, 1);
  const int64_t y = panel.y + panel.height;
  for (int64_t i = 0; seconds > 0 && step * (double)i <= seconds * (1 + 1e-9); i++) {
    char text[FC_LABEL_ROOM];
    fc_label(step * (double)i, step, 1, text);
    const int64_t x = panel.x + (int64_t)(step * (double)i / seconds * (double)(panel.width - 1) + 0.5);
    fc_canvas_fill(canvas, (fc_box){x, y, 1, TICK}, fc_panels_ink(p));
    if (x + (int64_t)strlen(text) * FC_FONT_WIDTH / 2 < p->width - 2 * FC_FONT_WIDTH)
      fc_canvas_text(canvas, x - (int64_t)strlen(text) * FC_FONT_WIDTH / 2, y + TICK + 3, text,
                     fc_panels_ink(p));
  }
  fc_canvas_text(canvas, p->width - FC_FONT_WIDTH - 2, y + TICK + 3, "s", fc_panels_ink(p));
}

void fc_panels_begin(const fc_panels *p, const fc_view *canvas, int64_t channels, double seconds) {
  fc_canvas_fill(canvas, (fc_box){0, 0, p->width, p->height}, fc_panels_paper(p));
  if (p->axes && channels > 0) draw_time(p, canvas, fc_panels_box(p, channels, channels - 1), seconds);
}

void fc_panels_tick(const fc_panels *p, const fc_view *canvas, fc_box panel, int64_t row, const char *text) {
  const int64_t y = panel.y + row, width = (int64_t)strlen(text) * FC_FONT_WIDTH;
  if (!p->axes) return;
  fc_canvas_fill(canvas, (fc_box){panel.x - TICK, y, TICK, 1}, fc_panels_ink(p));
  fc_canvas_text(canvas, panel.x - TICK - 2 - width, y - FC_FONT_HEIGHT / 2, text, fc_panels_ink(p));
}
