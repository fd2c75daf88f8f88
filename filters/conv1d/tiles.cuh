// SPDX-License-Identifier: MIT
//
// tiles.cuh - the short masks of conv1d.cu along rows of u8, i16, u16 and f32.
#ifndef FC_FILTERS_CONV1D_TILES_CUH
#define FC_FILTERS_CONV1D_TILES_CUH

#include <cuda_runtime.h>

#include "core/contract/edges.h"
#include "filters/conv1d/conv1d.h"

// The same bits as fc_conv1d_cuda's other ways. FC_UNSUPPORTED, and nothing done: those it is for are rows of
// some length, of one channel or two interleaved, of one of these types in and out or f32 on one side, with
// one mask of up to 128 taps. `edges`, unless NULL: `in` is the whole signal.
fc_status fc_conv1d_tiles(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          cudaStream_t stream, uint32_t *notes);

#endif
