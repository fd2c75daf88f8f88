// SPDX-License-Identifier: MIT
//
// gaps.cuh - an image one pixel wide whose rows are apart, such as one channel out of three: kernels for
// lines want it dense, so it is copied into scratch, and the result back. Without that the filters of two
// axes took 94 to 1137 times the aligned time a byte, since bands keep one thread of a block busy.
//
// Of three f32 channels, or u8, a copy there and back moves 3.8 times the bytes of one channel that is read
// and written as it lies: all of 32 bytes are read where some are, and read before some are written.
#ifndef FC_FILTERS_GPU_GAPS_CUH
#define FC_FILTERS_GPU_GAPS_CUH

#include <cuda_runtime.h>

#include "filters/gpu/gaps.h"

// Whether both views are one pixel wide, and either has gaps between its rows.
bool fc_has_gaps(const fc_view *in, const fc_view *out);

// The views as dense ones in scratch of fc_gaps_scratch bytes.
void fc_dense_views(const fc_view *in, const fc_view *out, void *scratch, fc_view *dense_in,
                    fc_view *dense_out);

// Copies elements between views of one shape and type that are one pixel wide.
fc_status fc_copy_column(const fc_view *to, const fc_view *from, cudaStream_t stream);

// Calls run(in, out), by dense copies if there are gaps, `scratch` is not NULL and takes(from, to), which
// says of the copies whether some kernel takes them: what no kernel takes is not copied first.
template <typename Takes, typename Run>
static inline fc_status fc_without_gaps(const fc_view *in, const fc_view *out, void *scratch,
                                        cudaStream_t stream, Takes takes, Run run) {
  if (!scratch || !fc_has_gaps(in, out)) return run(in, out);
  fc_view from, to;
  fc_dense_views(in, out, scratch, &from, &to);
  if (!takes(&from, &to)) return run(in, out);
  fc_status status = fc_copy_column(&from, in, stream);
  if (status == FC_OK) status = run(&from, &to);
  if (status == FC_UNSUPPORTED) return run(in, out);
  return status == FC_OK ? fc_copy_column(out, &to, stream) : status;
}

#endif
