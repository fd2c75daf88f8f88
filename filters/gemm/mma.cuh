// SPDX-License-Identifier: MIT
//
// mma.cuh - products of matrices on the tensor cores of sm_80 and later, by the instructions that a warp
// gives them (mma.sync).
//
// A block makes BM x BN sums, a warp 16 MI x 8 NI of them in registers. Slices of 16 steps of k
// go through shared memory by asynchronous copies, several of them in flight, so that one
// barrier a slice suffices. An operand's slice lies there as it does in memory - by k where
// neighbours in k are neighbours, else by rows - in lines a little longer than they need
// be: then the elements that a warp reads at once lie in different banks. Elements beyond
// the matrix arrive as zeros.
//
// The arithmetic of a warp is a class M, which a sum's value depends on and no tile does (dmma.cuh,
// split_mma.cu): F, the elements' type; BM, BN, warps_m, warps_n, MI, NI, threads (fc_mma_shape);
// STAGES slices in flight and here, BLOCKS at once; and
//     template <class A, class B> void multiply(const F *a, const F *b, int row, int col, int q)
// adds the products of a slice, whose element of row i and step p is a[A::at(i, p)] and b[B::at(j, p)]: of
// rows `row` and columns `col` on, the lane's being the `q`-th four steps' first; sum[MI][NI][4] is as the
// instructions have it. Internal to filters/.
#ifndef FC_FILTERS_GEMM_MMA_CUH
#define FC_FILTERS_GEMM_MMA_CUH

#include "filters/gpu/cuda.cuh"

constexpr int FC_MMA_BK = 16;

// One operand: A by rows or B by columns; distances in bytes.
struct fc_mma_operand {
  const char *data;
  int64_t across, along; // to the next row (column), to the next k
  int64_t limit;         // rows (columns) there are
};

// The first `bytes` of BYTES, and zeros.
template <int BYTES> __device__ __forceinline__ void fc_mma_copy(void *to, const void *from, int bytes) {
#if __CUDA_ARCH__ >= 800
  const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(BYTES),
                 "r"(bytes)
                 : "memory");
#endif
}

__device__ __forceinline__ void fc_mma_commit(void) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Until no more than LATER of the last commits are under way.
template <int LATER> __device__ __forceinline__ void fc_mma_await(void) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
#endif
}

// The slices of one operand: W rows (columns); BY_K: neighbours in k are neighbours; VEC elements a copy.
template <typename F, int W, int THREADS, bool BY_K, int VEC> struct fc_mma_slices {
  // A warp reads 8 rows at 4 steps.
  static constexpr int pad = BY_K ? 4 : 32 / static_cast<int>(sizeof(F));
  static constexpr int pitch = (BY_K ? FC_MMA_BK : W) + pad;
  static constexpr int size = pitch * (BY_K ? W : FC_MMA_BK); // elements a slice
  static constexpr int line = (BY_K ? FC_MMA_BK : W) / VEC;   // copies a line
  static constexpr int count = W * FC_MMA_BK / VEC / THREADS;
  static_assert(W * FC_MMA_BK % (VEC * THREADS) == 0, "whole rounds of copies");

  static __device__ __forceinline__ int at(int row, int k) {
    return BY_K ? row * pitch + k : k * pitch + row;
  }

  // Begins to copy the slice from step k0 on, of k steps in all, for the rows from `first` on.
  static __device__ __forceinline__ void fetch(F *to, const fc_mma_operand &o, int64_t first, int64_t k0,
                                               int64_t k) {
#pragma unroll(count > 8 ? 4 : count)
    for (int s = 0; s < count; s++) {
      const int e = static_cast<int>(threadIdx.x) + s * THREADS, across = e / line, along = e % line * VEC;
      const int row = BY_K ? across : along, step = BY_K ? along : across;
      const int64_t left = BY_K ? k - k0 - step : o.limit - first - row;
      const bool there = BY_K ? first + row < o.limit : k0 + step < k;
      const int some = !there || left <= 0 ? 0 : left < VEC ? static_cast<int>(left) : VEC;
      const char *from = o.data + (first + row) * o.across + (k0 + step) * o.along;
      constexpr int EACH = static_cast<int>(sizeof(F));
      fc_mma_copy<VEC * EACH>(to + at(row, step), some ? from : o.data, EACH * some);
    }
  }
};

template <typename F_, int BM_, int BN_, int WARPS_M_, int WARPS_N_> struct fc_mma_shape {
  using F = F_;
  static constexpr int BM = BM_, BN = BN_, warps_m = WARPS_M_, warps_n = WARPS_N_;
  static constexpr int MI = BM / warps_m / 16, NI = BN / warps_n / 8, threads = 32 * warps_m * warps_n;
};

