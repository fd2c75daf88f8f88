// SPDX-License-Identifier: MIT
//
// tiles.cuh - the general method for 2-D filters on a CUDA device, for every layout, type and mask: a thread
// sums FC_TILE_ROWS outputs below each other, so that a row that it reads serves them all, directly from
// memory through the caches. Internal to filters/.
#ifndef FC_FILTERS_CONV2D_TILES_CUH
#define FC_FILTERS_CONV2D_TILES_CUH

#include "filters/gpu/cuda.cuh"

#define FC_TILE_ROWS    8
#define FC_TILE_THREADS 128

// Views, and the number of tiles of the output. A tile is `lanes` elements of a row by FC_TILE_THREADS /
// lanes groups of FC_TILE_ROWS rows: so no threads are idle if rows have fewer elements than a block has
// threads.
template <typename F> struct fc_tiles {
  fc_dev_view in, out; // in: from the first element of the first window on
  fc_dev_map<F> in_map, out_map;
  int64_t across, down, count;
  int lanes;       // a power of two, at most FC_TILE_THREADS
  bool by_channel; // neighbouring threads process neighbouring channels, otherwise pixels
  uint32_t *notes;
};

// The position of a thread's outputs. `rows` is 0 for a thread beyond the end of the row.
struct fc_tile_place {
  int64_t n, y, x, c;
  int rows;
};

template <typename F>
__device__ __forceinline__ fc_tile_place fc_tile_at(const fc_tiles<F> &t, int64_t tile) {
  const int64_t width = t.out.shape[FC_AXIS_X], channels = t.out.shape[FC_AXIS_C];
  const int lane = threadIdx.x & (t.lanes - 1), group = threadIdx.x / t.lanes,
            groups = FC_TILE_THREADS / t.lanes;
  const int64_t e = tile % t.across * t.lanes + lane;
  fc_tile_place p;
  p.y = (tile / t.across % t.down * groups + group) * FC_TILE_ROWS;
  p.n = tile / t.across / t.down;
  p.x = t.by_channel ? e / channels : e % width;
  p.c = t.by_channel ? e % channels : e / width;
  const int64_t left = t.out.shape[FC_AXIS_Y] - p.y;
  p.rows = e >= width * channels || left <= 0 ? 0
           : left < FC_TILE_ROWS              ? static_cast<int>(left)
                                              : FC_TILE_ROWS;
  return p;
}

// From a copy in local memory, in a loop: unrolled, the stores of all types were most of a kernel.
template <typename F>
__device__ __forceinline__ void fc_tile_store(const fc_tiles<F> &t, const fc_tile_place &p,
                                              const F (&sum)[FC_TILE_ROWS]) {
  F copy[FC_TILE_ROWS];
#pragma unroll
  for (int r = 0; r < FC_TILE_ROWS; r++) copy[r] = sum[r];
#pragma unroll 1
  for (int r = 0; r < p.rows; r++)
    fc_dev_store_any<F>(t.out.at(p.n, p.y + r, p.x, p.c), t.out.dtype, copy[r], t.out_map, t.notes);
}

__device__ __forceinline__ float fc_tile_fma(float a, float b, float c) {
  return fmaf(a, b, c);
}
__device__ __forceinline__ double fc_tile_fma(double a, double b, double c) {
  return fma(a, b, c);
}

// For a window of ny x nx taps; the output is not empty.
template <typename F>
static inline fc_tiles<F> fc_tiles_of(const fc_view *in, const fc_view *out, int64_t nx, int64_t ny,
                                      uint32_t *notes) {
  fc_tiles<F> t;
  t.in = fc_dev_view_of(in);
  t.out = fc_dev_view_of(out);
  t.in.data = static_cast<char *>(fc_view_at(in, 0, -(ny / 2), -(nx / 2), 0));
  t.in_map = fc_dev_map_of<F>(in->kind, in->dtype);
  t.out_map = fc_dev_map_of<F>(out->kind, out->dtype);
  const int64_t elements = out->shape[FC_AXIS_X] * out->shape[FC_AXIS_C];
  t.lanes = 1;
  while (t.lanes < FC_TILE_THREADS && t.lanes < elements) t.lanes *= 2;
  const int64_t rows = FC_TILE_ROWS * (FC_TILE_THREADS / t.lanes); // of a tile
  t.across = (elements + t.lanes - 1) / t.lanes;
  t.down = (out->shape[FC_AXIS_Y] + rows - 1) / rows;
  t.count = t.across * t.down * out->shape[FC_AXIS_N];
  const int64_t by_c = out->stride[FC_AXIS_C], by_x = out->stride[FC_AXIS_X];
  t.by_channel = (by_c < 0 ? -by_c : by_c) < (by_x < 0 ? -by_x : by_x);
  t.notes = notes;
  return t;
}

#endif
