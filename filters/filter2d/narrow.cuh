// SPDX-License-Identifier: MIT
//
// narrow.cuh - 2-D filters of narrow images and of batches of small ones (conv2d_narrow.cuh), of any types
// that march; the bits are those of all other kernels. `m` is what fc_march_plan says. FC_UNSUPPORTED where
// there is no kernel for the case, and nothing is enqueued then. Internal to filters/.
#ifndef FC_FILTERS_NARROW_CUH
#define FC_FILTERS_NARROW_CUH

#include "filters/filter2d/conv2d.h"
#include "filters/filter2d/conv2d_march.cuh"
#include "filters/filter2d/sepconv.h"

// One term.
fc_status fc_sepconv_narrow(const fc_sepconv *op, const fc_march &m, cudaStream_t stream);

// Masks that are summed in one run.
fc_status fc_conv2d_narrow(const fc_conv2d *op, const fc_march &m, cudaStream_t stream);

#endif
