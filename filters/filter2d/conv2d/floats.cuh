// SPDX-License-Identifier: MIT
//
// floats.cuh - conv2d.cu's kernels that march in bands, in a file of their own.
// Internal to filters/.
#ifndef FC_FILTERS_CONV2D_FLOATS_CUH
#define FC_FILTERS_CONV2D_FLOATS_CUH

#include "filters/filter2d/conv2d.h"
#include "filters/filter2d/march.cuh"

// f32 to f32, square masks of 3 to 15 odd; the bits are those of conv2d.cu. `m` is what
// fc_march_plan says. FC_UNSUPPORTED where there is no kernel, and nothing is enqueued then.
fc_status fc_conv2d_floats(const fc_conv2d *op, const fc_march &m, cudaStream_t stream);

// The same of images of one row, or one pixel wide without gaps, whose border is to be made.
fc_status fc_conv2d_line(const fc_conv2d *op, const fc_march &m, cudaStream_t stream);

// f32 to f32 of images of few rows whose border is to be made; the same bits, and the same where there is
// none.
fc_status fc_conv2d_thin(const fc_conv2d *op, const fc_march &m, cudaStream_t stream);

// u8 to u8, square masks of 3 to 15 odd of numbers that are moderate, 1, 3 or 4 channels; and images of few
// rows, or one pixel wide without gaps, whose border is to be made. The bits are the same. For devices with
// an engine for bulk copies (sm_90).
fc_status fc_conv2d_bytes(const fc_conv2d *op, const fc_march &m, cudaStream_t stream);
fc_status fc_conv2d_narrow_bytes(const fc_conv2d *op, const fc_march &m, cudaStream_t stream);
fc_status fc_conv2d_line_bytes(const fc_conv2d *op, const fc_march &m, cudaStream_t stream);
fc_status fc_conv2d_thin_bytes(const fc_conv2d *op, const fc_march &m, cudaStream_t stream);

// Narrow images and batches of small ones, of any types that march; masks that are summed in one run. The
// bits are the same.
fc_status fc_conv2d_narrow(const fc_conv2d *op, const fc_march &m, cudaStream_t stream);

#endif
