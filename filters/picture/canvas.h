/* SPDX-License-Identifier: MIT */
/*
 * canvas.h - pictures that are drawn: pixels, lines, numbers in a font of 5 x 7 pixels, colour maps, and an
 * axis with ticks. For spectrogram.h and waveform.h.
 *
 * A canvas is a view of an image of bytes, with 1 channel (the lightness alone) or 3 (sRGB). What lies
 * outside is left out.
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
  FC_COLORS_EVEN = 0, /* violet, blue, green, yellow: lightness rises evenly, so that it prints in grey too */
  FC_COLORS_HEAT = 1, /* black, red, yellow, white */
  FC_COLORS_GRAY = 2, /* black to white */
  FC_COLORS_INK = 3   /* white to black, for paper */
} fc_colors;

/* Of a value from 0 to 1; others are clamped, what is not a number is 0. */
FC_FILTERS_API fc_rgb fc_color_of(fc_colors map, double value);

typedef struct fc_box {
  int64_t x, y, width, height;
} fc_box;

#define FC_FONT_WIDTH  6 /* from one character to the next */
#define FC_FONT_HEIGHT 7

FC_FILTERS_API void fc_canvas_set(const fc_view *canvas, int64_t x, int64_t y, fc_rgb color);
FC_FILTERS_API void fc_canvas_fill(const fc_view *canvas, fc_box box, fc_rgb color);
/* The text's upper left pixel is at x, y; characters that the font has not are blank. */
FC_FILTERS_API void fc_canvas_text(const fc_view *canvas, int64_t x, int64_t y, const char *text,
                                   fc_rgb color);

/* Writes a number as short as its step allows: 1500 by steps of 500 as "1.5k", 90 by steps of 30 with `clock`
 * as "1:30". */
#define FC_LABEL_ROOM 24
FC_FILTERS_API void fc_label(double value, double step, int clock, char text[FC_LABEL_ROOM]);
/* 1, 2 or 5 times a power of ten (with `clock` from 10 on parts of minutes and hours), no less than `least`.
 */
FC_FILTERS_API double fc_nice_step(double least, int clock);

FC_END_DECLS

#endif
