// SPDX-License-Identifier: MIT
//
// along.h - resampling of bytes that are summed down columns first, by warps that walk along rows, on sm_80
// and later; called by resample.cu.
#ifndef FC_FILTERS_RESAMPLE_ALONG_H
#define FC_FILTERS_RESAMPLE_ALONG_H

#include "filters/resample/resample.h"
#include "filters/resample/resample_math.h"

// Scratch for views of these shapes and extents.
int64_t fc_resample_along_scratch(const fc_resample *r, const fc_view *in, const fc_view *out);

// FC_UNSUPPORTED: nothing is enqueued, for other devices, types, orders, strides, and large windows.
fc_status fc_resample_along(const fc_resample *r, const fc_view *in, const fc_view *out, void *scratch,
                            void *stream);

#endif
