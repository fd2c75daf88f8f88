/* SPDX-License-Identifier: MIT */
/*
 * panels.h - the frame of a picture of sound: a panel for each channel, one below the other, time along them,
 * and around them margins with ticks and numbers.
 */
#ifndef FC_FILTERS_PANELS_H
#define FC_FILTERS_PANELS_H

#include "filters/picture/canvas.h"

FC_BEGIN_DECLS

#define FC_PANELS_MOST 16 /* limit of channels that are drawn */

typedef struct fc_panels {
  int64_t width, height; /* of the picture */
  int32_t axes;          /* with margins and their content; else panels fill the picture */
  int32_t bar;           /* with room for a bar of colours on the right */
  int32_t dark;          /* light text on black; else dark text on white */
} fc_panels;

/* The minimum size of a picture for this many channels. */
FC_FILTERS_API int64_t fc_panels_least_width(const fc_panels *p);
FC_FILTERS_API int64_t fc_panels_least_height(const fc_panels *p, int64_t channels);

/* The position of a channel's panel. */
FC_FILTERS_API fc_box fc_panels_box(const fc_panels *p, int64_t channels, int64_t channel);
/* The margin to the right of all panels, from the top of the first to the end of the last. */
FC_FILTERS_API fc_box fc_panels_bar(const fc_panels *p, int64_t channels);

FC_FILTERS_API fc_rgb fc_panels_paper(const fc_panels *p);
FC_FILTERS_API fc_rgb fc_panels_ink(const fc_panels *p);

/* Fills the background and draws the time axis; `seconds` is its length, 0: not known. */
FC_FILTERS_API void fc_panels_begin(const fc_panels *p, const fc_view *canvas, int64_t channels,
                                    double seconds);
/* A tick and its number at the left of a panel, `row` pixels below its top. */
FC_FILTERS_API void fc_panels_tick(const fc_panels *p, const fc_view *canvas, fc_box panel, int64_t row,
                                   const char *text);

FC_END_DECLS

#endif
