/* SPDX-License-Identifier: MIT */
/* histogram.h - `--plot FILE`: the histogram of a chain's output, as SVG. */
#ifndef FC_CLI_HISTOGRAM_H
#define FC_CLI_HISTOGRAM_H

#include "core/contract/filterchain.h"

/* Appends a stage that counts, unless there is one. Returns its index for histogram_rest, else G_MAXUINT. */
guint histogram_stage(GPtrArray *stages);

/* The result without the measurements of that stage, which are only for the drawing; `measured` must have
 * room for all pointers. */
fc_result histogram_rest(const fc_result *result, guint stage, const fc_measured **measured);

/* Draws the counts of the last stage that has any: g_free. NULL if none has. */
char *histogram_svg(const char *title, const fc_result *result);

#endif
