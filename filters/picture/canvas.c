/* SPDX-License-Identifier: MIT */
/* canvas.c - see canvas.h. */
#include "filters/picture/canvas.h"

#include <math.h>
#include <string.h>

/* ---- colours ------------------------------------------------------------------- */

static uint8_t code_of(double v) {
  return (uint8_t)(v <= 0 ? 0 : v >= 1 ? 255 : v * 255 + 0.5);
}

static uint8_t srgb(double linear) {
  if (linear <= 0.0031308) return code_of(12.92 * linear);
  return code_of(1.055 * pow(linear, 1 / 2.4) - 0.055);
}

/* From lightness, chroma and hue (degrees) in Oklab, B. Ottosson's perceptually uniform colour space. */
static fc_rgb oklch(double lightness, double chroma, double hue) {
  const double a = chroma * cos(hue * 0.017453292519943295), b = chroma * sin(hue * 0.017453292519943295);
  const double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
  return (fc_rgb){srgb(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
                  srgb(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
                  srgb(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

fc_rgb fc_color_of(fc_colors map, double value) {
  const double t = !(value > 0) ? 0 : value < 1 ? value : 1;
  const uint8_t gray = code_of(t);
  switch (map) {
  case FC_COLORS_EVEN: return oklch(0.2 + 0.72 * t, 0.05 + 0.16 * t * (1 - t) + 0.1 * t, 305 - 200 * t);
  case FC_COLORS_HEAT: return (fc_rgb){code_of(2.4 * t), code_of(2.4 * t - 0.8), code_of(3 * t - 2)};
  case FC_COLORS_INK: return (fc_rgb){(uint8_t)(255 - gray), (uint8_t)(255 - gray), (uint8_t)(255 - gray)};
  default: return (fc_rgb){gray, gray, gray};
  }
}

/* ---- pixels -------------------------------------------------------------------- */

void fc_canvas_set(const fc_view *canvas, int64_t x, int64_t y, fc_rgb color) {
  if (x < 0 || y < 0 || x >= canvas->shape[FC_AXIS_X] || y >= canvas->shape[FC_AXIS_Y]) return;
  uint8_t *pixel = fc_view_at(canvas, 0, y, x, 0);
  const int64_t step = canvas->stride[FC_AXIS_C];
  if (canvas->shape[FC_AXIS_C] == 1) {
    *pixel = (uint8_t)((color.r * 2126 + color.g * 7152 + color.b * 722 + 5000) / 10000);
    return;
  }
  pixel[0] = color.r, pixel[step] = color.g, pixel[2 * step] = color.b;
}

void fc_canvas_fill(const fc_view *canvas, fc_box box, fc_rgb color) {
  for (int64_t y = box.y; y < box.y + box.height; y++)
    for (int64_t x = box.x; x < box.x + box.width; x++) fc_canvas_set(canvas, x, y, color);
}

/* ---- text ---------------------------------------------------------------------- */

/* Rows from the top; the leftmost of five pixels is bit 4. */
static const struct {
  char character;
  uint8_t rows[FC_FONT_HEIGHT];
} font[] = {
    {'0', {14, 17, 19, 21, 25, 17, 14}}, {'1', {4, 12, 4, 4, 4, 4, 14}},
    {'2', {14, 17, 1, 6, 8, 16, 31}},    {'3', {14, 17, 1, 6, 1, 17, 14}},
    {'4', {2, 6, 10, 18, 31, 2, 2}},     {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {14, 16, 30, 17, 17, 17, 14}}, {'7', {31, 1, 2, 4, 8, 8, 8}},
    {'8', {14, 17, 17, 14, 17, 17, 14}}, {'9', {14, 17, 17, 15, 1, 1, 14}},
    {'.', {0, 0, 0, 0, 0, 12, 12}},      {':', {0, 12, 12, 0, 12, 12, 0}},
    {'-', {0, 0, 0, 14, 0, 0, 0}},       {'k', {16, 16, 18, 20, 24, 20, 18}},
    {'m', {0, 0, 26, 21, 21, 21, 21}},   {'H', {17, 17, 17, 31, 17, 17, 17}},
    {'z', {0, 0, 31, 2, 4, 8, 31}},      {'d', {1, 1, 13, 19, 17, 19, 13}},
    {'B', {30, 17, 17, 30, 17, 17, 30}}, {'s', {0, 0, 15, 16, 14, 1, 30}},
};

void fc_canvas_text(const fc_view *canvas, int64_t x, int64_t y, const char *text, fc_rgb color) {
  for (; *text; text++, x += FC_FONT_WIDTH)
    for (size_t i = 0; i < sizeof font / sizeof *font; i++)
      for (int row = 0; font[i].character == *text && row < FC_FONT_HEIGHT; row++)
        for (int column = 0; column < 5; column++)
          if (font[i].rows[row] >> (4 - column) & 1) fc_canvas_set(canvas, x + column, y + row, color);
}

static char *put_whole(char *to, int64_t value, int digits) {
  char text[24];
  int n = 0;
  for (; value > 0 || n < digits; value /= 10) text[n++] = (char)('0' + value % 10);
  while (n > 0) *to++ = text[--n];
  return to;
}

void fc_label(double value, double step, int clock, char text[FC_LABEL_ROOM]) {
  char *to = text;
  double size = fabs(value) < 1e15 ? fabs(value) : 1e15;
  const int thousands = !clock && size >= 1000;
  if (value < 0 && size > step / 100) *to++ = '-';
  if (clock && size >= 60 && step >= 1) {
    const int64_t seconds = (int64_t)(size + 0.5), hours = seconds / 3600, minutes = seconds / 60 % 60;
    if (hours) to = put_whole(to, hours, 1), *to++ = ':';
    to = put_whole(to, minutes, hours ? 2 : 1), *to++ = ':';
    to = put_whole(to, seconds % 60, 2);
    *to = '\0';
    return;
  }
  if (thousands) size /= 1000, step /= 1000;
  int decimals = 0;
  for (double s = step; decimals < 6 && fabs(s - floor(s + 0.5)) > 1e-6 * s; s *= 10) decimals++;
  const double unit = pow(10, decimals);
  int64_t whole = (int64_t)(size * unit + 0.5), part = whole % (int64_t)unit;
  while (decimals > 0 && thousands && part % 10 == 0) part /= 10, decimals--;
  to = put_whole(to, whole / (int64_t)unit, 1);
  if (decimals > 0) *to++ = '.', to = put_whole(to, part, decimals);
  if (thousands) *to++ = 'k';
  *to = '\0';
}

double fc_nice_step(double least, int clock) {
  static const double parts[] = {10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 18000, 36000};
  if (!(least > 0)) return 1;
  for (size_t i = 0; clock && least > 5 && i < sizeof parts / sizeof *parts; i++)
    if (parts[i] >= least) return parts[i];
  const double power = pow(10, floor(log10(least)));
  for (int i = 0; i < 3; i++)
    if (power * (double[]){1, 2, 5}[i] >= least * (1 - 1e-9)) return power * (double[]){1, 2, 5}[i];
  return power * 10;
}
