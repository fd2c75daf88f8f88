// SPDX-License-Identifier: MIT
//
// short.cuh - the short masks of conv1d.cu along rows that are short themselves.
#ifndef FC_FILTERS_CONV1D_SHORT_CUH
#define FC_FILTERS_CONV1D_SHORT_CUH

#include <cuda_runtime.h>

#include "core/contract/edges.h"
#include "filters/conv1d/conv1d.h"

// The same bits as fc_conv1d_cuda's other ways. FC_UNSUPPORTED, and nothing done: those it is for are whole
// signals of one channel whose border is to be made, in rows of up to 32 elements, equally far apart, with as
// many outputs, computed with in f32 with one mask of up to 128 taps.
fc_status fc_conv1d_short(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          cudaStream_t stream, uint32_t *notes);

#endif
