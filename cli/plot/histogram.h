/* SPDX-License-Identifier: MIT */
/* histogram.h - `--plot FILE`: how often which values come out of a chain, as SVG. */
#ifndef FC_CLI_HISTOGRAM_H
#define FC_CLI_HISTOGRAM_H

#include "core/contract/filterchain.h"

/* Puts a stage behind the others that counts, unless one is there. Which it is then, for histogram_rest; else
 * G_MAXUINT. */
guint histogram_stage(GPtrArray *stages);

/* The result but for what that stage has measured, which is for the drawing; `measured` has room for as many
 * pointers as there are. */
fc_result histogram_rest(const fc_result *result, guint stage, const fc_measured **measured);

/* Draws what the last stage that counted has: g_free. NULL where none has. */
char *histogram_svg(const char *title, const fc_result *result);

#endif
