/* SPDX-License-Identifier: MIT */
/*
 * slide.c - see slide.h.
 */
#include "core/compose/slide.h"

#include "core/compose/ranges.h"

enum {
  SLIDE_SAMPLES = 2048, /* of a tile, over all channels; for many channels, and short lines that are not
                           folded, FC_SLIDE_GROUP */
  SLIDE_RUN = 16,       /* samples of a segment, RUN of slide.cuh */
  LANES = 32,
  RUNNING_WARPS = 24,  /* of a multiprocessor, of three channels: std of bytes 71 us, else 83 */
  RUNNING_ALONE = 4096 /* FC_RUNNING_ALONE of running.cuh */
};

/* Extremes that extremes.cuh makes (fc_extremes_take): what a block reads before its first output grows with
 * windows. 6000 samples of f32 would take 164 us where slide.cuh takes 96, i16 stereo by 4800 105 and 81; by
 * as many bytes as here codes 44 and 77, floats 67 and 99. */
static gboolean is_extreme(const fc_vectors *w, fc_statistic_text *statistic) {
  enum { CODES = 6144, FLOATS = 4096 };
  return w->slide && fc_statistic_read(w->f, statistic) && statistic->extreme &&
         w->f->window_x * w->um * (gint64)fc_dtype_size(statistic->dtype) <=
             (fc_dtype_is_float(statistic->dtype) ? FLOATS : CODES);
}

gboolean fc_slide_is_running(const fc_vectors *w) {
  fc_statistic_text statistic;
  return is_extreme(w, &statistic) || (w->slide && fc_statistic_read(w->f, &statistic) && statistic.codes);
}

/* Of extremes: 32 bytes of what is compared, or 16 in short lines, whole vectors of 16 bytes; of floats more
 * where windows take in many threads' positions. */
static gint64 each_of_extreme(const fc_vectors *w, int dtype, gboolean is_short) {
  enum { BYTES = 32, TILES = 3 * LANES, MANY = 16 };
  const gint64 size = w->ui * (gint64)fc_dtype_size(w->in_dtype);
  gint64 each = fc_dtype_is_float(dtype) ? 4 : 8;
  while (2 * each * w->um * (gint64)fc_dtype_size(dtype) <= (is_short ? BYTES / 2 : BYTES)) each *= 2;
  while (each * size % 16 || (w->f->window_x > TILES * each && each * w->um < MANY)) each *= 2;
  return each;
}

/* Positions of a thread. In short lines half as many, if these are whole vectors of 16 bytes. */
static gint64 each_of(const fc_vectors *w, gboolean is_short) {
  const gint64 size = w->ui * (gint64)fc_dtype_size(w->in_dtype), each = w->ui > 3 || size > 4 ? 8 : 16;
  fc_statistic_text statistic;
  if (is_extreme(w, &statistic)) return each_of_extreme(w, statistic.dtype, is_short);
  return is_short && each / 2 * size % 16 == 0 ? each / 2 : each;
}

gint64 fc_slide_each(const fc_vectors *w) {
  return each_of(w, FALSE);
}

/* Variances of floats: segments are those of outputs (moments.cuh). */
static gboolean is_spread(const fc_vectors *w) {
  fc_statistic_text statistic;
  return fc_statistic_read(w->f, &statistic) && statistic.variance && !statistic.codes;
}

/* Whether windows end more than 32 segments behind their beginnings (FAR of slide.cuh). */
static gboolean is_far(const fc_vectors *w) {
  return (w->f->window_x - 1) / SLIDE_RUN >= LANES;
}

gboolean fc_slide_is_folded(const fc_vectors *w, gboolean is_short) {
  return is_short && !fc_slide_is_running(w) && !is_far(w);
}

/* Warps of a block that sums integers: four for long windows, whose first samples they read together. i16
 * stereo, rms of 4800: 71 us by four warps, 79 by one; but u8 std of 325 68 by four, 61 by one, u8 of four
 * channels, mean of 2404, 53 and 43 (H200). */
static gint64 warps_of(const fc_vectors *w) {
  fc_statistic_text statistic;
  return w->f->window_x > RUNNING_ALONE && !is_extreme(w, &statistic) ? 4 : 1;
}

