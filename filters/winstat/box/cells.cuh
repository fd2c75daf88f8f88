// SPDX-License-Identifier: MIT
//
// cells.cuh - lets kernels that march down strips, 16 rows per step, process several narrow images, or pieces
// of one, in a block of threads.
//
// A row of a block's shared memory is cut into planes of segments of 16 pixels: of a channel of a cell, which
// is a strip of an image from some row to another. A thread has a column of its cell, in the order of memory;
// a lane the windows that begin in one segment. A long row is treated as several consecutive rows.
#ifndef FC_FILTERS_WINSTAT_CELLS_CUH
#define FC_FILTERS_WINSTAT_CELLS_CUH

#include "filters/winstat/box/extremes.cuh"

namespace winstat {

struct cell_args {
  peak_args p;                 // runs: segments of a plane in which windows begin
  int32_t cells, plane;        // per block; segments per plane
  int32_t x0, y0;              // at most 0, start of the segments
  int64_t units;               // pieces of images
  int64_t follow, all;         // distance of rows in elements if they are contiguous, else 0; total
  int64_t pixel_in, pixel_out; // bytes from one to the next
  int32_t channel_in, channel_out;
};

// The position of a thread: element `element` of a row of the cell, which is `channel` of `pixel`, from the
// first sample that windows cover; x, y and `pixels` are of the cell's outputs, which are made in `blocks`
// steps.
struct cell_spot {
  int cell, element, channel, pixel;
  int x, y, pixels, blocks;
  int64_t in, out; // bytes, of the image
  bool live;
};

// `wide`: elements of a row of a cell.
__device__ __forceinline__ cell_spot cell_spot_of(const cell_args &c, int wide) {
  const peak_args &a = c.p;
  cell_spot s;
  const int first = static_cast<int>(threadIdx.x), strip = static_cast<int>(blockIdx.x % a.strips);
  s.cell = first / wide, s.element = first - s.cell * wide;
  s.pixel = s.element / a.step, s.channel = s.element - s.pixel * a.step;
  // Threads without a cell repeat the first.
  const int64_t unit =
      static_cast<int64_t>(blockIdx.x / a.strips) * c.cells + (s.cell < c.cells ? s.cell : 0);
  const int64_t image = unit / a.splits, frame = image / a.planes, plane = image - frame * a.planes;
  const int split = static_cast<int>(unit - image * a.splits) * a.blocks;
  const int most = a.runs * PEAK_ROWS, all = (a.rows - c.y0 + PEAK_ROWS - 1) / PEAK_ROWS - split;
  s.x = c.x0 + strip * most, s.y = c.y0 + split * PEAK_ROWS;
  s.pixels = a.columns - s.x < most ? a.columns - s.x : most;
  s.blocks = c.cells > 1 || all > a.blocks ? a.blocks : all;
  s.in = frame * a.frame_in + plane * a.plane_in, s.out = frame * a.frame_out + plane * a.plane_out;
  s.live = s.cell < c.cells && unit < c.units;
  return s;
}

// ---- on the host ----------------------------------------------------------------------

typedef fc_winstat_seen seen;

// Sets c->p, strips, runs and cells; x0 and y0 and strides. False if nothing fits.
bool cells_fit(cell_args *c, const seen &s, const fc_cell_shape &shape);

// peak_args_of an image seen so; the value beyond its ends is the border's.
peak_args seen_args_of(const seen &s, const fc_edges *edges, int which, int step);

// Steps of a piece: few enough that blocks end together, enough that little is computed twice. Returns the
// blocks of threads.
int64_t cells_split(cell_args *c, const seen &s, int64_t resident);

} // namespace winstat

#endif
