/* SPDX-License-Identifier: MIT */
/*
 * histogram.c - draws the histogram of a run as SVG, one panel per channel. It draws measurements named bin0,
 * bin1, ..., between low and high, from any operator; if no stage counts, our histogram is appended to the
 * chain. Heights are fractions of all samples; for sound on a logarithmic axis, since most samples are near 0
 * and clipped ones are rare.
 */
#include "cli/plot/histogram.h"

#include "cli/plot/plot.h"

#include <math.h>
#include <string.h>

#define COUNTER "histogram"
#define BINS    "256"

enum { WIDTH = 860, HEIGHT = 160, LEFT = 64, RIGHT = 20, TOP = 44, APART = 34, BOTTOM = 40, PANELS_MOST = 8 };

static gboolean is_counter(const char *stage) {
  return g_str_has_prefix(stage, COUNTER) && (stage[strlen(COUNTER)] == ':' || !stage[strlen(COUNTER)]);
}

guint histogram_stage(GPtrArray *stages) {
  for (guint i = 0; i < stages->len; i++)
    if (is_counter(g_ptr_array_index(stages, i))) return G_MAXUINT;
  g_ptr_array_add(stages, (gpointer)COUNTER ":" BINS);
  return stages->len - 1;
}

fc_result histogram_rest(const fc_result *result, guint stage, const fc_measured **measured) {
  fc_result rest = *result;
  rest.n_measured = 0, rest.measured = measured;
  for (gsize i = 0; i < result->n_measured; i++)
    if (result->measured[i]->stage != stage) measured[rest.n_measured++] = result->measured[i];
  return rest;
}

/* ---- measurements -------------------------------------------------------------- */

typedef struct counts {
  const fc_result *result;
  guint stage;
  double low, high;
  int bins, channels; /* channels 0: only the counts over all channels exist */
} counts;

/* The number of "bin7", or -1. */
static int bin_of(const fc_measured *m) {
  if (!g_str_has_prefix(m->name, "bin") || !g_ascii_isdigit(m->name[3])) return -1;
  return (int)g_ascii_strtoll(m->name + 3, NULL, 10);
}

static double value_of(const counts *c, int channel, const char *name) {
  for (gsize i = 0; i < c->result->n_measured; i++) {
    const fc_measured *m = c->result->measured[i];
    if (m->stage == c->stage && m->channel == channel && strcmp(m->name, name) == 0) return m->value;
  }
  return NAN;
}

static gboolean find(const fc_result *result, counts *c) {
  *c = (counts){.result = result, .stage = G_MAXUINT};
  for (gsize i = 0; i < result->n_measured; i++)
    if (bin_of(result->measured[i]) >= 0) c->stage = result->measured[i]->stage;
  for (gsize i = 0; i < result->n_measured; i++) {
    const fc_measured *m = result->measured[i];
    if (m->stage != c->stage || bin_of(m) < 0) continue;
    c->bins = MAX(c->bins, bin_of(m) + 1), c->channels = MAX(c->channels, m->channel + 1);
  }
  c->low = value_of(c, -1, "low"), c->high = value_of(c, -1, "high");
  return c->bins > 0 && c->low < c->high;
}

/* The fraction of the channel's samples in each bin, and beyond either end. FALSE if there are none. */
static gboolean parts_of(const counts *c, int channel, double *parts, double *below, double *above) {
  double sum = 0;
  memset(parts, 0, (gsize)c->bins * sizeof *parts);
  for (gsize i = 0; i < c->result->n_measured; i++) {
    const fc_measured *m = c->result->measured[i];
    if (m->stage == c->stage && m->channel == channel && bin_of(m) >= 0)
      parts[bin_of(m)] = m->value, sum += m->value;
  }
  *below = value_of(c, channel, "below"), *above = value_of(c, channel, "above");
  sum += *below + *above;
  for (int b = 0; b < c->bins && sum > 0; b++) parts[b] /= sum;
  *below /= sum, *above /= sum;
  return sum > 0;
}

/* ---- drawing ------------------------------------------------------------------- */

typedef struct panel {
  const counts *c;
  double top, least, most; /* range of the axis: fractions or, with `powers`, their decimal logarithms */
  gboolean powers;
} panel;

static double x_of(const counts *c, double value) {
  return LEFT + (value - c->low) / (c->high - c->low) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const panel *p, double part) {
  const double at = p->powers ? log10(MAX(part, 1e-300)) : part;
  return p->top + (1 - (CLAMP(at, p->least, p->most) - p->least) / (p->most - p->least)) * HEIGHT;
}

