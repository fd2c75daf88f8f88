// SPDX-License-Identifier: MIT
//
// kernels.cuh - the kernels for one mask of up to FC_CONV1D_BLOCK taps in f32, each in the file of its name,
// for the cases that choice.c gives them; they make the border too: `edges`, unless NULL, says that `in` is
// the whole signal. All give the same bits. FC_UNSUPPORTED, with nothing enqueued, if sizes exceed 32 bits.
#ifndef FC_FILTERS_CONV1D_KERNELS_CUH
#define FC_FILTERS_CONV1D_KERNELS_CUH

#include <cuda_runtime.h>

#include "core/contract/edges.h"
#include "filters/conv1d/conv1d.h"

fc_status fc_conv1d_columns(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                            cudaStream_t stream, uint32_t *notes);
fc_status fc_conv1d_quads(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          cudaStream_t stream);

// Calls f with a value of the element type, one of those that these kernels support.
template <typename Fn> static inline fc_status fc_conv1d_dispatch(int dtype, Fn f) {
  switch (dtype) {
  case FC_U8: return f(uint8_t{});
  case FC_I16: return f(int16_t{});
  case FC_U16: return f(uint16_t{});
  case FC_F32: return f(float{});
  default: return FC_UNSUPPORTED;
  }
}

#endif
