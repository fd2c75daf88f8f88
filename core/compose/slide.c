/* SPDX-License-Identifier: MIT */
/*
 * slide.c - see slide.h.
 */
#include "core/compose/slide.h"

#include "core/compose/ranges.h"

enum {
  SLIDE_SAMPLES = 2048, /* of a tile, over all channels; for short lines and many channels FC_SLIDE_GROUP */
  RUNNING_SHORT = 256   /* windows up to here are no burden for each warp by itself */
};

gboolean fc_slide_is_running(const fc_vectors *w) {
  fc_statistic_text statistic;
  return w->slide && fc_statistic_read(w->f, &statistic) && statistic.codes;
}

gint64 fc_slide_each(const fc_vectors *w) {
  return w->ui > 3 || w->ui * (gint64)fc_dtype_size(w->in_dtype) > 4 ? 8 : 16;
}

gint64 fc_slide_samples(const fc_vectors *w, gboolean is_short) {
  if (fc_slide_is_running(w))
    return fc_slide_each(w) * (is_short || w->f->window_x <= RUNNING_SHORT ? 32 : 128);
  return is_short || w->step > 2 ? FC_SLIDE_GROUP : SLIDE_SAMPLES / w->step;
}

gint64 fc_slide_threads(const fc_vectors *w, gint64 samples) {
  return fc_slide_is_running(w) ? samples / fc_slide_each(w) : samples / 16 * w->step;
}

/* Samples of a segment: variances of floats are summed in a different order (statistic.cuh). */
static gint64 slide_run(const fc_vectors *w, gboolean *spread) {
  fc_statistic_text statistic;
  *spread = fc_statistic_read(w->f, &statistic) && statistic.variance && !statistic.codes;
  return *spread ? 4 : 16;
}

int fc_slide_blocks(const fc_vectors *w) {
  fc_statistic_text statistic;
  if (!fc_statistic_read(w->f, &statistic) || statistic.codes || w->threads < 96) return 0;
  return statistic.variance ? 4 : statistic.extreme ? 5 : 0;
}

gint64 fc_slide_first(const fc_vectors *w, gint64 origin) {
  gboolean spread;
  if (fc_slide_is_running(w)) return 0;
  const gint64 before = w->f->window_x / 2, run = slide_run(w, &spread),
               at = spread ? origin : origin - before;
  gint64 group = run; /* of segments that are combined first */
  while (group < 32 * run && 2 * group <= (w->f->window_x - 1) / run * run) group *= 2;
  return -before - ((at % group) + group) % group;
}

gint64 fc_slide_warm(const fc_vectors *w, gint64 samples) {
  gboolean spread;
  if (fc_slide_is_running(w)) return (w->f->window_x + samples - 1) / samples;
  const gint64 unit = 32 * slide_run(w, &spread), whole = (w->f->window_x - 1) / unit, units = samples / unit;
  return whole < 1 ? 0 : (whole - 1 + units - 1) / units;
}
