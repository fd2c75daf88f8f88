// SPDX-License-Identifier: MIT
//
// rows.cuh - the short masks of conv1d.cu along rows of which several make a tile.
#ifndef FC_FILTERS_CONV1D_ROWS_CUH
#define FC_FILTERS_CONV1D_ROWS_CUH

#include <cuda_runtime.h>

#include "core/contract/edges.h"
#include "filters/conv1d/conv1d.h"

// The same bits as fc_conv1d_cuda's other ways. FC_UNSUPPORTED, and nothing done: those it is for are rows of
// up to 640 samples of u8, i16, u16 or f32, equally far apart, whose channels are interleaved or lie in
// planes, computed with in f32 with one mask of up to 128 taps. `edges`, unless NULL: `in` is the whole
// signal.
fc_status fc_conv1d_rows(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                         cudaStream_t stream, uint32_t *notes);

#endif
