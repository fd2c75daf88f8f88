// SPDX-License-Identifier: MIT
//
// bytes.cuh - the short masks of conv1d.cu along rows of bytes.
#ifndef FC_FILTERS_CONV1D_BYTES_CUH
#define FC_FILTERS_CONV1D_BYTES_CUH

#include <cuda_runtime.h>

#include "core/contract/edges.h"
#include "filters/conv1d/conv1d.h"

// The same bits as fc_conv1d_cuda's other ways. FC_UNSUPPORTED, and nothing done: those it is for are rows of
// some thousand bytes of one to four interleaved channels, computed with in f32 with one mask of up to 128
// taps, whose sums of bytes cannot be far from them.
fc_status fc_conv1d_bytes(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          cudaStream_t stream, uint32_t *notes);

#endif
