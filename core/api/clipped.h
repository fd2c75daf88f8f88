/* SPDX-License-Identifier: MIT */
/*
 * clipped.h - counts clipped values for the warning, because kernels note only whether any value was clipped.
 * A short run is repeated into a sink that takes floating point and counts.
 */
#ifndef FC_CORE_CLIPPED_H
#define FC_CORE_CLIPPED_H

#include "core/context/stream.h"

G_BEGIN_DECLS

typedef struct fc_clip_count {
  gint64 values, clipped;
  double low, high; /* of all values */
} fc_clip_count;

/* A sink that counts values of `kind` which integers of type `dtype` cannot hold; `count` must outlive the
 * sink. */
fc_sink *fc_clip_sink_new(int kind, int dtype, fc_clip_count *count);

/* "12 of 48640 values (0.025 %) exceeded the range of i16 and were clipped, the peak by 3.5 dB"; g_free. */
char *fc_clip_text(const fc_clip_count *count, int kind, int dtype);

G_END_DECLS

#endif
