// SPDX-License-Identifier: MIT
//
// pixels.cuh - the short masks of conv1d.cu along rows of three or four interleaved channels.
#ifndef FC_FILTERS_CONV1D_PIXELS_CUH
#define FC_FILTERS_CONV1D_PIXELS_CUH

#include <cuda_runtime.h>

#include "core/contract/edges.h"
#include "filters/conv1d/conv1d.h"

// The same bits as fc_conv1d_cuda's other ways. FC_UNSUPPORTED, and nothing done: those it is for are rows of
// some length, of three or four channels, of the types of tiles.cuh but f32 on both sides, with one
// mask of up to 128 taps. `edges`, unless NULL: `in` is the whole signal.
fc_status fc_conv1d_pixels(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                           cudaStream_t stream, uint32_t *notes);

#endif
