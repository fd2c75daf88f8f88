/* SPDX-License-Identifier: MIT */
/*
 * canvas.h - draws pictures: pixels, lines, numbers in a font of 5 x 7 pixels, colour maps, and an axis with
 * ticks. For spectrogram.h and waveform.h.
 *
 * A canvas is a view of an image of bytes, with 1 channel (lightness only) or 3 (sRGB). Pixels outside are
 * not drawn.
 */
#ifndef FC_FILTERS_CANVAS_H
#define FC_FILTERS_CANVAS_H

#include "core/contract/view.h"
#include "filters/base/api.h"

FC_BEGIN_DECLS

typedef struct fc_rgb {
  uint8_t r, g, b;
} fc_rgb;

typedef enum fc_colors {
  /* violet, blue, green, yellow: lightness increases evenly, so that it prints in grey too */
  FC_COLORS_EVEN = 0,
  FC_COLORS_HEAT = 1, /* black, red, yellow, white */
  FC_COLORS_GRAY = 2, /* black to white */
  FC_COLORS_INK = 3   /* white to black, for paper */
} fc_colors;

/* The colour of a value from 0 to 1; others are clamped, NaN is 0. */
FC_FILTERS_API fc_rgb fc_color_of(fc_colors map, double value);

typedef struct fc_box {
  int64_t x, y, width, height;
} fc_box;

#define FC_FONT_WIDTH  6 /* from one character to the next */
#define FC_FONT_HEIGHT 7

FC_FILTERS_API void fc_canvas_set(const fc_view *canvas, int64_t x, int64_t y, fc_rgb color);
FC_FILTERS_API void fc_canvas_fill(const fc_view *canvas, fc_box box, fc_rgb color);
/* The text's upper left pixel is at x, y; characters missing in the font are blank. */
FC_FILTERS_API void fc_canvas_text(const fc_view *canvas, int64_t x, int64_t y, const char *text,
                                   fc_rgb color);

/* Writes a number with the digits that its step needs: 1500 with steps of 500 as "1.5k", 90 with steps of
 * 30 and `clock` as "1:30". */
#define FC_LABEL_ROOM 24
FC_FILTERS_API void fc_label(double value, double step, int clock, char text[FC_LABEL_ROOM]);
/* The least number >= `least` of the form 1, 2 or 5 times a power of ten (with `clock` from 10 on divisors
 * of minutes and hours). */
FC_FILTERS_API double fc_nice_step(double least, int clock);

FC_END_DECLS

#endif
