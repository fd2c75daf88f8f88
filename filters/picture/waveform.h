/* SPDX-License-Identifier: MIT */
/*
 * waveform.h - a picture of sound over time: for each column the range of its samples and, inside it, twice
 * their root mean square around 0.
 *
 * A picture is made in two steps, so that no more of the sound need be in memory than a block of it: blocks
 * are measured, a part of a column each, and added up to what columns show. Cost: a pass over the samples.
 */
#ifndef FC_FILTERS_WAVEFORM_H
#define FC_FILTERS_WAVEFORM_H

#include "filters/picture/panels.h"

FC_BEGIN_DECLS

typedef struct fc_waveform {
  fc_panels panels;
  double rate; /* 0: not known */
  double top;  /* the level at the edges of a panel */
  fc_rgb range, rms;
} fc_waveform;

/* How a sound of some length is divided. */
typedef struct fc_waveform_grid {
  int64_t length;  /* samples */
  int64_t columns; /* that differ: as many as a panel is wide, or as there are samples */
  int64_t blocks;  /* of each column; block b of all begins at floor(b * length / all) */
} fc_waveform_grid;

FC_FILTERS_API fc_waveform_grid fc_waveform_grid_of(const fc_waveform *w, int64_t length);

/* What is known of some samples of a channel; all zeros: of none. */
typedef struct fc_waveform_part {
  double least, most, squares;
  int64_t count; /* that are numbers */
} fc_waveform_part;

FC_FILTERS_API size_t fc_waveform_scratch(void);
/* Of `count` blocks from `first` on, [block][channel]; `in` has them, and by its origin it is known where. */
FC_FILTERS_API void fc_waveform_blocks(const fc_waveform_grid *g, const fc_view *in, int64_t first,
                                       int64_t count, fc_waveform_part *parts, void *scratch);
/* Adds block b, of all channels, to the columns: [column][channel], zeros to begin with. */
FC_FILTERS_API void fc_waveform_add(const fc_waveform_grid *g, int64_t b, int64_t channels,
                                    const fc_waveform_part *parts, fc_waveform_part *columns);
/* The picture, an image of bytes with 1 or 3 channels, of all columns. */
FC_FILTERS_API fc_status fc_waveform_draw(const fc_waveform *w, const fc_waveform_grid *g, int64_t channels,
                                          const fc_waveform_part *columns, const fc_view *out);

FC_END_DECLS

#endif
