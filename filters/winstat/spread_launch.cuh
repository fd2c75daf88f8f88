// SPDX-License-Identifier: MIT
//
// spread_launch.cuh - variances of floats that one kernel on a CUDA device makes along both axes.
#ifndef FC_FILTERS_WINSTAT_SPREAD_LAUNCH_CUH
#define FC_FILTERS_WINSTAT_SPREAD_LAUNCH_CUH

#include <cuda_runtime.h>

#include "filters/winstat/winstat.h"

namespace winstat {

// Whether it makes the variances of such windows and samples: a function of the device, the window, its
// precision and the element type alone.
bool spread_takes(const fc_winstat *w, const fc_view *in);

// Makes statistic number `which` of those that are wanted, one that it takes, and the border too, unless
// `edges` is NULL.
fc_status run_spread(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                     int which, uint32_t *notes, cudaStream_t stream);

// The same of bytes, and root mean squares, where nothing is in the way of it: which of these are wanted and
// taken. They are the same to the bit whoever makes them.
unsigned spread_bytes_take(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out);
fc_status run_spread_bytes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                           int which, uint32_t *notes, cudaStream_t stream);

// run_spread_bytes for windows of moderate size whose results are bytes, `done` if that can; `only_ask`:
// whether it could.
fc_status run_box_squares(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          int which, bool only_ask, uint32_t *notes, cudaStream_t stream, bool *done);

} // namespace winstat

#endif
