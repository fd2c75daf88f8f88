// SPDX-License-Identifier: MIT
//
// tile.cuh - the tiled matrix product of gemm.cu, of any strides.
//
// A block of threads computes BM x BN sums, a thread TM x TN of them in registers. Slices of BK steps of k go
// through shared memory, double-buffered: while one is multiplied the next is being loaded into registers,
// and one barrier per slice suffices. Fragments are read from shared memory 16 bytes at a time.
//
// An operand (A by rows, B by columns) offers
//     const char *at(int64_t i)           its i-th row (column), at k = 0
//     int64_t along                       bytes from one k to the next
//     F load(const char *)                the element there
//     bool along_fast                     whether neighbours in k are neighbours in memory
// and the result
//     place at(int64_t i, int64_t j)      the address of an element, of any type
//     place below(place, int rows), beside(place, int columns)
//     void store(place, F sum)
//
// Each sum is one chain of fused multiply-adds, k ascending: it does not depend on the shape or position of a
// tile.
#ifndef FC_FILTERS_GEMM_TILE_CUH
#define FC_FILTERS_GEMM_TILE_CUH

#include "filters/gpu/cuda.cuh"

template <typename F_, int BM_, int BN_, int BK_, int TM_, int TN_> struct fc_tile_shape {
  using F = F_;
  static constexpr int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_;
  static constexpr int threads = (BM / TM) * (BN / TN);
  // Elements of one 16-byte access; also the padding of a row in shared memory, which
  // keeps rows aligned and spreads a column over the banks.
  static constexpr int pack = 16 / static_cast<int>(sizeof(F));
  static_assert(TM % pack == 0 && TN % pack == 0, "fragments are whole accesses");
};

template <typename F> struct alignas(16) fc_tile_pack { F v[16 / sizeof(F)]; };

__device__ __forceinline__ float fc_tile_fma(float a, float b, float c) {
  return fmaf(a, b, c);
}
__device__ __forceinline__ double fc_tile_fma(double a, double b, double c) {
  return fma(a, b, c);
}

// One operand's slice on its way to shared memory: W rows (columns) of BK elements.
template <class S, int W, class Operand> struct fc_tile_stage {
  using F = typename S::F;
  static constexpr int count = (W * S::BK + S::threads - 1) / S::threads;
  const char *from[count]; // null beyond the last row
  F value[count];

  static __device__ __forceinline__ bool used(int slot) {
    return W * S::BK % S::threads == 0 || static_cast<int>(threadIdx.x) + slot * S::threads < W * S::BK;
  }
  static __device__ __forceinline__ int row(int slot, bool along_fast) {
    int e = static_cast<int>(threadIdx.x) + slot * S::threads;
    return along_fast ? e / S::BK : e % W;
  }
  static __device__ __forceinline__ int step(int slot, bool along_fast) {
    int e = static_cast<int>(threadIdx.x) + slot * S::threads;
    return along_fast ? e % S::BK : e / W;
  }

  __device__ __forceinline__ void aim(const Operand &o, int64_t first, int64_t limit) {
#pragma unroll
    for (int s = 0; s < count; s++) {
      int64_t i = first + row(s, o.along_fast);
      from[s] = used(s) && i < limit ? o.at(i) : nullptr;
    }
  }
  __device__ __forceinline__ void fetch(const Operand &o, int64_t k0, int64_t k) {
#pragma unroll
    for (int s = 0; s < count; s++) {
      int64_t p = k0 + step(s, o.along_fast);
      value[s] = from[s] && p < k ? o.load(from[s] + p * o.along) : F(0);
    }
  }
  __device__ __forceinline__ void put(const Operand &o, F (*to)[W + S::pack]) const {
#pragma unroll
    for (int s = 0; s < count; s++)
      if (used(s)) to[step(s, o.along_fast)][row(s, o.along_fast)] = value[s];
  }
};

// The position of fragment element r of thread `t` in a tile of W: packs of 16 bytes, those of neighbouring
// threads adjacent, so that no two threads use the same bank.
template <class S, int W, int T> __device__ __forceinline__ int fc_tile_index(int t, int r) {
  return r / S::pack * (W / (T / S::pack)) + t * S::pack + r % S::pack;
}

template <class S, int W, int T>
__device__ __forceinline__ void fc_tile_fragment(typename S::F *to, const typename S::F *row, int t) {
  using Pack = fc_tile_pack<typename S::F>;
#pragma unroll
  for (int r = 0; r < T; r += S::pack) {
    Pack p = *reinterpret_cast<const Pack *>(row + fc_tile_index<S, W, T>(t, r));
#pragma unroll
    for (int v = 0; v < S::pack; v++) to[r + v] = p.v[v];
  }
}

