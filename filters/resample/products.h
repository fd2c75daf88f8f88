/* SPDX-License-Identifier: MIT */
/*
 * products.h - resampling of bytes by products of matrices on sm_80 and later, called by resample.cu: by
 * warps that walk along rows, where columns are summed first (along.cu), and by warps that march down strips,
 * where rows are (strips.cu).
 */
#ifndef FC_FILTERS_RESAMPLE_PRODUCTS_H
#define FC_FILTERS_RESAMPLE_PRODUCTS_H

#include "filters/resample/resample.h"
#include "filters/resample/resample_math.h"

/* Scratch for views of these shapes and extents. */
int64_t fc_resample_along_scratch(const fc_resample *r, const fc_view *in, const fc_view *out);
int64_t fc_resample_strips_scratch(const fc_resample *r, const fc_view *in, const fc_view *out);

/* FC_UNSUPPORTED: nothing is enqueued, for other devices, types, strides, orders, and windows that do not fit
 * into shared memory. */
fc_status fc_resample_along(const fc_resample *r, const fc_view *in, const fc_view *out, void *scratch,
                            void *stream);
fc_status fc_resample_strips(const fc_resample *r, const fc_view *in, const fc_view *out, void *scratch,
                             void *stream);

#endif
