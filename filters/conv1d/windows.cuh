// SPDX-License-Identifier: MIT
//
// windows.cuh - code shared by the kernels for short masks: the ends of rows, the position of a warp's row,
// and types.
#ifndef FC_FILTERS_CONV1D_WINDOWS_CUH
#define FC_FILTERS_CONV1D_WINDOWS_CUH

#include "filters/gpu/border.cuh"
#include "filters/conv1d/conv1d.h"
#include "filters/gpu/sample_words.cuh"

#define FC_WINDOW_EACH  8 // neighbouring outputs of a lane
#define FC_WINDOW_TAPS  FC_CONV1D_BLOCK
#define FC_WINDOW_WARPS 4 // of a block

// ---- ends ------------------------------------------------------------------

// The readable part of a row of input, and the part that windows read, in elements (or frames) relative to
// output 0.
struct fc_window_ends {
  int begin, end;
  int first, past;
  fc_dev_border border;
};

__device__ __forceinline__ bool fc_window_inside(const fc_window_ends &ends, int e, int count) {
  return e >= ends.begin && e + count <= ends.end;
}

// The sample at e, or the border's value; STEP: elements between the frames that e counts, EACH: between
// those that it counts.
template <typename T, int STEP, int EACH>
__device__ __forceinline__ float fc_window_element(const fc_window_ends &ends, const T *row, int e,
                                                   int channel, fc_dev_map<float> map) {
  // Tiles hold more than windows read.
  if (e < ends.first || e >= ends.past) e = ends.begin;
  if (e < ends.begin || e >= ends.end) e = fc_dev_border_element<STEP>(ends.border, e);
  if (e == FC_BORDER_ELEMENT_NONE) return fc_dev_load<float, T>(&ends.border.code, map);
  return fc_dev_value<float, T>(row[static_cast<int64_t>(e) * EACH + channel], map);
}

// False if 32 bits are not enough, or the border cannot be made.
static inline bool fc_window_ends_of(fc_window_ends *a, const fc_conv1d *c, const fc_view *in,
                                     const fc_edges *edges, const fc_view *out, int64_t step) {
  constexpr int64_t most = INT32_MAX / 2;
  const int64_t outputs = out->shape[FC_AXIS_X], frames = in->shape[FC_AXIS_X];
  const int64_t around = c->before < 0 ? -c->before : c->before;
  if (outputs > most / step || frames > most / step || around > most / step ||
      !fc_dev_border_of(&a->border, edges, in, c->before, c->taps, outputs))
    return false;
  a->first = static_cast<int>(-c->before * step);
  a->past = static_cast<int>((outputs + c->taps - 1 - c->before) * step);
  a->begin = edges ? 0 : a->first, a->end = edges ? static_cast<int>(frames * step) : a->past;
  return true;
}

// ---- rows ------------------------------------------------------------------

// Warps, each of which processes some tiles of a row.
struct fc_window_rows {
  int turns; // consecutive tiles of a warp
  int units; // total number of warps
  int units_a_row, rows, planes;
  fc_dev_divider by_row, by_image, by_plane;
};

struct fc_window_row {
  int unit, y, n, plane; // unit: of the row
};

__device__ __forceinline__ fc_window_row fc_window_row_of(const fc_window_rows &a, int unit) {
  fc_window_row p = {unit, 0, 0, 0};
  if (a.units_a_row == a.units) return p;
  const int row = a.by_row.quotient(unit), image = a.by_image.quotient(row);
  p.unit = unit - row * a.units_a_row, p.y = row - image * a.rows;
  p.n = a.by_plane.quotient(image), p.plane = image - p.n * a.planes;
  return p;
}

// False if 32 bits are not enough. `along`: outputs of a row, of which a tile has `tile`; several tiles per
// warp if there are enough warps for the device.
static inline bool fc_window_rows_of(fc_window_rows *a, const fc_view *out, int64_t along, int64_t tile,
                                     int64_t planes, int64_t most_turns = 8) {
  constexpr int64_t most = INT32_MAX - FC_WINDOW_WARPS, enough = 8192;
  const int64_t rows = out->shape[FC_AXIS_Y], images = out->shape[FC_AXIS_N];
  const int64_t tiles = (along + FC_WINDOW_EACH - 1 + tile - 1) / tile;
  const int64_t turns = fc_view_count(out) / tile / enough;
  a->turns = static_cast<int>(turns < 1 ? 1 : turns < most_turns ? turns : most_turns);
  const int64_t units = (tiles + a->turns - 1) / a->turns;
  if (rows > most / units || planes > most / units / rows || images > most / units / rows / planes)
    return false;
  a->units = static_cast<int>(units * rows * planes * images), a->units_a_row = static_cast<int>(units);
  a->rows = static_cast<int>(rows), a->planes = static_cast<int>(planes);
  a->by_row = fc_dev_divider_of(units), a->by_image = fc_dev_divider_of(rows);
  a->by_plane = fc_dev_divider_of(planes);
  return true;
}

// Calls f with a value of the element type, one of those that these kernels support.
template <typename Fn> static inline fc_status fc_window_dispatch(int dtype, Fn f) {
  switch (dtype) {
  case FC_U8: return f(uint8_t{});
  case FC_I16: return f(int16_t{});
  case FC_U16: return f(uint16_t{});
  case FC_F32: return f(float{});
  default: return FC_UNSUPPORTED;
  }
}

#endif
