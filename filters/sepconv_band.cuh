// SPDX-License-Identifier: MIT
//
// sepconv_band.cuh - the kernels of sepconv.cu that march in bands (conv2d_band.cuh), each in
// a file of its own. FC_UNSUPPORTED where there is none for the case, and nothing is enqueued
// then. `m` is what fc_march_plan says. Internal to filters/.
#ifndef FC_FILTERS_SEPCONV_BAND_CUH
#define FC_FILTERS_SEPCONV_BAND_CUH

#include "filters/conv2d_march.cuh"
#include "filters/sepconv.h"

// f32 to f32, one term, as many taps along as down. The bits are those of sepconv.cu.
fc_status fc_sepconv_floats(const fc_sepconv *op, const fc_march &m, cudaStream_t stream);

// f32 to f32 of images of few rows whose border is to be made, one term. The bits are those of sepconv.cu.
fc_status fc_sepconv_thin(const fc_sepconv *op, const fc_march &m, cudaStream_t stream);

// The same of u8 to u8. The bits are those of fc_sepconv_bytes.
fc_status fc_sepconv_thin_bytes(const fc_sepconv *op, const fc_march &m, cudaStream_t stream);

// u8 to u8 of images, one term. Whether there is a kernel depends on nothing but the types,
// the masks, and whether rows are of adjacent elements: parts of an image go the same way.
fc_status fc_sepconv_bytes(const fc_sepconv *op, const fc_march &m, cudaStream_t stream);

#endif
