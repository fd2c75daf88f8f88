/* SPDX-License-Identifier: MIT */
/*
 * gaps.h - scratch for images one pixel wide whose rows are apart, such as one channel out of three
 * (gaps.cuh).
 */
#ifndef FC_FILTERS_GPU_GAPS_H
#define FC_FILTERS_GPU_GAPS_H

#include <stddef.h>

#include "core/contract/view.h"

/* Bytes of a view without gaps. */
static inline size_t fc_gaps_bytes(const fc_view *v) {
  const size_t align = 256;
  return ((size_t)fc_view_count(v) * fc_dtype_size(v->dtype) + align - 1) / align * align;
}

/* Of both views without gaps, by what is known when a run is planned. Strides are not, and views may be said
 * to be larger than they will be, also wider than one pixel: so it is the extents that tell whether they are
 * columns, and of a shape only a column counts, with which the bytes never decrease when a shape grows. */
static inline size_t fc_gaps_scratch_from(const fc_view *in, const fc_view *out, int64_t least) {
  fc_view from = *in, to = *out;
  if (in->extent[FC_AXIS_X] != 1 || out->extent[FC_AXIS_X] != 1 || out->shape[FC_AXIS_Y] <= 1) return 0;
  from.shape[FC_AXIS_X] = to.shape[FC_AXIS_X] = 1, from.shape[FC_AXIS_N] = to.shape[FC_AXIS_N];
  if (from.shape[FC_AXIS_C] > to.shape[FC_AXIS_C]) from.shape[FC_AXIS_C] = to.shape[FC_AXIS_C];
  return fc_view_count(&to) < least ? 0 : fc_gaps_bytes(&from) + fc_gaps_bytes(&to);
}
static inline size_t fc_gaps_scratch(const fc_view *in, const fc_view *out) {
  return fc_gaps_scratch_from(in, out, 0);
}

/* Elements from which on two copies pay where some kernel takes views with gaps too, if slowly. */
#define FC_GAPS_MANY (1 << 20)
static inline size_t fc_gaps_scratch_of_many(const fc_view *in, const fc_view *out) {
  return fc_gaps_scratch_from(in, out, FC_GAPS_MANY);
}

#endif
