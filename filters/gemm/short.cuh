// SPDX-License-Identifier: MIT
//
// short.cuh - sums of at most 16 products, in f64 8, many of them on both sides.
//
// The limit is the memory's speed in writing C. A warp makes rows of 128 columns, in f64 64: a lane keeps its
// columns of B in registers, and reads the rows of A from shared memory. Every sum is one chain of fused
// multiply-adds in ascending k.
#ifndef FC_FILTERS_GEMM_SHORT_CUH
#define FC_FILTERS_GEMM_SHORT_CUH

#include "filters/gemm/result.cuh"
#include "filters/gemm/tile.cuh"

constexpr int FC_SHORT_WARPS = 8, FC_SHORT_ROWS = 128;
// As many as a lane has registers for.
template <typename F> constexpr int FC_SHORT_LARGEST = 64 / static_cast<int>(sizeof(F));
// Columns a lane.
template <typename F> constexpr int FC_SHORT_COLUMNS = 16 / static_cast<int>(sizeof(F));

// Distances in elements. Columns of a lane are adjacent, or 32 apart.
template <typename F> struct fc_short {
  const F *a, *b;
  int64_t m, n, a_row, a_col, b_row, b_col;
  int64_t across; // tiles
  fc_gemm_result<F> c;
  int k;
};

// PACKS: rows of C are whole packs of 16 bytes.
template <typename F, int K, bool PACKS>
__global__ void __launch_bounds__(32 * FC_SHORT_WARPS) fc_short_kernel(const fc_short<F> t) {
  constexpr int COLUMNS = FC_SHORT_COLUMNS<F>, PACK = 16 / static_cast<int>(sizeof(F));
  constexpr int APART = PACKS ? 1 : 32, THREADS = 32 * FC_SHORT_WARPS;
  static_assert(K % PACK == 0, "whole packs of a row");
  __shared__ alignas(16) F rows[FC_SHORT_ROWS][K]; // zero beyond the matrix
  const int64_t i0 = blockIdx.x / t.across * FC_SHORT_ROWS, j0 = blockIdx.x % t.across * (32 * COLUMNS);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  for (int e = static_cast<int>(threadIdx.x); e < FC_SHORT_ROWS * K; e += THREADS) {
    const int64_t i = i0 + e / K;
    rows[e / K][e % K] = i < t.m && e % K < t.k ? t.a[i * t.a_row + e % K * t.a_col] : F(0);
  }
  const int64_t j = j0 + (PACKS ? COLUMNS * lane : lane);
  F y[K][COLUMNS];
#pragma unroll
  for (int p = 0; p < K; p++)
#pragma unroll
    for (int s = 0; s < COLUMNS; s++)
      y[p][s] = p < t.k && j + APART * s < t.n ? t.b[p * t.b_row + (j + APART * s) * t.b_col] : F(0);
  __syncthreads();
#pragma unroll 2
  for (int r = warp; r < FC_SHORT_ROWS && i0 + r < t.m; r += FC_SHORT_WARPS) {
    F sum[COLUMNS] = {};
#pragma unroll
    for (int p = 0; p < K; p += PACK) {
      const fc_tile_pack<F> x = *reinterpret_cast<const fc_tile_pack<F> *>(&rows[r][p]);
#pragma unroll
      for (int q = 0; q < PACK; q++)
        if (p + q < t.k)
#pragma unroll
          for (int s = 0; s < COLUMNS; s++) sum[s] = fc_tile_fma(x.v[q], y[p + q][s], sum[s]);
    }
    F *to = t.c.data + (i0 + r) * t.c.row + j * t.c.col;
    if (PACKS) {
      if (j >= t.n) continue;
      fc_tile_pack<F> v;
      if (t.c.beta != F(0)) v = *reinterpret_cast<const fc_tile_pack<F> *>(to);
#pragma unroll
      for (int s = 0; s < COLUMNS; s++) fc_gemm_put(&v.v[s], sum[s], t.c.alpha, t.c.beta);
      *reinterpret_cast<fc_tile_pack<F> *>(to) = v;
    } else {
#pragma unroll
      for (int s = 0; s < COLUMNS; s++)
        if (j + 32 * s < t.n) fc_gemm_put(to + 32 * s * t.c.col, sum[s], t.c.alpha, t.c.beta);
    }
  }
}

template <typename F, int K> static inline fc_status fc_short_launch(fc_short<F> t, cudaStream_t stream) {
  constexpr int64_t PACK = FC_SHORT_COLUMNS<F>;
  t.across = (t.n + 32 * PACK - 1) / (32 * PACK);
  const int64_t down = (t.m + FC_SHORT_ROWS - 1) / FC_SHORT_ROWS;
  if (down > INT32_MAX / t.across) return FC_UNSUPPORTED;
  const unsigned blocks = static_cast<unsigned>(down * t.across);
  if (t.c.col == 1 && t.n % PACK == 0 && t.c.row % PACK == 0 &&
      reinterpret_cast<uintptr_t>(t.c.data) % 16 == 0)
    fc_short_kernel<F, K, true><<<blocks, 32 * FC_SHORT_WARPS, 0, stream>>>(t);
  else
    fc_short_kernel<F, K, false><<<blocks, 32 * FC_SHORT_WARPS, 0, stream>>>(t);
  return fc_launch_status();
}

// FC_UNSUPPORTED for longer sums, and more tiles than a grid has blocks.
template <typename F> static inline fc_status fc_short_product(const fc_short<F> &t, cudaStream_t stream) {
  if (t.k > FC_SHORT_LARGEST<F>) return FC_UNSUPPORTED;
  if (t.k <= FC_SHORT_LARGEST<F> / 2) return fc_short_launch<F, FC_SHORT_LARGEST<F> / 2>(t, stream);
  return fc_short_launch<F, FC_SHORT_LARGEST<F>>(t, stream);
}

#endif
