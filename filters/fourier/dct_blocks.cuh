// SPDX-License-Identifier: MIT
//
// dct_blocks.cuh - the transforms of dct_fft.h for lengths that fit a thread's registers, on a CUDA
// device: memory is read once and written once.
#ifndef FC_FILTERS_DCT_BLOCKS_CUH
#define FC_FILTERS_DCT_BLOCKS_CUH

#include "filters/gpu/cuda.cuh"
#include "filters/fourier/dct_fft.h"

// Runs the kernel for this length if there is one; false, and no status, if not. The views are checked and
// not empty.
bool fc_dct_blocks_try(const fc_dct_fft *plan, const fc_view *in, const fc_view *out, uint32_t *notes,
                       cudaStream_t stream, fc_status *status);

#endif
