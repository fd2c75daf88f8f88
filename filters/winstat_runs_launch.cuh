// SPDX-License-Identifier: MIT
//
// winstat_runs_launch.cuh - sums of floats in windows along rows, on a CUDA device.
#ifndef FC_FILTERS_WINSTAT_RUNS_LAUNCH_CUH
#define FC_FILTERS_WINSTAT_RUNS_LAUNCH_CUH

#include "filters/winstat_samples.cuh"

namespace winstat {

// The pass's statistics of sums and of sums of squares, in windows of one row and up to SLIDE_MAX columns.
fc_status run_runs(const pass<float> &p, cudaStream_t stream);

} // namespace winstat

#endif
