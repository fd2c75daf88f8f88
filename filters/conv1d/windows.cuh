// SPDX-License-Identifier: MIT
//
// windows.cuh - code shared by the kernels for short masks that convert samples (tiles.cu, pixels.cu):
// windows in shared memory over which a lane slides, a quad at a time, and the position of a warp's row.
#ifndef FC_FILTERS_CONV1D_WINDOWS_CUH
#define FC_FILTERS_CONV1D_WINDOWS_CUH

#include "filters/gpu/border.cuh"
#include "filters/conv1d/conv1d.h"
#include "filters/gpu/sample_words.cuh"

#define FC_WINDOW_EACH    8 // neighbouring outputs of a lane
#define FC_WINDOW_STRETCH (32 * FC_WINDOW_EACH)
#define FC_WINDOW_TAPS    FC_CONV1D_BLOCK
#define FC_WINDOW_WARPS   4 // of a block

// Taps by the position in two quads at which they are applied to the window's first element, for each
// possible shift: 4 for one channel, 2 for two.
template <int STEP> constexpr int FC_WINDOW_QUADS = 2 * ((3 + STEP * (FC_WINDOW_TAPS - 1) + 1 + 7) / 8);
template <int STEP> struct fc_window_taps { float4 quad[4 / STEP * FC_WINDOW_QUADS<STEP>]; };

// Quads of a shift in the list.
static inline int fc_window_quads(int64_t taps, int64_t step) {
  return 2 * static_cast<int>((3 + step * (taps - 1) + 1 + 7) / 8);
}

template <int STEP> static inline void fc_window_list(fc_window_taps<STEP> *list, const fc_conv1d *c) {
  const int quads = fc_window_quads(c->taps, STEP);
  for (int shift = 0; shift < 4; shift += STEP)
    for (int j = 0; j < c->taps; j++) {
      const int place = shift + j * STEP;
      float4 *quad = &list->quad[shift / STEP * quads + place / 4];
      (&quad->x)[place % 4] = static_cast<const float *>(c->mask)[j];
    }
}

// ---- tiles in shared memory ------------------------------------------------

// Even and odd quads are separate, so that lanes two quads apart read neighbouring ones.
__device__ __forceinline__ int fc_window_place(int quad, int half) {
  return quad / 2 + quad % 2 * half;
}

// Quads of half a tile of `elements`. Halves begin four quads apart in the banks, for what is stored to both
// at once.
static inline int fc_window_half(int64_t elements) {
  return static_cast<int>(((elements + 3) / 4 / 2 + 3 + 7) / 8 * 8 + 4);
}

// ---- sums ------------------------------------------------------------------

// Adds tap `w`, which applies to element t of the first two quads of the window.
template <int K>
__device__ __forceinline__ void fc_window_add_tap(float (&sum)[K][FC_WINDOW_EACH], const float4 (&v)[4][K],
                                                  float w, int t) {
#pragma unroll
  for (int k = 0; k < K; k++) {
    const float x[16] = {v[0][k].x, v[0][k].y, v[0][k].z, v[0][k].w, v[1][k].x, v[1][k].y,
                         v[1][k].z, v[1][k].w, v[2][k].x, v[2][k].y, v[2][k].z, v[2][k].w,
                         v[3][k].x, v[3][k].y, v[3][k].z, v[3][k].w};
#pragma unroll
    for (int r = 0; r < FC_WINDOW_EACH; r++) sum[k][r] = fmaf(x[r + t], w, sum[k][r]);
  }
}

// The same for eight taps from `begin` up to `end`.
template <int STEP, int K>
__device__ __forceinline__ void fc_window_add_taps(float (&sum)[K][FC_WINDOW_EACH], const float4 (&v)[4][K],
                                                   const float4 *taps, int begin, int end) {
  const float4 w[2] = {taps[0], taps[1]};
#pragma unroll
  for (int t = 0; t < 8; t += STEP) {
    const float4 q = w[t / 4];
    if (t >= begin && t < end)
      fc_window_add_tap(sum, v, t % 4 == 0 ? q.x : t % 4 == 1 ? q.y : t % 4 == 2 ? q.z : q.w, t);
  }
}

