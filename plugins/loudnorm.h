/* SPDX-License-Identifier: MIT */
/*
 * loudnorm.h - sound brought to a loudness or a peak: what is measured in the first pass, and the factor that
 * follows from it.
 */
#ifndef FC_PLUGINS_LOUDNORM_H
#define FC_PLUGINS_LOUDNORM_H

#include <math.h>

#include "plugins/loudness_meter.h"

typedef struct loudnorm {
  loudness_meter meter;
  int32_t pass;             /* 0: measures */
  int by_loudness, by_peak; /* what is asked for; with both the peak is a limit */
  int true_peak;            /* peaks are those between samples */
  double loudness, peak;    /* LUFS; a factor of full scale */
  double factor;            /* that samples are multiplied by: 1 in the first pass, and for silence */
  double level;             /* what was measured, LUFS */
  fc_loudness_part peaks;
} loudnorm;

/* From what was measured, which is kept. FALSE for what has no loudness or no peak: silence stays silence. */
static inline int loudnorm_find(loudnorm *n) {
  n->peaks = loudness_meter_peaks(&n->meter);
  n->level = fc_loudness_integrated(&n->meter.m);
  const double highest = n->true_peak ? n->peaks.true_peak : n->peaks.peak;
  double factor = n->by_loudness ? pow(10, (n->loudness - n->level) / 20) : n->peak / highest;
  if (n->by_loudness && n->by_peak && factor * highest > n->peak) factor = n->peak / highest;
  n->factor = isfinite(factor) && highest > 0 ? factor : 1;
  return n->factor == factor;
}

#endif
