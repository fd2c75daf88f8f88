// SPDX-License-Identifier: MIT
//
// launch.cuh - the kernels that winstat.cu chooses from: what each takes, and how it is run.
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

// The pass's statistics of sums and of sums of squares, in windows of one row and up to SLIDE_MAX columns.
fc_status run_runs(const pass<float> &p, cudaStream_t stream);

// The pass's one statistic of integers of 8 and 16 bits, in windows of one row, `done` where rows are long
// and results are of the same type or f32. The same to the bit, whoever makes it.
fc_status run_slide_codes(const pass<double> &p, cudaStream_t stream, bool *done);

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

// Whether nothing is in the way of it. Extremes are the same to the bit whoever makes them.
bool extremes_take(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out);

// Makes statistic number `which` of those that are wanted, a minimum or maximum of what it takes, and the
// border too, unless `edges` is NULL.
fc_status run_extremes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                       int which, cudaStream_t stream);

// The same by a kernel for windows of moderate size, `done` if that can; `only_ask`: whether it could.
fc_status run_peak_cells(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                         int which, bool only_ask, cudaStream_t stream, bool *done);

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
