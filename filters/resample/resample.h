/* SPDX-License-Identifier: MIT */
/*
 * resample.h - resizes images: each output pixel is a weighted sum over a window of the input, one axis after
 * the other. The ratio of each axis is that of the views' extents; positions are half-pixel centres.
 *
 * With antialiasing the filter is as wide as the pixels of the coarser side, and inputs beyond the ends have
 * no weight (Pillow, torchvision's antialias=True). Without, it is as wide as the input's pixels, and the
 * last pixels are repeated beyond the ends (OpenCV). `area` is the mean over the area of an output pixel,
 * with partly covered pixels weighted by that part. NaN and infinities spread over their window.
 *
 * Bytes are summed as integers: weights of 14 bits, 6 more bits between the passes; other types, and images
 * with alpha that is not premultiplied, in the compute type, with each product and sum rounded. So the
 * reference, every instruction set and a device give the same bits.
 *
 * Views: out.dtype is in.dtype, any strides; the input is readable fc_resample_halo beyond the view, as far
 * as the signal goes. `out` does not overlap `in`. Threads: pure functions.
 *
 * Source: P. Heckbert, Fundamentals of Texture Mapping and Image Warping, 1989; R. Keys, Cubic convolution
 * interpolation, 1981. Cost an output sample: taps of Y times the ratio of X and taps of X, or the reverse.
 */
#ifndef FC_FILTERS_RESAMPLE_H
#define FC_FILTERS_RESAMPLE_H

#include "core/contract/view.h"
#include "filters/base/api.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

typedef enum fc_resample_filter {
  FC_RESAMPLE_NEAREST = 0,
  FC_RESAMPLE_BILINEAR = 1,
  FC_RESAMPLE_BICUBIC = 2, /* Keys' a is -1/2 with antialiasing, -3/4 without, as in Pillow and OpenCV */
  FC_RESAMPLE_LANCZOS3 = 3,
  FC_RESAMPLE_AREA = 4,
  FC_RESAMPLE_BICUBIC_SHARP = 5 /* internal: a = -3/4 */
} fc_resample_filter;

typedef struct fc_resample {
  int32_t filter, antialias;
  int32_t compute; /* FC_F32 or FC_F64; of bytes it has no effect */
  int32_t alpha;   /* the last of 2 or 4 channels is alpha, by which the others are weighted */
  fc_isa isa;
} fc_resample;

/* Inputs that are read beyond floor(o in / out) and ceil((o + 1) in / out), on either side. */
FC_FILTERS_API int64_t fc_resample_halo(const fc_resample *r, int64_t in, int64_t out);

/* Scratch for these views, aligned to 64, for either version. */
FC_FILTERS_API size_t fc_resample_scratch(const fc_resample *r, const fc_view *in, const fc_view *out);

/* The definition, an element at a time. */
FC_FILTERS_API fc_status fc_resample_ref(const fc_resample *r, const fc_view *in, const fc_view *out,
                                         void *scratch);
FC_FILTERS_API fc_status fc_resample_cpu(const fc_resample *r, const fc_view *in, const fc_view *out,
                                         void *scratch);

/* Enqueues on `stream` (a cudaStream_t) of the current device, with scratch there. Only in a build with
 * CUDA. */
FC_FILTERS_API size_t fc_resample_cuda_scratch(const fc_resample *r, const fc_view *in, const fc_view *out);
FC_FILTERS_API fc_status fc_resample_cuda(const fc_resample *r, const fc_view *in, const fc_view *out,
                                          void *scratch, void *stream);

FC_END_DECLS

#endif
