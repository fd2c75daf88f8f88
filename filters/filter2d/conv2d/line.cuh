// SPDX-License-Identifier: MIT
//
// line.cuh - images of one row on a CUDA device, and those one pixel wide without gaps, which have the same
// memory layout. Every row of a window is mapped to the single row, or is the constant: a block loads
// FC_LINE_GROUPS groups of columns into shared memory, and only horizontal sums with compile-time taps
// remain. Internal to filters/.
//
// The order of sums is that of the marching kernels, and so are the bits.
//
// Of many taps the source of these matters. With taps in ordinary registers a multiply-add fetches three
// operands and waits for the banks of the register file; with taps in uniform registers it fetches two. These
// are few, so the taps of a row are loaded from constant memory ahead of it, and the compiler is kept from
// gathering all.
#ifndef FC_FILTERS_CONV2D_LINE_CUH
#define FC_FILTERS_CONV2D_LINE_CUH

#include "filters/filter2d/band.cuh"

#define FC_LINE_GROUPS 4

// Starts to copy a block's part of the row, by 16 bytes if it is aligned to that and far enough from the
// ends.
__device__ __forceinline__ void fc_line_fetch(const fc_band &b, const fc_band_way &way, float *row) {
  const int n = way.width + b.margin;
  const char *first = way.in + b.edges.up * b.in_row;
  const bool inner = way.lo <= 0 && way.hi >= (n + 3) / 4 * 4;
  if (inner && reinterpret_cast<uintptr_t>(first) % 16 == 0) {
#pragma unroll 5
    for (int i = 4 * threadIdx.x; i < n; i += 4 * FC_BAND_THREADS) fc_copy_words(row + i, first + 4 * i);
  } else if (inner) {
#pragma unroll 8
    for (int i = threadIdx.x; i < n; i += FC_BAND_THREADS) fc_copy_word(row + i, first + 4 * i);
  } else {
    for (int i = threadIdx.x; i < n; i += FC_BAND_THREADS) {
      const int from = i >= way.lo && i < way.hi ? i : fc_band_element(b.edges, way.x, i);
      if (from == FC_BAND_CONSTANT)
        row[i] = __uint_as_float(b.edges.code);
      else
        fc_copy_word(row + i, first + 4 * static_cast<int64_t>(from));
    }
  }
  fc_commit_copies();
}

// A thread's 4 sums of group g of columns.
__device__ __forceinline__ void fc_line_store(const fc_band &b, const fc_band_way &way, int g, float4 v) {
  const int i = g * FC_BAND_WIDTH + 4 * threadIdx.x;
  float *to = reinterpret_cast<float *>(way.out) + i;
  if (b.wide && i + 4 <= way.width) {
    *reinterpret_cast<float4 *>(to) = v;
    return;
  }
  if (i < way.width) to[0] = v.x;
  if (i + 1 < way.width) to[1] = v.y;
  if (i + 2 < way.width) to[2] = v.z;
  if (i + 3 < way.width) to[3] = v.w;
}

// ---- launching -------------------------------------------------------------

static inline bool fc_line_constant(const fc_march &m) {
  return m.edges.border == FC_BORDER_ZERO || m.edges.border == FC_BORDER_CONSTANT;
}

// An image of one row as it is, and one of one dense column as the row that it is in memory, for a window of
// ny x nx.
static inline fc_march fc_line_of(const fc_march &m, int64_t nx, int64_t ny) {
  fc_march line = m;
  if (m.height == 1) return line;
  line.up = static_cast<int32_t>(nx / 2), line.left = static_cast<int32_t>(ny / 2 * m.step);
  line.in = m.in + m.up * m.in_row + (m.left - line.left) * m.in_size;
  line.margin = static_cast<int32_t>((ny - 1) * m.step);
  line.columns = m.height * m.step, line.height = 1, line.in_row = 0; // it has no other rows
  const int64_t steps = (m.images > 1 ? m.out_image : 0) | (m.planes > 1 ? m.out_plane : 0);
  line.quads = (steps | static_cast<int64_t>(reinterpret_cast<uintptr_t>(m.out))) % (4 * m.out_size) == 0;
  return line;
}

#endif
