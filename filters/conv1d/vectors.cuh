// SPDX-License-Identifier: MIT
//
// vectors.cuh - the short masks of conv1d.cu along rows of three or four interleaved channels of f32.
#ifndef FC_FILTERS_CONV1D_VECTORS_CUH
#define FC_FILTERS_CONV1D_VECTORS_CUH

#include <cuda_runtime.h>

#include "core/contract/edges.h"
#include "filters/conv1d/conv1d.h"

// The same bits as fc_conv1d_cuda's other ways. FC_UNSUPPORTED, and nothing done: those it is for are rows of
// some length, of three or four channels, f32 in and out, with one mask of up to 128 taps. `edges`, unless
// NULL: `in` is the whole signal.
fc_status fc_conv1d_vectors(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                            cudaStream_t stream);

#endif
