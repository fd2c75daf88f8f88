/* SPDX-License-Identifier: MIT */
/* plot.h - a chart as SVG: panels one below the other that share a frequency axis, one curve in each. */
#ifndef FC_CLI_PLOT_H
#define FC_CLI_PLOT_H

#include "core/contract/filterchain.h"

typedef struct plot_panel {
  const char *title;    /* with its unit */
  const double *values; /* one per frequency; non-finite values are not drawn */
  double least, most;   /* of the axis */
  double step;          /* distance of its lines */
} plot_panel;

/* Frequencies must increase; the axis is logarithmic. g_free. */
char *plot_svg(const char *title, const double *frequencies, gsize n, const plot_panel *panels,
               gsize n_panels);

/* The smallest number of the form 1, 2 or 5 times a power of ten that is at least `least`. */
double plot_step(double least);
/* Whether a drawing may have this name: not if it is that of another format. */
gboolean plot_is_svg(const char *path, GError **error);

#endif
