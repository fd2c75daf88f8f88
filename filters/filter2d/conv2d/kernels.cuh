// SPDX-License-Identifier: MIT
//
// kernels.cuh - the kernels of conv2d.cu that have a file of their own, for square masks of 3 or more taps a
// side, odd; the bits are those of conv2d.cu. `m` is from fc_march_of. FC_UNSUPPORTED, with nothing enqueued,
// if there is no such kernel. Internal to filters/.
#ifndef FC_FILTERS_CONV2D_KERNELS_CUH
#define FC_FILTERS_CONV2D_KERNELS_CUH

#include "filters/filter2d/conv2d.h"
#include "filters/filter2d/march.cuh"

// u8 to u8, masks with moderate numbers, 1, 3 or 4 channels. For devices with a bulk copy engine (sm_90).
fc_status fc_conv2d_bytes(const fc_conv2d *op, const fc_march &m, cudaStream_t stream);

#endif
