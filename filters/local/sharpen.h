/* SPDX-License-Identifier: MIT */
/*
 * sharpen.h - an unsharp mask: v + amount * d with d = v - blurred(v), if |d| > `threshold`; else v.
 *
 * The blur is filters/filter2d/sepconv.h's, into scratch, in the compute type; the rest is a difference, a
 * product and a sum, each rounded. Cost: the blur, and another pass over memory; composed kernels
 * (fc_sharpened of filters/gpu/window.cuh) do without.
 *
 * Views: as for sepconv; the input is readable around the output by the reach of the taps.
 */
#ifndef FC_FILTERS_SHARPEN_H
#define FC_FILTERS_SHARPEN_H

#include "filters/base/api.h"
#include "filters/filter2d/sepconv.h"

FC_BEGIN_DECLS

typedef struct fc_sharpen {
  fc_sepconv blur; /* its compute type is used throughout */
  double amount, threshold;
} fc_sharpen;

/* Bytes of scratch, aligned to 64, for outputs of this shape or smaller: for the reference and the CPU, and
 * for a device, in whose memory it lies (only in a build with CUDA). */
FC_FILTERS_API size_t fc_sharpen_scratch(const fc_sharpen *s, const fc_view *out);
FC_FILTERS_API size_t fc_sharpen_cuda_scratch(const fc_sharpen *s, const fc_view *out);

FC_FILTERS_API fc_status fc_sharpen_ref(const fc_sharpen *s, const fc_view *in, const fc_view *out,
                                        void *scratch, uint32_t *notes);
FC_FILTERS_API fc_status fc_sharpen_cpu(const fc_sharpen *s, const fc_view *in, const fc_view *out,
                                        void *scratch, uint32_t *notes);

/* Enqueues on `stream` (a cudaStream_t) of the current device. Only in a build with CUDA. */
FC_FILTERS_API fc_status fc_sharpen_cuda(const fc_sharpen *s, const fc_view *in, const fc_view *out,
                                         void *scratch, void *stream, uint32_t *notes);

/* The blurred image at the beginning of `scratch`: dense, interleaved. */
static inline size_t fc_sharpen_blurred_bytes(const fc_sharpen *s, const fc_view *out) {
  return ((size_t)fc_view_count(out) * fc_dtype_size(s->blur.compute) + 63) / 64 * 64;
}
static inline fc_view fc_sharpen_blurred(const fc_sharpen *s, const fc_view *out, void *scratch) {
  fc_view v = *out;
  v.data = scratch, v.dtype = s->blur.compute;
  v.stride[FC_AXIS_C] = (int64_t)fc_dtype_size(v.dtype);
  v.stride[FC_AXIS_X] = v.shape[FC_AXIS_C] * v.stride[FC_AXIS_C];
  v.stride[FC_AXIS_Y] = v.shape[FC_AXIS_X] * v.stride[FC_AXIS_X];
  v.stride[FC_AXIS_N] = v.shape[FC_AXIS_Y] * v.stride[FC_AXIS_Y];
  return v;
}

FC_END_DECLS

#endif
