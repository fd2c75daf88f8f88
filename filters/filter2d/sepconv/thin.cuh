// SPDX-License-Identifier: MIT
//
// thin.cuh - images of few rows on a CUDA device, whose border the kernel makes. Most rows of a window are
// then repetitions of others, or the constant: marching down would copy and sum each as many times as the
// mask is long. Here a block processes some groups of FC_BAND_WIDTH columns, 4 per thread, loads the existing
// rows into shared memory once, and looks up the source of each row of a window. Internal to filters/.
//
// The order of sums is that of the marching kernels, so the bits are.
#ifndef FC_FILTERS_SEPCONV_THIN_CUH
#define FC_FILTERS_SEPCONV_THIN_CUH

#include "filters/filter2d/conv2d/line.cuh"

// The image row for row j of windows: `height` for the constant.
__device__ __forceinline__ int fc_thin_source(const fc_band &b, int j) {
  const int source = fc_dev_border_source(b.edges.border, j - b.edges.up, b.edges.height);
  return source < 0 ? b.edges.height : source;
}

// Looks up the image row of all rows of windows, from the first window's first on. Called by all threads,
// `sources` being shared.
__device__ __forceinline__ void fc_thin_look_up(const fc_band &b, int *sources) {
  for (int j = threadIdx.x; j < b.edges.height + b.rows_down - 1; j += FC_BAND_THREADS)
    sources[j] = fc_thin_source(b, j);
}

// Whether the constant is one of them.
__device__ __forceinline__ bool fc_thin_constant(const fc_band &b) {
  return b.edges.border == FC_BORDER_ZERO || b.edges.border == FC_BORDER_CONSTANT;
}

// Shared memory for the rows and the constant's row; a multiple of 4.
__host__ __device__ static inline int fc_thin_floats(const fc_band &b) {
  return b.edges.height * b.pitch + (FC_BAND_WIDTH + b.margin + 3) / 4 * 4 + 4 * b.edges.step;
}

// Copies `count` taps into shared memory, which is faster than constant memory for run-time indices: 4 at a
// time.
__device__ __forceinline__ void fc_thin_share(const float *taps, int count, float *shared) {
  for (int i = threadIdx.x; i < count; i += FC_BAND_THREADS) shared[i] = taps[i];
}

// Calls add(j, tap) for `count` taps in order; they are in shared memory, aligned to 16 bytes and there up to
// a multiple of 4.
template <typename Add> __device__ __forceinline__ void fc_thin_each(const float *taps, int count, Add add) {
#pragma unroll 2
  for (int j = 0; j < count; j += 4) {
    const float4 tap = *reinterpret_cast<const float4 *>(taps + j);
    add(j, tap.x);
    if (j + 1 < count) add(j + 1, tap.y);
    if (j + 2 < count) add(j + 2, tap.z);
    if (j + 3 < count) add(j + 3, tap.w);
  }
}

// Starts to copy the rows, and stores a row of the constant after them, long enough for one group.
__device__ __forceinline__ void fc_thin_fetch(const fc_band &b, const fc_band_way &way, float *rows) {
  const int n = way.width + b.margin, height = b.edges.height;
  const char *first = way.in + b.edges.up * b.in_row;
#pragma unroll 4
  for (int j = threadIdx.x; j < n; j += FC_BAND_THREADS) {
    const int from = j >= way.lo && j < way.hi ? j : fc_band_element(b.edges, way.x, j);
    const char *at = first + 4 * static_cast<int64_t>(from);
    for (int r = 0; r < height; r++, at += b.in_row)
      if (from == FC_BAND_CONSTANT)
        rows[r * b.pitch + j] = __uint_as_float(b.edges.code);
      else
        fc_copy_word(rows + r * b.pitch + j, at);
  }
  fc_commit_copies();
  if (!fc_thin_constant(b)) return;
  for (int j = threadIdx.x; j < FC_BAND_WIDTH + b.margin; j += FC_BAND_THREADS)
    rows[height * b.pitch + j] = __uint_as_float(b.edges.code);
}

// A thread's 4 sums of row y, of group g of columns.
__device__ __forceinline__ void fc_thin_store(const fc_band &b, fc_band_way way, int y, int g, float4 v) {
  way.out += y * b.out_row;
  fc_line_store(b, way, g, v);
}

// ---- launching -------------------------------------------------------------

// Groups of columns per block: as many as there is room for, to share the cost of starting.
template <bool ONE> constexpr int fc_thin_groups = ONE ? 8 : 1;

static inline fc_band fc_thin_of(const fc_march &m, int groups, int64_t ny) {
  fc_band b = fc_band_of(m, groups, 0);
  b.rows_down = static_cast<int32_t>(ny);
  b.pitch = (groups * FC_BAND_WIDTH + b.margin + 3) / 4 * 4 + 4 * b.edges.step;
  return b;
}

#endif
