// SPDX-License-Identifier: MIT
//
// strips_launch.cuh - windows that one kernel on a CUDA device makes along both axes.
#ifndef FC_FILTERS_WINSTAT_STRIPS_LAUNCH_CUH
#define FC_FILTERS_WINSTAT_STRIPS_LAUNCH_CUH

#include <cuda_runtime.h>

#include "filters/winstat/winstat.h"

namespace winstat {

// The largest magnitude of a sample of 8 or 16 bits.
static inline int64_t magnitude_of(int dtype) {
  return dtype == FC_U8 ? 255 : dtype == FC_I16 ? 32768 : 65535;
}

// Which statistics (bits of fc_winstat_stat) of such windows and samples it makes: a function of the device,
// the window, its precision and the element type alone.
unsigned strips_take(const fc_winstat *w, const fc_view *in);

// Makes those of `mask`, all of which it takes, that are wanted.
fc_status run_strips(const fc_winstat *w, const fc_view *in, const fc_view *out, unsigned mask,
                     uint32_t *notes, cudaStream_t stream);

// The same, to the bit, where nothing is in the way of a faster kernel: `done` says whether. It makes the
// border too, unless `edges` is NULL. It may be asked for a sum or mean of windows of a row, too.
fc_status run_boxes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                    unsigned mask, uint32_t *notes, cudaStream_t stream, bool *done);

// run_boxes for pixels of floats, and for bytes; `which` is the statistic.
fc_status run_box_pixels(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                         int which, cudaStream_t stream, bool *done);

// run_boxes for what does not lie plainly, and narrow images; `which` is the statistic.
fc_status run_cells(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                    int which, uint32_t *notes, cudaStream_t stream, bool *done);

// run_boxes for means of bytes, in windows of up to 33 columns and 256 rows; channels that lie neither side
// by side nor in planes are left to others.
fc_status run_box_bytes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                        cudaStream_t stream, bool *done);

// Means of bytes in windows of a row; `edges` and `done` as in run_boxes.
fc_status run_line_bytes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                         cudaStream_t stream, bool *done);

} // namespace winstat

#endif
