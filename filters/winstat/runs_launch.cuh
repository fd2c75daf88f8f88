// SPDX-License-Identifier: MIT
//
// runs_launch.cuh - sums of floats in windows along rows, on a CUDA device.
#ifndef FC_FILTERS_WINSTAT_RUNS_LAUNCH_CUH
#define FC_FILTERS_WINSTAT_RUNS_LAUNCH_CUH

#include "filters/winstat/samples.cuh"

namespace winstat {

// The pass's statistics of sums and of sums of squares, in windows of one row and up to SLIDE_MAX columns.
fc_status run_runs(const pass<float> &p, cudaStream_t stream);

// The same in windows of several rows of images of one, where nothing else lies beyond it: `done` says
// whether.
fc_status run_one_row(pass<float> p, cudaStream_t stream, bool *done);

// What run_runs makes, to the bit, of `lines` rows in windows that are long enough for a kernel of their own:
// `done` says whether. In `line` all is of row 0 and its column 0.
struct line_args;
fc_status run_ring(const line_args &line, int64_t lines, bool sums, bool squares, cudaStream_t stream,
                   bool *done);

// The same, to the bit, of rows that are short, and of channels or statistics that lie side by side: sum and
// square are those of the pass, -1 for none, and `line` is as line_march has it.
fc_status run_short(const pass<float> &p, const line_args &line, int sum, int square, cudaStream_t stream,
                    bool *done);

} // namespace winstat

#endif
