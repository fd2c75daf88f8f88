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

/* Of both views without gaps, by their shapes alone: strides are not known when a run is planned. */
static inline size_t fc_gaps_scratch(const fc_view *in, const fc_view *out) {
  return out->shape[FC_AXIS_X] == 1 && out->shape[FC_AXIS_Y] > 1 ? fc_gaps_bytes(in) + fc_gaps_bytes(out) : 0;
}

/* Elements from which on two copies pay where some kernel takes views with gaps too, if slowly. */
#define FC_GAPS_MANY (1 << 20)

#endif
