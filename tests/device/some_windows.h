/* SPDX-License-Identifier: MIT */
/*
 * some_windows.h - device functions of windows, for tests: "s5x3" is a separable mask of 5 columns and 3
 * rows, "d5x3" a dense one, "m9" the smallest of 9 samples.
 */
#ifndef FC_TESTS_SOME_WINDOWS_H
#define FC_TESTS_SOME_WINDOWS_H

#include <glib.h>
#include <stdio.h>

#include "core/contract/plugin.h"

/* `entry` has FC_FUNCTION_ENTRY bytes; `taps` are used as they are. */
static inline void window_describe(const char *text, fc_device_function *f, char *entry, double *taps) {
  int nx = 0, ny = 1;
  sscanf(text + 1, "%dx%d", &nx, &ny);
  const gboolean extreme = *text == 'm';
  g_snprintf(entry, FC_FUNCTION_ENTRY,
             extreme        ? "fc_statistic<6,%d,4,0>"
             : *text == 's' ? "fc_separable<%d,%d>"
                            : "fc_dense<%d,%d>",
             nx, ny);
  *f = (fc_device_function){.size = sizeof *f,
                            .flags = FC_FUNCTION_WINDOW | (extreme ? FC_FUNCTION_SELECTS : 0),
                            .source = extreme ? FC_FUNCTION_STATISTIC_TEXT : FC_FUNCTION_WINDOW_TEXT,
                            .entry = entry,
                            .bytes = taps,
                            .n_bytes = extreme ? 0 : 4 * (guint32)(*text == 's' ? nx + ny : nx * ny),
                            .align = 4,
                            .low = 1,
                            .growth = -1,
                            .window_x = (guint32)nx,
                            .window_y = (guint32)ny};
}

#endif
