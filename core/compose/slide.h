/* SPDX-License-Identifier: MIT */
/*
 * slide.h - how threads share lines in kernels of statistics: filters/gpu/slide.cuh, running.cuh where
 * samples are integers, extremes.cuh. The window is that of vectors.h, of a function fc_statistic.
 */
#ifndef FC_CORE_COMPOSE_SLIDE_H
#define FC_CORE_COMPOSE_SLIDE_H

#include "core/compose/vectors.h"

/* Samples of a tile of short lines that are not folded (see below); lines of fewer than a quarter of that are
 * too short, but where such lie one behind the other, or fc_slide_is_running, FC_SLIDE_LEAST suffice. */
enum { FC_SLIDE_GROUP = 512, FC_SLIDE_LEAST = 32 };

/* Of integers, whose sums are exact: running.cuh, or of extremes: extremes.cuh; and positions of a thread
 * there, at most. */
gboolean fc_slide_is_running(const fc_vectors *w);
gint64 fc_slide_each(const fc_vectors *w);

/* Longest window whose variances of floats take no pieces (FC_MOMENTS_MOST). */
enum { FC_SLIDE_MOMENTS = 33 };

/* Whether lines of `total` outputs, which begin at `origin` of the signal, are short; whether such lie one
 * behind the other as one long line (fold.cuh); and then their distance. */
gboolean fc_slide_is_short(const fc_vectors *w, gint64 origin, gint64 total);
gboolean fc_slide_is_folded(const fc_vectors *w, gboolean is_short);
gint64 fc_slide_pitch(const fc_vectors *w, gint64 origin, gint64 total);

/* Positions of a tile, and threads of a block. */
gint64 fc_slide_samples(const fc_vectors *w, gboolean is_short);
gint64 fc_slide_threads(const fc_vectors *w, gint64 samples);

/* Blocks per multiprocessor that registers must suffice for: as many as compile without spills, where the
 * compiler takes more registers by itself; 0: it does not. `rows`: lines are rows of images, of few tiles
 * each, where five blocks are faster than four (std of 40, 4099 wide, 144 us and 159); along sound they are
 * slower (std of 100, 92 us and 89, 30 M samples, H200). */
int fc_slide_blocks(const fc_vectors *w, gboolean is_short, gboolean rows);

/* The first sample of a line's first tile, relative to the first output: variances are combined in the
 * order of outputs, everything else in that of samples (filters/winstat). Where nothing is rounded, the first
 * output. */
gint64 fc_slide_first(const fc_vectors *w, gint64 origin);

/* Tiles that a block needs to fill its windows before its first output, at half the cost of others. */
gint64 fc_slide_warm(const fc_vectors *w, gint64 samples);

#endif
