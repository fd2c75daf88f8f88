/* SPDX-License-Identifier: MIT */
/*
 * pixels.h - pixels of 1 to 4 channels between a view and planes of the compute type, a tile of a row at a
 * time. Interleaved bytes, as in most images, are first separated into planes of bytes: elements that are not
 * adjacent would be loaded and stored one by one, at a fifth of the speed.
 */
#ifndef FC_FILTERS_PIXELS_H
#define FC_FILTERS_PIXELS_H

#include "filters/base/lines.h"
#include "filters/base/samples.h"

#define FC_PIXELS_TILE 512 /* largest number of pixels */

static inline int fc_pixels_are_bytes(const fc_view *v) {
  const int64_t channels = v->shape[FC_AXIS_C];
  return v->dtype == FC_U8 && channels >= 2 && channels <= 4 && fc_is_interleaved(v);
}

/* All channels of `count` pixels from `from` on, into planes `apart` bytes from each other. */
static inline void fc_pixels_load(const fc_samples_kernels *k, int compute, char *to, int64_t apart,
                                  const fc_view *in, const char *from, int64_t count) {
  const fc_scaling map = fc_scaling_of(in->kind, in->dtype);
  const int channels = (int)in->shape[FC_AXIS_C], bytes = fc_pixels_are_bytes(in);
  uint8_t planes[4 * FC_PIXELS_TILE];
  if (bytes) k->split_bytes(planes, FC_PIXELS_TILE, (const uint8_t *)from, channels, count);
  for (int c = 0; c < channels; c++) {
    const void *at = bytes ? (const void *)(planes + c * FC_PIXELS_TILE) : from + c * in->stride[FC_AXIS_C];
    const int64_t step = bytes ? 1 : in->stride[FC_AXIS_X];
    if (compute == FC_F64)
      k->load_f64[in->dtype]((double *)(void *)(to + c * apart), at, step, count, map);
    else
      k->load_f32[in->dtype]((float *)(void *)(to + c * apart), at, step, count, map);
  }
}

/* The reverse, from the planes listed in `from`. */
static inline void fc_pixels_store(const fc_samples_kernels *k, int compute, const fc_view *out, char *to,
                                   const char *const *from, int64_t count, uint32_t *notes) {
  const fc_scaling map = fc_scaling_of(out->kind, out->dtype);
  const int channels = (int)out->shape[FC_AXIS_C], bytes = fc_pixels_are_bytes(out);
  uint8_t planes[4 * FC_PIXELS_TILE];
  for (int c = 0; c < channels; c++) {
    void *at = bytes ? (void *)(planes + c * FC_PIXELS_TILE) : to + c * out->stride[FC_AXIS_C];
    const int64_t step = bytes ? 1 : out->stride[FC_AXIS_X];
    if (compute == FC_F64)
      k->store_f64[out->dtype](at, step, (const double *)(const void *)from[c], count, map, notes);
    else
      k->store_f32[out->dtype](at, step, (const float *)(const void *)from[c], count, map, notes);
  }
  if (bytes) k->join_bytes((uint8_t *)to, planes, FC_PIXELS_TILE, channels, count);
}

#endif
