/* SPDX-License-Identifier: MIT */
/*
 * waveform.h - a picture of sound over time: for each column the range of its samples and, inside it, twice
 * their root mean square around 0.
 *
 * Views: in is the whole sound, out the whole picture, an image of bytes with 1 or 3 channels. Cost: a pass
 * over the samples.
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

FC_FILTERS_API size_t fc_waveform_scratch(void);
FC_FILTERS_API fc_status fc_waveform_cpu(const fc_waveform *w, const fc_view *in, const fc_view *out,
                                         void *scratch);

FC_END_DECLS

#endif
