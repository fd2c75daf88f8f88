// SPDX-License-Identifier: MIT
//
// extremes_launch.cuh - extremes of windows that one kernel on a CUDA device makes along both axes.
#ifndef FC_FILTERS_WINSTAT_EXTREMES_LAUNCH_CUH
#define FC_FILTERS_WINSTAT_EXTREMES_LAUNCH_CUH

#include <cuda_runtime.h>

#include "filters/winstat/winstat.h"

namespace winstat {

// Whether nothing is in the way of it. Extremes are the same to the bit whoever makes them.
bool extremes_take(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out);

// Makes statistic number `which` of those that are wanted, a minimum or maximum of what it takes, and the
// border too, unless `edges` is NULL.
fc_status run_extremes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                       int which, cudaStream_t stream);

// The same by a kernel for windows of moderate size, `done` if that can; `only_ask`: whether it could.
fc_status run_peak_cells(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                         int which, bool only_ask, cudaStream_t stream, bool *done);

} // namespace winstat

#endif