template <int K> __device__ __forceinline__ void fc_window_move_on(float4 (&v)[4][K]) {
#pragma unroll
  for (int k = 0; k < K; k++) v[0][k] = v[2][k], v[1][k] = v[3][k];
}

// Quads 2 g and 2 g + 1 of the windows, counted from the lane's first.
template <int K>
__device__ __forceinline__ void fc_window_fetch(float4 (&v)[4][K], int to, const float4 *even,
                                                const float4 *odd, int apart, int g) {
#pragma unroll
  for (int k = 0; k < K; k++) v[to][k] = even[k * apart + g], v[to + 1][k] = odd[k * apart + g];
}

// The sums of a lane in K runs, whose starts are `apart` quads of a half from each other; windows begin
// `shift` elements early.
template <int STEP, int K>
__device__ __forceinline__ void fc_window_sums(float (&sum)[K][FC_WINDOW_EACH], const float4 *even,
                                               const float4 *odd, int apart, int taps, int shift,
                                               const float4 *list) {
  float4 v[4][K];
#pragma unroll
  for (int k = 0; k < K; k++)
#pragma unroll
    for (int r = 0; r < FC_WINDOW_EACH; r++) sum[k][r] = 0.f;
  const int end = shift + STEP * (taps - 1) + 1, whole = end / 8;
  fc_window_fetch(v, 0, even, odd, apart, 0), fc_window_fetch(v, 2, even, odd, apart, 1);
  fc_window_add_taps<STEP>(sum, v, list, shift, end);
  fc_window_move_on(v);
  int g = 1;
#pragma unroll 2
  for (; g < whole; g++) {
    fc_window_fetch(v, 2, even, odd, apart, g + 1);
    fc_window_add_taps<STEP>(sum, v, list + 2 * g, 0, 8);
    fc_window_move_on(v);
  }
  if (8 * g >= end) return;
  fc_window_fetch(v, 2, even, odd, apart, g + 1);
  fc_window_add_taps<STEP>(sum, v, list + 2 * g, 0, end - 8 * g);
}

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

// Whether pixels of three or four channels are adjacent, and begin at addresses where words may be aligned.
static inline bool fc_window_pixels(const fc_view *v, int64_t channels) {
  const int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype));
  int64_t bits = static_cast<int64_t>(reinterpret_cast<uintptr_t>(v->data));
  for (int axis = FC_AXIS_N; axis <= FC_AXIS_Y; axis++)
    if (v->shape[axis] > 1) bits |= v->stride[axis];
  return v->stride[FC_AXIS_C] == size && v->stride[FC_AXIS_X] == channels * size &&
         bits % (channels == 3 ? size : 4 * size) == 0;
}

// Calls f with a value of the element type, for the types that these kernels support: one is f32 or both are
// the same.
template <typename Fn> static inline fc_status fc_window_dispatch(int dtype, Fn f) {
  switch (dtype) {
  case FC_U8: return f(uint8_t{});
  case FC_I16: return f(int16_t{});
  case FC_U16: return f(uint16_t{});
  case FC_F32: return f(float{});
  default: return FC_UNSUPPORTED;
  }
}
template <typename Fn> static inline fc_status fc_window_dispatch(int in, int out, Fn f) {
  return fc_window_dispatch(in, [&](auto zero) {
    using T = decltype(zero);
    if (out == in) return f(T{}, T{});
    if (out == FC_F32) return f(T{}, float{});
    if constexpr (std::is_same<T, float>::value)
      return fc_window_dispatch(out, [&](auto other) { return f(float{}, other); });
    else
      return FC_UNSUPPORTED;
  });
}

#endif