static void add_text(GString *s, double x, double y, const char *anchor, const char *text) {
  g_autofree char *safe = g_markup_escape_text(text, -1);
  g_string_append_printf(s, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, safe);
}

static void add_line(GString *s, double x1, double y1, double x2, double y2) {
  g_string_append_printf(s, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#ddd\"/>\n", x1, y1, x2, y2);
}

static void add_axes(GString *s, const panel *p, gboolean numbers) {
  const counts *c = p->c;
  const double step = plot_step((c->high - c->low) / 9), rise = p->powers ? 1 : plot_step(p->most / 5);
  for (double v = ceil(c->low / step) * step; v <= c->high + step * 1e-6; v += step) {
    g_autofree char *text = g_strdup_printf("%g", fabs(v) < step * 1e-6 ? 0 : v);
    add_line(s, x_of(c, v), p->top, x_of(c, v), p->top + HEIGHT);
    if (numbers) add_text(s, x_of(c, v), p->top + HEIGHT + 16, "middle", text);
  }
  for (double v = p->least; v <= p->most + rise * 1e-6; v += rise) {
    const double part = p->powers ? pow(10, v) : v;
    g_autofree char *text = g_strdup_printf("%g %%", 100 * part);
    add_line(s, LEFT, y_of(p, part), WIDTH - RIGHT, y_of(p, part));
    add_text(s, LEFT - 6, y_of(p, part) + 4, "end", text);
  }
}

static void add_bars(GString *s, const panel *p, const double *parts) {
  const counts *c = p->c;
  const double width = (double)(WIDTH - LEFT - RIGHT) / c->bins, floor = p->top + HEIGHT;
  g_string_append_printf(s, "<path fill=\"#1f5fb4\" d=\"M%.1f %.1f", (double)LEFT, floor);
  for (int b = 0; b < c->bins; b++)
    g_string_append_printf(s, "L%.2f %.2fL%.2f %.2f", LEFT + b * width, y_of(p, parts[b]),
                           LEFT + (b + 1) * width, y_of(p, parts[b]));
  g_string_append_printf(s, "L%.1f %.1fZ\"/>\n", (double)(WIDTH - RIGHT), floor);
}

/* A channel's panel; -1: all channels together. */
static void add_panel(GString *s, const counts *c, int channel, double top, gboolean last) {
  g_autofree double *parts = g_new(double, (gsize)c->bins);
  double below = 0, above = 0, most = 0, least = 1;
  if (!parts_of(c, channel, parts, &below, &above)) below = above = 0;
  for (int b = 0; b < c->bins; b++) {
    most = MAX(most, parts[b]);
    if (parts[b] > 0) least = MIN(least, parts[b]);
  }
  if (most == 0) most = 1;
  panel p = {c, top, 0, most, c->low < 0};
  if (p.powers) p.least = MAX(floor(log10(least)), -9), p.most = MAX(ceil(log10(most)), p.least + 1);
  g_string_append(s, "<g fill=\"#222\">\n");
  add_axes(s, &p, last);
  g_autofree char *name = channel < 0 ? g_strdup("all samples") : g_strdup_printf("channel %d", channel);
  g_autofree char *beyond = below + above > 0 ? g_strdup_printf(", %.3g %% below %g, %.3g %% above %g",
                                                                100 * below, c->low, 100 * above, c->high)
                                              : g_strdup("");
  g_autofree char *title = g_strconcat(name, beyond, NULL);
  add_text(s, LEFT, top - 6, "start", title);
  g_string_append(s, "</g>\n");
  add_bars(s, &p, parts);
}

char *histogram_svg(const char *title, const fc_result *result) {
  counts c;
  if (!find(result, &c)) return NULL;
  const int panels = CLAMP(c.channels, 1, PANELS_MOST),
            height = TOP + panels * (HEIGHT + APART) - APART + BOTTOM;
  GString *s = g_string_new(NULL);
  g_string_append_printf(
      s,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"none\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<g fill=\"#222\">\n",
      WIDTH, height, WIDTH, height);
  add_text(s, LEFT, 16, "start", title);
  add_text(s, WIDTH - RIGHT, height - 6, "end", "value");
  g_string_append(s, "</g>\n");
  for (int i = 0; i < panels; i++)
    add_panel(s, &c, c.channels ? i : -1, TOP + (double)i * (HEIGHT + APART), i + 1 == panels);
  g_string_append(s, "</svg>\n");
  return g_string_free(s, FALSE);
}