// The tile with its first row at i0 and its first column at j0.
template <class S, class A, class B, class C>
__device__ __forceinline__ void fc_tile_multiply(int64_t i0, int64_t j0, int64_t m, int64_t n, int64_t k,
                                                 const A &a, const B &b, const C &c) {
  using F = typename S::F;
  __shared__ alignas(16) F as[2][S::BK][S::BM + S::pack];
  __shared__ alignas(16) F bs[2][S::BK][S::BN + S::pack];
  const int tx = static_cast<int>(threadIdx.x) % (S::BN / S::TN);
  const int ty = static_cast<int>(threadIdx.x) / (S::BN / S::TN);

  fc_tile_stage<S, S::BM, A> stage_a;
  fc_tile_stage<S, S::BN, B> stage_b;
  stage_a.aim(a, i0, m);
  stage_b.aim(b, j0, n);

  F sum[S::TM][S::TN] = {};
  stage_a.fetch(a, 0, k);
  stage_b.fetch(b, 0, k);
  int now = 0;
  for (int64_t k0 = 0; k0 < k; k0 += S::BK, now ^= 1) {
    stage_a.put(a, as[now]);
    stage_b.put(b, bs[now]);
    // The only barrier: a thread that passes it has finished with the buffer that is filled next.
    __syncthreads();
    stage_a.fetch(a, k0 + S::BK, k);
    stage_b.fetch(b, k0 + S::BK, k);
#pragma unroll
    for (int p = 0; p < S::BK; p++) {
      F x[S::TM], y[S::TN];
      fc_tile_fragment<S, S::BM, S::TM>(x, as[now][p], ty);
      fc_tile_fragment<S, S::BN, S::TN>(y, bs[now][p], tx);
#pragma unroll
      for (int r = 0; r < S::TM; r++)
#pragma unroll
        for (int s = 0; s < S::TN; s++) sum[r][s] = fc_tile_fma(x[r], y[s], sum[r][s]);
    }
  }

  const int64_t i = i0 + fc_tile_index<S, S::BM, S::TM>(ty, 0),
                j = j0 + fc_tile_index<S, S::BN, S::TN>(tx, 0);
  auto column = c.at(i, j);
#pragma unroll
  for (int s = 0; s < S::TN; s++) {
    const int right = fc_tile_index<S, S::BN, S::TN>(0, s);
    auto place = column;
#pragma unroll
    for (int r = 0; r < S::TM; r++) {
      const int down = fc_tile_index<S, S::BM, S::TM>(0, r);
      if (i + down < m && j + right < n) c.store(place, sum[r][s]);
      place = c.below(place, fc_tile_index<S, S::BM, S::TM>(0, r + 1) - down);
    }
    column = c.beside(column, fc_tile_index<S, S::BN, S::TN>(0, s + 1) - right);
  }
}

// Tiles in one row of the grid, which strides over the rest.
template <class S, class A, class B, class C>
__global__ void __launch_bounds__(S::threads)
    fc_tile_kernel(int64_t m, int64_t n, int64_t k, int64_t across, int64_t tiles, A a, B b, C c) {
  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    fc_tile_multiply<S>(t / across * S::BM, t % across * S::BN, m, n, k, a, b, c);
    __syncthreads(); // before the next tile overwrites what a slower warp still reads
  }
}

template <class S, class A, class B, class C>
static inline fc_status fc_tile_launch(int64_t m, int64_t n, int64_t k, const A &a, const B &b, const C &c,
                                       cudaStream_t stream) {
  if (m <= 0 || n <= 0) return FC_OK;
  int64_t across = (n + S::BN - 1) / S::BN;
  int64_t tiles = across * ((m + S::BM - 1) / S::BM);
  fc_tile_kernel<S>
      <<<fc_blocks(tiles, 1, INT32_MAX), S::threads, 0, stream>>>(m, n, k, across, tiles, a, b, c);
  return fc_launch_status();
}

// The shape for a product of m x n: few rows or columns get equally flat tiles, products too small to fill
// the chip with large tiles get smaller ones. Tuning constants of the f32 and f64 kernels in one place.
template <typename F> struct fc_tile_shapes {
  using large = fc_tile_shape<F, 128, 128, 8, 8, 8>;
  using medium = fc_tile_shape<F, 64, 64, 8, 4, 4>;
  using flat = fc_tile_shape<F, 16, 256, 8, 4, 4>;
  using tall = fc_tile_shape<F, 256, 16, 8, 4, 4>;
};
// Large tiles that keep the chip busy: two for each multiprocessor of a big one.
static constexpr int64_t FC_TILE_ENOUGH = 264;

// MANY: there are products of more than 16 rows and columns, and steps of k.
template <typename F, bool MANY, class A, class B, class C>
static inline fc_status fc_tile_product(int64_t m, int64_t n, int64_t k, const A &a, const B &b, const C &c,
                                        cudaStream_t stream) {
  using shapes = fc_tile_shapes<F>;
  if (m <= 16) return fc_tile_launch<typename shapes::flat>(m, n, k, a, b, c, stream);
  if (n <= 16) return fc_tile_launch<typename shapes::tall>(m, n, k, a, b, c, stream);
  int64_t large = ((m + 127) / 128) * ((n + 127) / 128);
  if constexpr (MANY)
    if (large >= FC_TILE_ENOUGH && m > 64 && n > 64)
      return fc_tile_launch<typename shapes::large>(m, n, k, a, b, c, stream);
  return fc_tile_launch<typename shapes::medium>(m, n, k, a, b, c, stream);
}

#endif
