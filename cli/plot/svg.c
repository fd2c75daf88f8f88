/* SPDX-License-Identifier: MIT */
/* svg.c - see plot.h. Sizes are pixels; a viewer scales them. */
#include "cli/plot/plot.h"

#include <math.h>

enum { WIDTH = 860, HEIGHT = 190, LEFT = 64, RIGHT = 20, TOP = 44, APART = 34, BOTTOM = 40 };

double plot_step(double least) {
  static const double parts[] = {1, 2, 5, 10};
  const double power = pow(10, floor(log10(least)));
  for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
    if (parts[i] * power >= least * (1 - 1e-9)) return parts[i] * power;
  return 10 * power;
}

typedef struct chart {
  GString *s;
  double low, high; /* Hz */
} chart;

static double x_of(const chart *c, double frequency) {
  return LEFT + log(frequency / c->low) / log(c->high / c->low) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const plot_panel *p, double top, double value) {
  return top + (p->most - value) / (p->most - p->least) * HEIGHT;
}

static void add_text(const chart *c, double x, double y, const char *anchor, const char *text) {
  g_autofree char *safe = g_markup_escape_text(text, -1);
  g_string_append_printf(c->s, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
                         safe);
}

static void add_line(const chart *c, double x1, double y1, double x2, double y2, gboolean strong) {
  g_string_append_printf(c->s, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"%s\"/>\n", x1, y1, x2, y2,
                         strong ? "#666" : "#ddd");
}

/* Lines at 1, 2 and 5 times each power of ten; labels below the last panel. */
static void add_frequencies(const chart *c, double top, gboolean numbers) {
  static const double parts[] = {1, 2, 5};
  for (double decade = 1e-3; decade < c->high; decade *= 10)
    for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
      const double f = decade * parts[i];
      if (f < c->low || f > c->high) continue;
      add_line(c, x_of(c, f), top, x_of(c, f), top + HEIGHT, i == 0);
      g_autofree char *text = f >= 1000 ? g_strdup_printf("%gk", f / 1000) : g_strdup_printf("%g", f);
      if (numbers) add_text(c, x_of(c, f), top + HEIGHT + 16, "middle", text);
    }
}

static void add_values(const chart *c, const plot_panel *p, double top) {
  for (double v = ceil(p->least / p->step) * p->step; v <= p->most + p->step * 1e-6; v += p->step) {
    const double near = fabs(v) < p->step * 1e-6 ? 0 : v;
    g_autofree char *text = g_strdup_printf("%g", near);
    add_line(c, LEFT, y_of(p, top, v), WIDTH - RIGHT, y_of(p, top, v), near == 0);
    add_text(c, LEFT - 6, y_of(p, top, v) + 4, "end", text);
  }
}

/* Interrupted where a value is missing, or jumps across most of the panel, as a phase from -180 to 180. */
static void add_curve(const chart *c, const plot_panel *p, double top, const double *frequencies, gsize n) {
  gboolean drawing = FALSE;
  double last = 0;
  g_string_append(c->s, "<path stroke=\"#1f5fb4\" stroke-width=\"1.6\" d=\"");
  for (gsize i = 0; i < n; i++) {
    const double v = CLAMP(p->values[i], p->least, p->most);
    const gboolean jumps = drawing && fabs(v - last) > 0.8 * (p->most - p->least);
    if (isfinite(p->values[i]))
      g_string_append_printf(c->s, "%c%.2f %.2f", drawing && !jumps ? 'L' : 'M', x_of(c, frequencies[i]),
                             y_of(p, top, v));
    drawing = isfinite(p->values[i]);
    last = v;
  }
  g_string_append(c->s, "\"/>\n");
}

char *plot_svg(const char *title, const double *frequencies, gsize n, const plot_panel *panels,
               gsize n_panels) {
  const chart c = {g_string_new(NULL), frequencies[0], frequencies[n - 1]};
  const int height = TOP + (int)n_panels * (HEIGHT + APART) - APART + BOTTOM;
  g_string_append_printf(
      c.s,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"none\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<g fill=\"#222\">\n",
      WIDTH, height, WIDTH, height);
  add_text(&c, LEFT, 16, "start", title);
  for (gsize i = 0; i < n_panels; i++) {
    const double top = TOP + (double)i * (HEIGHT + APART);
    g_string_append(c.s, "</g><g fill=\"#222\">\n");
    add_frequencies(&c, top, i + 1 == n_panels);
    add_values(&c, &panels[i], top);
    add_text(&c, LEFT, top - 6, "start", panels[i].title);
    g_string_append(c.s, "</g><g>\n");
    add_curve(&c, &panels[i], top, frequencies, n);
  }
  g_string_append(c.s, "</g><g fill=\"#222\">\n");
  add_text(&c, WIDTH - RIGHT, height - 6, "end", "frequency, Hz");
  g_string_append(c.s, "</g>\n</svg>\n");
  return g_string_free(c.s, FALSE);
}

gboolean plot_is_svg(const char *path, GError **error) {
  static const char *const others[] = {".png", ".jpg", ".jpeg", ".webp", ".tiff",
                                       ".tif", ".bmp", ".gif",  ".pdf",  NULL};
  const char *dot = strrchr(path, '.');
  for (guint i = 0; dot && others[i]; i++) {
    if (g_ascii_strcasecmp(dot, others[i]) != 0) continue;
    g_set_error(error, FC_ERROR, FC_INVALID, "%s: drawings of curves are SVG: name it %.*s.svg", path,
                (int)(dot - path), path);
    return FALSE;
  }
  return TRUE;
}
