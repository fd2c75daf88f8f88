// SPDX-License-Identifier: MIT
//
// columns.cuh - the short masks of conv1d.cu down the columns of images.
#ifndef FC_FILTERS_CONV1D_COLUMNS_CUH
#define FC_FILTERS_CONV1D_COLUMNS_CUH

#include <cuda_runtime.h>

#include "core/contract/edges.h"
#include "filters/conv1d/conv1d.h"

// The same bits as fc_conv1d_cuda's other ways. FC_UNSUPPORTED, and nothing done: those it is for are columns
// of images whose rows are dense, in planes or with interleaved channels, of the types of tiles.cuh,
// with one mask of up to 128 taps. `edges`, unless NULL: `in` is the whole signal.
fc_status fc_conv1d_columns(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                            cudaStream_t stream, uint32_t *notes);

#endif
