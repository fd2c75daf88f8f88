/* SPDX-License-Identifier: MIT */
/* plot.h - a chart as SVG: panels one below the other that share an axis of frequencies, a curve in each. */
#ifndef FC_CLI_PLOT_H
#define FC_CLI_PLOT_H

#include "core/contract/filterchain.h"

typedef struct plot_panel {
  const char *title;    /* with its unit */
  const double *values; /* one for each frequency; what is not finite is left out */
  double least, most;   /* of the axis */
  double step;          /* of its lines */
} plot_panel;

/* The frequencies rise, and are drawn octave by octave. g_free. */
char *plot_svg(const char *title, const double *frequencies, gsize n, const plot_panel *panels,
               gsize n_panels);

/* 1, 2 or 5 times a power of ten, no less than `least`. */
double plot_step(double least);
/* Whether a drawing may have this name: not that of another format. */
gboolean plot_is_svg(const char *path, GError **error);

#endif
