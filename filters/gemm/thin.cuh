// SPDX-License-Identifier: MIT
//
// thin.cuh - products with a matrix of at most 16 x 16, in f64 8 x 8: millions of short vectors,
// each multiplied by it.
//
// A thread multiplies a vector in its registers, the matrix in shared memory; the limit is the
// memory's speed. Every sum is one chain of fused multiply-adds in ascending k.
#ifndef FC_FILTERS_GEMM_THIN_CUH
#define FC_FILTERS_GEMM_THIN_CUH

#include "filters/gemm/tile.cuh"

constexpr int FC_THIN_THREADS = 256;
// A vector and its sums are 32 registers.
template <typename F> constexpr int FC_THIN_LARGEST = 64 / static_cast<int>(sizeof(F));

// Row r of the matrix at step p: matrix[r * row + p * along]. Vector j: element p of `in`, result r of `out`.
// Distances in elements. `packs`: vectors of N elements, adjacent and aligned to 16 bytes.
template <typename F> struct fc_thin {
  const F *matrix, *in;
  F *out;
  int64_t count;
  int64_t row, along;
  int64_t in_across, in_along, out_across, out_along;
  int rows, k;
  F alpha, beta;
  bool packs_in, packs_out;
};

template <typename F, int N>
__device__ __forceinline__ void fc_thin_load(F (&x)[N], const fc_thin<F> &t, int64_t j) {
  constexpr int PACK = 16 / static_cast<int>(sizeof(F));
  const F *from = t.in + j * t.in_across;
  if (t.packs_in) {
#pragma unroll
    for (int p = 0; p < N; p += PACK) {
      const fc_tile_pack<F> v = *reinterpret_cast<const fc_tile_pack<F> *>(from + p);
#pragma unroll
      for (int e = 0; e < PACK; e++) x[p + e] = v.v[e];
    }
  } else {
#pragma unroll
    for (int p = 0; p < N; p++) x[p] = p < t.k ? from[p * t.in_along] : F(0);
  }
}

template <typename F, int N>
__device__ __forceinline__ void fc_thin_store(const F (&y)[N], const fc_thin<F> &t, int64_t j) {
  constexpr int PACK = 16 / static_cast<int>(sizeof(F));
  F *to = t.out + j * t.out_across;
  if (t.packs_out) {
#pragma unroll
    for (int r = 0; r < N; r += PACK) {
      fc_tile_pack<F> v;
#pragma unroll
      for (int e = 0; e < PACK; e++) v.v[e] = t.alpha * y[r + e];
      *reinterpret_cast<fc_tile_pack<F> *>(to + r) = v;
    }
  } else {
#pragma unroll
    for (int r = 0; r < N; r++) {
      if (r >= t.rows) continue;
      F *at = to + r * t.out_along;
      *at = t.beta == F(0) ? t.alpha * y[r] : fc_tile_fma(t.beta, *at, t.alpha * y[r]);
    }
  }
}

template <typename F, int N>
__global__ void __launch_bounds__(FC_THIN_THREADS) fc_thin_kernel(const fc_thin<F> t) {
  __shared__ alignas(16) F m[N][N]; // [step][row], zero beyond the matrix
  for (int i = static_cast<int>(threadIdx.x); i < N * N; i += FC_THIN_THREADS)
    m[i / N][i % N] = i / N < t.k && i % N < t.rows ? t.matrix[i % N * t.row + i / N * t.along] : F(0);
  __syncthreads();
  const int64_t stride = static_cast<int64_t>(gridDim.x) * FC_THIN_THREADS;
  for (int64_t j = static_cast<int64_t>(blockIdx.x) * FC_THIN_THREADS + threadIdx.x; j < t.count;
       j += stride) {
    F x[N], y[N] = {};
    fc_thin_load<F, N>(x, t, j);
#pragma unroll
    for (int p = 0; p < N; p++)
      if (p < t.k)
#pragma unroll
        for (int r = 0; r < N; r++) y[r] = fc_tile_fma(m[p][r], x[p], y[r]);
    fc_thin_store<F, N>(y, t, j);
  }
}

template <typename F, int N> static inline fc_status fc_thin_launch(fc_thin<F> t, cudaStream_t stream) {
  const auto packs = [](const void *data, int64_t across, int64_t along, int64_t length) {
    const int64_t bytes = across * static_cast<int64_t>(sizeof(F));
    return along == 1 && length == N && bytes % 16 == 0 && reinterpret_cast<uintptr_t>(data) % 16 == 0;
  };
  t.packs_in = packs(t.in, t.in_across, t.in_along, t.k);
  t.packs_out = t.beta == F(0) && packs(t.out, t.out_across, t.out_along, t.rows);
  fc_thin_kernel<F, N><<<fc_blocks(t.count, FC_THIN_THREADS, 256 * 16), FC_THIN_THREADS, 0, stream>>>(t);
  return fc_launch_status();
}

// FC_UNSUPPORTED for a matrix that is too large.
template <typename F> static inline fc_status fc_thin_product(const fc_thin<F> &t, cudaStream_t stream) {
  const int side = t.rows > t.k ? t.rows : t.k;
  if (side > FC_THIN_LARGEST<F>) return FC_UNSUPPORTED;
  if (side <= 4) return fc_thin_launch<F, 4>(t, stream);
  if (side <= 8) return fc_thin_launch<F, 8>(t, stream);
  return fc_thin_launch<F, FC_THIN_LARGEST<F>>(t, stream);
}

#endif
