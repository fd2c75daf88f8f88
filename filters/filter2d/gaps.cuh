// SPDX-License-Identifier: MIT
//
// gaps.cuh - an image one pixel wide whose rows are apart, such as one channel out of three: the kernels for
// lines want it dense, so it is copied into scratch, and the result back. Without that it took 94 to 1137
// times the aligned time a byte. Internal to filters/.
#ifndef FC_FILTERS_FILTER2D_GAPS_CUH
#define FC_FILTERS_FILTER2D_GAPS_CUH

#include <cuda_runtime.h>

#include "core/contract/view.h"

// Whether either view is one pixel wide with gaps between its rows.
bool fc_has_gaps(const fc_view *in, const fc_view *out);

// The views as dense ones in scratch of fc_filter2d_edges_scratch bytes.
void fc_dense_views(const fc_view *in, const fc_view *out, void *scratch, fc_view *dense_in,
                    fc_view *dense_out);

// Copies elements between views of one shape and type that are one pixel wide.
fc_status fc_copy_column(const fc_view *to, const fc_view *from, cudaStream_t stream);

// Calls run(in, out), by dense copies if there are gaps and `scratch` is not NULL.
template <typename Run>
static inline fc_status fc_without_gaps(const fc_view *in, const fc_view *out, void *scratch,
                                        cudaStream_t stream, Run run) {
  if (!scratch || !fc_has_gaps(in, out)) return run(in, out);
  fc_view from, to;
  fc_dense_views(in, out, scratch, &from, &to);
  fc_status status = fc_copy_column(&from, in, stream);
  if (status == FC_OK) status = run(&from, &to);
  return status == FC_OK ? fc_copy_column(out, &to, stream) : status;
}

#endif
