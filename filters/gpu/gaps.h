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

/* Of both views without gaps, by their shapes alone: strides are not known when a run is planned. Inputs of a
 * plan may be said to be larger; only columns of as many channels are copied. */
static inline size_t fc_gaps_scratch(const fc_view *in, const fc_view *out) {
  fc_view column = *in;
  if (out->shape[FC_AXIS_X] != 1 || out->shape[FC_AXIS_Y] <= 1) return 0;
  column.shape[FC_AXIS_N] = out->shape[FC_AXIS_N], column.shape[FC_AXIS_X] = 1;
  if (column.shape[FC_AXIS_C] > out->shape[FC_AXIS_C]) column.shape[FC_AXIS_C] = out->shape[FC_AXIS_C];
  return fc_gaps_bytes(&column) + fc_gaps_bytes(out);
}

/* Elements from which on two copies pay where some kernel takes views with gaps too, if slowly. */
#define FC_GAPS_MANY (1 << 20)
static inline size_t fc_gaps_scratch_of_many(const fc_view *in, const fc_view *out) {
  return fc_view_count(out) < FC_GAPS_MANY ? 0 : fc_gaps_scratch(in, out);
}

#endif
