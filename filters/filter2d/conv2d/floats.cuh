// SPDX-License-Identifier: MIT
//
// floats.cuh - conv2d.cu's kernels that march in bands, in a file of their own.
// Internal to filters/.
#ifndef FC_FILTERS_CONV2D_FLOATS_CUH
#define FC_FILTERS_CONV2D_FLOATS_CUH

#include "filters/filter2d/conv2d.h"
#include "filters/filter2d/march.cuh"

// f32 to f32, square masks of 3 to 15 odd; the bits are those of conv2d.cu. `m` is from fc_march_of.
// FC_UNSUPPORTED, with nothing enqueued, if there is no such kernel.
fc_status fc_conv2d_floats(const fc_conv2d *op, const fc_march &m, cudaStream_t stream);

// The same for images of one row, or one pixel wide without gaps, whose border is made here.
fc_status fc_conv2d_line(const fc_conv2d *op, const fc_march &m, cudaStream_t stream);

// u8 to u8, square masks of 3 to 15 odd with moderate numbers, 1, 3 or 4 channels; and images of one row, or
// one pixel wide without gaps, whose border is made here. The bits are the same. For devices with a bulk copy
// engine (sm_90).
fc_status fc_conv2d_bytes(const fc_conv2d *op, const fc_march &m, cudaStream_t stream);
fc_status fc_conv2d_narrow_bytes(const fc_conv2d *op, const fc_march &m, cudaStream_t stream);
fc_status fc_conv2d_line_bytes(const fc_conv2d *op, const fc_march &m, cudaStream_t stream);

// Narrow images and batches of small ones, of all supported types; masks that are summed in one run. The bits
// are the same.
fc_status fc_conv2d_narrow(const fc_conv2d *op, const fc_march &m, cudaStream_t stream);

#endif
