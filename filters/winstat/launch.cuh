// SPDX-License-Identifier: MIT
//
// launch.cuh - the kernels from which winstat.cu chooses: what each supports, and how it is run.
#ifndef FC_FILTERS_WINSTAT_LAUNCH_CUH
#define FC_FILTERS_WINSTAT_LAUNCH_CUH

#include <cuda_runtime.h>

#include "filters/winstat/samples.cuh"
#include "filters/winstat/winstat.h"

namespace winstat {

// The largest magnitude of a sample of 8 or 16 bits.
static inline int64_t magnitude_of(int dtype) {
  return dtype == FC_U8 ? 255 : dtype == FC_I16 ? 32768 : 65535;
}

// The statistics (bits of fc_winstat_stat) of such windows and samples that it supports: depends only on the
// device, the window, its precision and the element type.
unsigned strips_take(const fc_winstat *w, const fc_view *in);

// Computes the wanted ones of `mask`, all of which it must support.
fc_status run_strips(const fc_winstat *w, const fc_view *in, const fc_view *out, unsigned mask,
                     uint32_t *notes, cudaStream_t stream);

// The same, to the bit, if a faster kernel is possible: `done` says whether. It also makes the border, unless
// `edges` is NULL. Also for a sum or mean of windows of a row.
fc_status run_boxes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                    unsigned mask, uint32_t *notes, cudaStream_t stream, bool *done);

// run_boxes for pixels of floats, and for bytes; `which` is the statistic.
fc_status run_box_pixels(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                         int which, cudaStream_t stream, bool *done);

// run_boxes for other layouts, and narrow images; `which` is the statistic.
fc_status run_cells(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                    int which, uint32_t *notes, cudaStream_t stream, bool *done);

// run_boxes for means of bytes, in windows of up to 33 columns and 256 rows; only interleaved or planar
// channels.
fc_status run_box_bytes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                        cudaStream_t stream, bool *done);

// Means of bytes in windows of a row; `edges` and `done` as in run_boxes.
fc_status run_line_bytes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                         cudaStream_t stream, bool *done);

// The pass's statistics of sums and of sums of squares, in windows of one row and up to SLIDE_MAX columns.
fc_status run_runs(const pass<float> &p, cudaStream_t stream);

// The same in windows of several rows for images with one row, if nothing else is beyond it: `done` says
// whether.
fc_status run_one_row(pass<float> p, cudaStream_t stream, bool *done);

// Computes the results of run_runs, to the bit, for `lines` rows with windows long enough for a separate
// kernel: `done` says whether. All positions in `line` are for row 0 and its column 0.
struct line_args;
fc_status run_ring(const line_args &line, int64_t lines, bool sums, bool squares, cudaStream_t stream,
                   bool *done);

// The same, to the bit, for short rows, and for interleaved channels or statistics: sum and square are those
// of the pass, -1 for none, and `line` as for line_march.
fc_status run_short(const pass<float> &p, const line_args &line, int sum, int square, cudaStream_t stream,
                    bool *done);

// Whether it is possible. Extremes have the same bits with any kernel.
bool extremes_take(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out);

// Computes statistic number `which` of the wanted ones, a supported minimum or maximum; also makes the
// border, unless `edges` is NULL.
fc_status run_extremes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                       int which, cudaStream_t stream);

// The same by a kernel for windows of moderate size, `done` if possible; `only_ask`: only returns whether it
// is.
fc_status run_peak_cells(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                         int which, bool only_ask, cudaStream_t stream, bool *done);

// Whether it supports the variances of such windows and samples: depends only on the device, the window, its
// precision and the element type.
bool spread_takes(const fc_winstat *w, const fc_view *in);

// Computes statistic number `which` of the wanted ones, one that it supports; also makes the border, unless
// `edges` is NULL.
fc_status run_spread(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                     int which, uint32_t *notes, cudaStream_t stream);

// The same for bytes, and root mean squares, if possible: those of these that are wanted and supported. The
// bits are the same with any kernel.
unsigned spread_bytes_take(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out);
fc_status run_spread_bytes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                           int which, uint32_t *notes, cudaStream_t stream);

// run_spread_bytes for windows of moderate size whose results are bytes, `done` if possible; `only_ask`: only
// returns whether it is.
fc_status run_box_squares(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          int which, bool only_ask, uint32_t *notes, cudaStream_t stream, bool *done);

} // namespace winstat

#endif