gint64 fc_slide_samples(const fc_vectors *w, gboolean is_short) {
  if (fc_slide_is_running(w)) return LANES * warps_of(w) * each_of(w, is_short);
  if (!fc_slide_is_folded(w, is_short))
    return is_short || w->step > 2 ? FC_SLIDE_GROUP : SLIDE_SAMPLES / w->step;
  /* Longer ones of several channels: less is read twice. Four channels' pieces of variances leave no room. */
  return w->step == 4 && is_spread(w) && w->f->window_x > FC_SLIDE_MOMENTS ? FC_SLIDE_GROUP
         : w->step > 1                                                     ? SLIDE_SAMPLES / 2
                                                                           : SLIDE_SAMPLES;
}

gint64 fc_slide_threads(const fc_vectors *w, gint64 samples) {
  return fc_slide_is_running(w) ? LANES * warps_of(w) : samples / 16 * w->step;
}

int fc_slide_blocks(const fc_vectors *w, gboolean is_short, gboolean rows) {
  fc_statistic_text statistic;
  const gboolean folded = fc_slide_is_folded(w, is_short);
  if (fc_slide_is_running(w) && w->um == 3 && !is_extreme(w, &statistic))
    return RUNNING_WARPS / (int)warps_of(w);
  if (fc_slide_is_running(w) || !fc_statistic_read(w->f, &statistic) || w->threads < 96) return 0;
  if (folded) { /* as many threads in all, whether a block has 128, 192 or 256: fewer cost more than spills */
    const int blocks = statistic.variance ? 4 : statistic.extreme ? 5 : 6;
    return w->threads <= 128 ? blocks : w->threads <= 192 ? 2 + blocks / 3 : blocks / 2;
  }
  if (statistic.variance) return !is_far(w) && (w->step == 3 || (w->step < 3 && rows)) ? 5 : 4;
  return statistic.extreme ? 5 : 0;
}

/* Samples of the segments that are combined first. */
static gint64 slide_group(const fc_vectors *w) {
  gint64 group = SLIDE_RUN;
  while (group < LANES * SLIDE_RUN && 2 * group <= (w->f->window_x - 1) / SLIDE_RUN * SLIDE_RUN) group *= 2;
  return group;
}

gint64 fc_slide_first(const fc_vectors *w, gint64 origin) {
  if (fc_slide_is_running(w)) return 0;
  const gint64 before = w->f->window_x / 2, group = slide_group(w),
               at = is_spread(w) ? origin : origin - before;
  return -before - ((at % group) + group) % group;
}

gint64 fc_slide_pitch(const fc_vectors *w, gint64 origin, gint64 total) {
  const gint64 group = slide_group(w), after = w->f->window_x - 1 - w->f->window_x / 2;
  return (total + after - fc_slide_first(w, origin) + group - 1) / group * group;
}

gint64 fc_slide_warm(const fc_vectors *w, gint64 samples) {
  fc_statistic_text statistic;
  if (is_extreme(w, &statistic)) /* what all windows of a thread have ahead of their ends */
    return MAX(w->f->window_x - 1 - samples / LANES + samples - 1, 0) / samples;
  if (fc_slide_is_running(w)) /* lanes read a few by themselves (FEW of running.cuh) */
    return w->f->window_x <= 4 * LANES ? 0 : (w->f->window_x + samples - 1) / samples;
  const gint64 unit = LANES * SLIDE_RUN, whole = (w->f->window_x - 1) / unit, units = samples / unit;
  return whole < 1 ? 0 : (whole - 1 + units - 1) / units;
}

/* Of integers' sums: whether smaller tiles have a quarter fewer positions in all. Else whether folding saves
 * a tenth. A line in tiles of its own costs, as an estimate, a third of all positions of these tiles, used or
 * not, and two thirds of those in the units that have outputs. */
gboolean fc_slide_is_short(const fc_vectors *w, gint64 origin, gint64 total) {
  const gint64 large = fc_slide_samples(w, FALSE);
  fc_statistic_text statistic;
  if (fc_slide_is_running(w) && !is_extreme(w, &statistic)) {
    const gint64 small = fc_slide_samples(w, TRUE);
    return 4 * ((total + small - 1) / small) * small <= 3 * ((total + large - 1) / large) * large;
  }
  if (fc_slide_is_running(w) || is_far(w)) return total <= 2 * FC_SLIDE_GROUP;
  const gint64 unit = LANES * SLIDE_RUN, samples = large,
               length = total - fc_slide_first(w, origin) - w->f->window_x / 2,
               tiles = (length + samples - 1) / samples * samples, made = (length + unit - 1) / unit * unit;
  return 10 * fc_slide_pitch(w, origin, total) < 9 * (tiles + 2 * made) / 3;
}