// `c` offers at(j), the place of a column, and store(place, i, sum).
template <class M, bool A_BY_K, bool B_BY_K, int VEC, class C>
__global__ void __launch_bounds__(M::threads, M::BLOCKS)
    fc_mma_kernel(const fc_mma_operand a, const fc_mma_operand b, int64_t k, int64_t down, int64_t across,
                  const C c) {
  using F = typename M::F;
  using slices_a = fc_mma_slices<F, M::BM, M::threads, A_BY_K, VEC>;
  using slices_b = fc_mma_slices<F, M::BN, M::threads, B_BY_K, VEC>;
  constexpr int STAGE = slices_a::size + slices_b::size, GROUP = 8;
  extern __shared__ __align__(16) unsigned char memory[];
  F *shared = reinterpret_cast<F *>(memory);

  // Tiles go down in groups of rows, so that those at work share what the second cache holds.
  const int64_t t = blockIdx.x, group = t / (GROUP * across), first = group * GROUP;
  const int64_t rows = down - first < GROUP ? down - first : GROUP;
  const int64_t i0 = (first + (t - group * GROUP * across) % rows) * M::BM;
  const int64_t j0 = (t - group * GROUP * across) / rows * M::BN;

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, q = lane % 4;
  const int row = warp % M::warps_m * (16 * M::MI) + g, col = warp / M::warps_m * (8 * M::NI) + g;
  M tile;

  for (int s = 0; s < M::STAGES - 1; s++) {
    slices_a::fetch(shared + s * STAGE, a, i0, s * FC_MMA_BK, k);
    slices_b::fetch(shared + s * STAGE + slices_a::size, b, j0, s * FC_MMA_BK, k);
    fc_mma_commit();
  }
  int now = 0, later = M::STAGES - 1;
#pragma unroll 1
  for (int64_t k0 = 0; k0 < k; k0 += FC_MMA_BK) {
    fc_mma_await<M::STAGES - 2>();
    // Whoever passes has left the slice before, which is filled next.
    __syncthreads();
    const int64_t next = k0 + (M::STAGES - 1) * FC_MMA_BK;
    slices_a::fetch(shared + later * STAGE, a, i0, next, k);
    slices_b::fetch(shared + later * STAGE + slices_a::size, b, j0, next, k);
    fc_mma_commit();
    const F *as = shared + now * STAGE;
    tile.template multiply<slices_a, slices_b>(as, as + slices_a::size, row, col, q);
    now = now + 1 == M::STAGES ? 0 : now + 1;
    later = later + 1 == M::STAGES ? 0 : later + 1;
  }

#pragma unroll
  for (int s = 0; s < M::NI; s++)
#pragma unroll
    for (int v = 0; v < 2; v++) {
      const int64_t j = j0 + col - g + 8 * s + 2 * q + v;
      if (j >= b.limit) continue;
      const auto place = c.at(j);
#pragma unroll
      for (int r = 0; r < M::MI; r++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const int64_t i = i0 + row + 16 * r + 8 * h;
          if (i < a.limit) c.store(place, i, tile.sum[r][s][2 * h + v]);
        }
    }
}

// ---- launching ---------------------------------------------------------------

template <class M, bool A_BY_K, bool B_BY_K, int VEC, class C>
static inline fc_status fc_mma_launch(const fc_mma_operand &a, const fc_mma_operand &b, int64_t k, const C &c,
                                      cudaStream_t stream) {
  using F = typename M::F;
  const auto kernel = fc_mma_kernel<M, A_BY_K, B_BY_K, VEC, C>;
  const int bytes = M::STAGES * static_cast<int>(sizeof(F)) *
                    (fc_mma_slices<F, M::BM, M::threads, A_BY_K, VEC>::size +
                     fc_mma_slices<F, M::BN, M::threads, B_BY_K, VEC>::size);
  const int64_t down = (a.limit + M::BM - 1) / M::BM, across = (b.limit + M::BN - 1) / M::BN;
  if (down > INT32_MAX / across) return FC_UNSUPPORTED;
  // Code that was made from that of an older chip does nothing.
  cudaFuncAttributes about;
  if (cudaFuncGetAttributes(&about, kernel) != cudaSuccess || about.ptxVersion < 80 ||
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) != cudaSuccess) {
    (void)cudaGetLastError();
    return FC_UNSUPPORTED;
  }
  kernel<<<static_cast<unsigned>(down * across), M::threads, bytes, stream>>>(a, b, k, down, across, c);
  return fc_launch_status();
}

template <class M, bool A_BY_K, bool B_BY_K, class C>
static inline fc_status fc_mma_vectors(const fc_mma_operand &a, const fc_mma_operand &b, int64_t k,
                                       const C &c, cudaStream_t stream) {
  constexpr int64_t EACH = sizeof(typename M::F);
  const auto aligned = [](const fc_mma_operand &o, bool by_k) {
    const int64_t line = by_k ? o.across : o.along, step = by_k ? o.along : o.across;
    return step == EACH && line % 16 == 0 && reinterpret_cast<uintptr_t>(o.data) % 16 == 0;
  };
  if (aligned(a, A_BY_K) && aligned(b, B_BY_K))
    return fc_mma_launch<M, A_BY_K, B_BY_K, 16 / EACH>(a, b, k, c, stream);
  return fc_mma_launch<M, A_BY_K, B_BY_K, 1>(a, b, k, c, stream);
}

// FC_UNSUPPORTED where the device has no such units.
template <class M, class C>
static inline fc_status fc_mma_orders(const fc_mma_operand &a, const fc_mma_operand &b, int64_t k, const C &c,
                                      cudaStream_t stream) {
  constexpr int64_t EACH = sizeof(typename M::F);
  if (a.along == EACH)
    return b.along == EACH ? fc_mma_vectors<M, true, true>(a, b, k, c, stream)
                           : fc_mma_vectors<M, true, false>(a, b, k, c, stream);
  return b.along == EACH ? fc_mma_vectors<M, false, true>(a, b, k, c, stream)
                         : fc_mma_vectors<M, false, false>(a, b, k, c, stream);
}

// Processors of the current device, 0 if its tensor cores are older than these instructions.
static inline int fc_mma_processors(void) {
  int device = 0, major = 0, processors = 1;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess || major < 8)
    return 0;
  (void)cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  return processors;
}

#endif
