/* SPDX-License-Identifier: MIT */
/*
 * median.h - the median of each channel in a window of nx x ny samples, odd both, around each pixel.
 *
 * A selection, not arithmetic: samples are compared as whole numbers that sort as they do (median_key.h; -0
 * below 0, NaN above all numbers) and copied, so that every version gives the same bits. Windows of 3 x 3 and
 * 5 x 5 go through networks of minima and maxima, many pixels at a time: only samples that can still be the
 * median are kept, and for each new sample the least and the greatest are dropped (20 and 156 pairs). Others
 * slide a histogram of codes along the row, 2 ny updates a sample, or, where codes have more than 16 bits,
 * partition each window (quickselect), about 3 nx ny steps.
 *
 * Views: one element type; the input readable nx / 2 and ny / 2 samples around the output on X and Y; any
 * strides. Pure functions; no allocation.
 */
#ifndef FC_FILTERS_MEDIAN_H
#define FC_FILTERS_MEDIAN_H

#include "core/contract/view.h"
#include "filters/base/api.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

#define FC_MEDIAN_MOST 255 /* limit of nx and ny */
/* Largest window for types of more than 16 bits, whose median is selected anew for each output. */
#define FC_MEDIAN_SELECTED 961

typedef struct fc_median {
  fc_isa isa; /* for fc_median_cpu */
  int64_t nx, ny;
} fc_median;

/* The definition: each window is sorted. `scratch` as for fc_median_cpu. */
FC_FILTERS_API fc_status fc_median_ref(const fc_median *m, const fc_view *in, const fc_view *out,
                                       void *scratch);

/* Bytes of scratch, aligned to 64, for outputs of this shape or smaller. */
FC_FILTERS_API size_t fc_median_scratch(const fc_median *m, const fc_view *out);
FC_FILTERS_API fc_status fc_median_cpu(const fc_median *m, const fc_view *in, const fc_view *out,
                                       void *scratch);

/* Enqueues on `stream` (a cudaStream_t) of the current device. Only in a build with CUDA. */
FC_FILTERS_API fc_status fc_median_cuda(const fc_median *m, const fc_view *in, const fc_view *out,
                                        void *stream);

FC_END_DECLS

#endif
