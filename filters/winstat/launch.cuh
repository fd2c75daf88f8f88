// SPDX-License-Identifier: MIT
//
// launch.cuh - the kernels from which choice.c chooses. Each launches what it is asked for, which it must
// take.
#ifndef FC_FILTERS_WINSTAT_LAUNCH_CUH
#define FC_FILTERS_WINSTAT_LAUNCH_CUH

#include <cuda_runtime.h>

#include "filters/winstat/choice.h"
#include "filters/winstat/samples.cuh"

namespace winstat {

// Arguments of fc_winstat_cuda; `edges` is NULL if the caller has filled in the border, or windows shrink.
struct call {
  const fc_winstat *w;
  const fc_view *in;
  const fc_edges *edges;
  const fc_view *out;
  void *scratch;
  uint32_t *notes;
  cudaStream_t stream;
  bool turned; // of an image of a single column, with x and y exchanged
};

// Statistic number `which` of those wanted.
fc_status run_spread_bytes(const call &c, int which);
fc_status run_spread(const call &c, int which);
fc_status run_peak(const call &c, int which);

// The pass's statistics of sums and of sums of squares in boxes, by sums.cu.
fc_status run_sums(const pass<float> &p, cudaStream_t stream);

// Those in `mask`, bits of fc_winstat_stat, by strips.cu.
fc_status run_strips(const call &c, unsigned mask);

// The pass's statistics of sums and of sums of squares along rows, of the kernels between
// FC_WINSTAT_BY_SINGLE and FC_WINSTAT_BY_RUNS. All have the same bits.
fc_status run_runs(const pass<float> &p, fc_winstat_kernel kernel, cudaStream_t stream);

// The parts of run_runs. All positions in `line` are for row 0 and its column 0; `sum` and `square` are
// indices of statistics of the pass, -1 for none.
struct line_args;
fc_status run_ring(const line_args &line, int64_t lines, bool sums, bool squares, cudaStream_t stream);
fc_status run_short(const pass<float> &p, const line_args &line, fc_winstat_kernel kernel, int sum,
                    int square, cudaStream_t stream);

} // namespace winstat

#endif
