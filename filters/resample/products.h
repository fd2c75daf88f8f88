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

/* The inputs of an output on both axes: 2, 4 or 6; 0: more, since windows are as wide as what is shrunk, or 6
 * of bytes, which products sum faster. */
static inline int fc_resample_few_taps(const fc_resample *r, int codes, const fc_resample_axis *x,
                                       const fc_resample_axis *y) {
  if (r->alpha || x->inverse < 1 || y->inverse < 1 ||
      (r->filter == FC_RESAMPLE_AREA && (x->scale > 1 || y->scale > 1)))
    return 0;
  const int taps = r->filter == FC_RESAMPLE_AREA ? 2 : 2 * (int)fc_resample_reach_of(r->filter);
  return codes && taps > 4 ? 0 : taps;
}

/* How bytes are summed where the device and the views allow. Few: in registers (few.cuh), columns first,
 * which strips are not; or by two taps a row of few inputs, or of outputs that share them: enlarged 4 and 8
 * times 0.278 and 0.256 ms for 0.358 of strips, but rows whose bytes are not whole words 0.579 for 0.434
 * (H200). */
typedef enum fc_resample_way { FC_RESAMPLE_FEW, FC_RESAMPLE_ALONG, FC_RESAMPLE_STRIPS } fc_resample_way;
static inline fc_resample_way fc_resample_way_of(const fc_resample *r, const fc_resample_axis *x,
                                                 const fc_resample_axis *y) {
  const int few = fc_resample_few_taps(r, 1, x, y);
  if (fc_resample_down_first(r, 1, y)) return few ? FC_RESAMPLE_FEW : FC_RESAMPLE_ALONG;
  const int shared = few == 2 && (x->scale >= 2 || (x->scale < 0.3 && x->out % 4 == 0));
  return few && (x->scale > 2 || shared) ? FC_RESAMPLE_FEW : FC_RESAMPLE_STRIPS;
}

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
