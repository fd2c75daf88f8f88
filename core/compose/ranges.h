/* SPDX-License-Identifier: MIT */
/*
 * ranges.h - what is proved of the values between the stages of a composed kernel: that there is no NaN, and
 * that nothing is clipped. Integers hold no NaN and have a known range, which each stage's device function
 * says how far it widens (growth, offset, low and high of device_function.h). What is proved leaves out
 * comparisons and notes in the kernel's text; so does what is known of floats that another kernel has made.
 *
 * Any thread; nothing is kept. `in_dtype` is the type of the first stage's input.
 */
#ifndef FC_CORE_RANGES_H
#define FC_CORE_RANGES_H

#include <glib.h>

#include "core/compose/compose.h"

G_BEGIN_DECLS

/* Which statistics a function is the text of (statistic.cuh), and of what type of samples; FALSE: it is none.
 */
typedef struct fc_statistic_text {
  gboolean codes;    /* of integers, as their codes: not extremes, which are the same of values */
  gboolean variance; /* or a deviation */
  gboolean extreme;
  int dtype;
} fc_statistic_text;
gboolean fc_statistic_read(const fc_device_function *function, fc_statistic_text *statistic);

/* Whether the output of stage i is rounded to its link's type before the next stage reads it. Not if the
 * stage selects one of its arguments and these are of that type already. */
gboolean fc_ranges_rounded(const fc_composition *c, guint i, int in_dtype);

/* Whether stage i certainly meets no NaN, and the sign of a zero cannot be seen after it. */
gboolean fc_ranges_nan_free(const fc_composition *c, guint i, int in_dtype);

/* Whether what stage i makes is certainly finite, and below 1e30. */
gboolean fc_ranges_finite(const fc_composition *c, guint i, int in_dtype);

/* Whether what is stored is certainly finite; then it is from *low to *high. */
gboolean fc_ranges_stored(const fc_composition *c, int in_dtype, double *low, double *high);

/* Whether certainly nothing that is stored is clipped, or a NaN. */
gboolean fc_ranges_quiet(const fc_composition *c, int in_dtype);

/* Whether what is stored are bytes, and certainly no NaN, nor further out of range than 16 bits reach. */
gboolean fc_ranges_near(const fc_composition *c, int in_dtype);

/* Whether the first stage scales the codes that are loaded, by a factor that window.cuh makes part of that
 * (fc_window_scaling): neither so far from 1 that its products with 2^23 are not exact, nor negative, which
 * makes -0 of 0. */
gboolean fc_ranges_scales(const fc_composition *c, int in_dtype);

/* What window.cuh calls no functions behind a window that is the last stage, given both. */
const char *fc_ranges_none(const fc_composition *c, int in_dtype);

G_END_DECLS

#endif
