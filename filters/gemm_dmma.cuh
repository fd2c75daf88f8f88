// SPDX-License-Identifier: MIT
//
// gemm_dmma.cuh - products of f64 matrices on the tensor cores of sm_80 and later.
//
// A block makes BM x BN sums, a warp 16 MI x 8 NI of them in registers. Slices of 16 steps of k
// go through shared memory by asynchronous copies, three of them in flight, so that one
// barrier a slice suffices. An operand's slice lies there as it does in memory - by k where
// neighbours in k are neighbours, else by rows - in lines 4 doubles longer than they need
// be: then the 4 x 4 elements that half a warp reads lie in different banks. Elements beyond
// the matrix arrive as zeros.
//
// Every sum takes its products in ascending k, whatever the tile. Internal to filters/.
#ifndef FC_FILTERS_GEMM_DMMA_CUH
#define FC_FILTERS_GEMM_DMMA_CUH

#include "filters/cuda.cuh"

constexpr int FC_DMMA_BK = 16, FC_DMMA_STAGES = 3, FC_DMMA_PAD = 4;

// One operand: A by rows or B by columns; distances in bytes.
struct fc_dmma_operand {
  const char *data;
  int64_t across, along; // to the next row (column), to the next k
  int64_t limit;         // rows (columns) there are
};

// VEC doubles a copy: 2 where everything is aligned to 16 bytes.
template <int VEC> __device__ __forceinline__ void fc_dmma_copy(double *to, const char *from, int bytes) {
#if __CUDA_ARCH__ >= 800
  const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if (VEC == 2)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared), "l"(from), "r"(bytes)
                 : "memory");
#endif
}

__device__ __forceinline__ void fc_dmma_commit(void) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

__device__ __forceinline__ void fc_dmma_await(void) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(FC_DMMA_STAGES - 2) : "memory");
#endif
}

// c += a b for 16 x 8 sums and 8 steps of k. Lane 4g + t holds rows g and g + 8 of `a` at k = t
// (a0, a1) and t + 4, column g of `b` there (b0, b1), and columns 2t and 2t + 1 of the sums in
// rows g (c0, c1) and g + 8.
__device__ __forceinline__ void fc_dmma(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
               "{%0,%1,%2,%3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif __CUDA_ARCH__ >= 800
#pragma unroll
  for (int i = 0; i < 4; i++)
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(c[2 * (i % 2)]), "+d"(c[2 * (i % 2) + 1])
                 : "d"(a[i]), "d"(b[i / 2]));
#endif
}

// The slices of one operand: W rows (columns); BY_K: neighbours in k are neighbours.
template <int W, int THREADS, bool BY_K, int VEC> struct fc_dmma_slices {
  static constexpr int pitch = BY_K ? FC_DMMA_BK + FC_DMMA_PAD : W + FC_DMMA_PAD;
  static constexpr int size = pitch * (BY_K ? W : FC_DMMA_BK); // doubles a slice
  static constexpr int line = (BY_K ? FC_DMMA_BK : W) / VEC;   // copies a line
  static constexpr int count = W * FC_DMMA_BK / VEC / THREADS;
  static_assert(W * FC_DMMA_BK % (VEC * THREADS) == 0, "whole rounds of copies");

  static __device__ __forceinline__ int at(int row, int k) {
    return BY_K ? row * pitch + k : k * pitch + row;
  }

  // Begins to copy the slice from step k0 on, of k steps in all, for the rows from `first` on.
  static __device__ __forceinline__ void fetch(double *to, const fc_dmma_operand &o, int64_t first,
                                               int64_t k0, int64_t k) {
#pragma unroll
    for (int s = 0; s < count; s++) {
      const int e = static_cast<int>(threadIdx.x) + s * THREADS, across = e / line, along = e % line * VEC;
      const int row = BY_K ? across : along, step = BY_K ? along : across;
      const int64_t left = BY_K ? k - k0 - step : o.limit - first - row;
      const bool there = BY_K ? first + row < o.limit : k0 + step < k;
      const int doubles = !there || left <= 0 ? 0 : left < VEC ? static_cast<int>(left) : VEC;
      const char *from = o.data + (first + row) * o.across + (k0 + step) * o.along;
      fc_dmma_copy<VEC>(to + at(row, step), doubles ? from : o.data, 8 * doubles);
    }
  }
};

template <int BM_, int BN_, int WARPS_M_, int WARPS_N_> struct fc_dmma_shape {
  static constexpr int BM = BM_, BN = BN_, warps_m = WARPS_M_, warps_n = WARPS_N_;
  static constexpr int MI = BM / warps_m / 16, NI = BN / warps_n / 8, threads = 32 * warps_m * warps_n;
};

// `c` offers at(j), the place of a column, and store(place, i, sum).
template <class S, bool A_BY_K, bool B_BY_K, int VEC, class C>
__global__ void __launch_bounds__(S::threads)
    fc_dmma_kernel(const fc_dmma_operand a, const fc_dmma_operand b, int64_t k, int64_t down, int64_t across,
                   const C c) {
  using slices_a = fc_dmma_slices<S::BM, S::threads, A_BY_K, VEC>;
  using slices_b = fc_dmma_slices<S::BN, S::threads, B_BY_K, VEC>;
  constexpr int STAGE = slices_a::size + slices_b::size, GROUP = 8;
  extern __shared__ __align__(16) unsigned char memory[];
  double *shared = reinterpret_cast<double *>(memory);

  // Tiles go down in groups of rows, so that those at work share what the second cache holds.
  const int64_t t = blockIdx.x, group = t / (GROUP * across), first = group * GROUP;
  const int64_t rows = down - first < GROUP ? down - first : GROUP;
  const int64_t i0 = (first + (t - group * GROUP * across) % rows) * S::BM;
  const int64_t j0 = (t - group * GROUP * across) / rows * S::BN;

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, q = lane % 4;
  const int row = warp % S::warps_m * (16 * S::MI) + g, col = warp / S::warps_m * (8 * S::NI) + g;
  double sum[S::MI][S::NI][4] = {};

  for (int s = 0; s < FC_DMMA_STAGES - 1; s++) {
    slices_a::fetch(shared + s * STAGE, a, i0, s * FC_DMMA_BK, k);
    slices_b::fetch(shared + s * STAGE + slices_a::size, b, j0, s * FC_DMMA_BK, k);
    fc_dmma_commit();
  }
  int now = 0, later = FC_DMMA_STAGES - 1;
  for (int64_t k0 = 0; k0 < k; k0 += FC_DMMA_BK) {
    fc_dmma_await();
    // Whoever passes has left the slice before, which is filled next.
    __syncthreads();
    const int64_t next = k0 + (FC_DMMA_STAGES - 1) * FC_DMMA_BK;
    slices_a::fetch(shared + later * STAGE, a, i0, next, k);
    slices_b::fetch(shared + later * STAGE + slices_a::size, b, j0, next, k);
    fc_dmma_commit();
    const double *as = shared + now * STAGE, *bs = as + slices_a::size;
#pragma unroll
    for (int p = 0; p < FC_DMMA_BK; p += 8) {
      double x[S::MI][4], y[S::NI][2];
#pragma unroll
      for (int r = 0; r < S::MI; r++)
#pragma unroll
        for (int h = 0; h < 4; h++) x[r][h] = as[slices_a::at(row + 16 * r + h % 2 * 8, p + q + h / 2 * 4)];
#pragma unroll
      for (int s = 0; s < S::NI; s++)
#pragma unroll
        for (int h = 0; h < 2; h++) y[s][h] = bs[slices_b::at(col + 8 * s, p + q + h * 4)];
#pragma unroll
      for (int r = 0; r < S::MI; r++)
#pragma unroll
        for (int s = 0; s < S::NI; s++) fc_dmma(sum[r][s], x[r], y[s]);
    }
    now = now + 1 == FC_DMMA_STAGES ? 0 : now + 1;
    later = later + 1 == FC_DMMA_STAGES ? 0 : later + 1;
  }

#pragma unroll
  for (int s = 0; s < S::NI; s++)
#pragma unroll
    for (int v = 0; v < 2; v++) {
      const int64_t j = j0 + col - g + 8 * s + 2 * q + v;
      if (j >= b.limit) continue;
      const auto place = c.at(j);
#pragma unroll
      for (int r = 0; r < S::MI; r++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const int64_t i = i0 + row + 16 * r + 8 * h;
          if (i < a.limit) c.store(place, i, sum[r][s][2 * h + v]);
        }
    }
}

// ---- launching ---------------------------------------------------------------

template <class S, bool A_BY_K, bool B_BY_K, int VEC, class C>
static inline fc_status fc_dmma_launch(const fc_dmma_operand &a, const fc_dmma_operand &b, int64_t k,
                                       const C &c, cudaStream_t stream) {
  const auto kernel = fc_dmma_kernel<S, A_BY_K, B_BY_K, VEC, C>;
  const int bytes = FC_DMMA_STAGES * 8 *
                    (fc_dmma_slices<S::BM, S::threads, A_BY_K, VEC>::size +
                     fc_dmma_slices<S::BN, S::threads, B_BY_K, VEC>::size);
  const int64_t down = (a.limit + S::BM - 1) / S::BM, across = (b.limit + S::BN - 1) / S::BN;
  if (down > INT32_MAX / across) return FC_UNSUPPORTED;
  // Code that was made from that of an older chip does nothing.
  cudaFuncAttributes about;
  if (cudaFuncGetAttributes(&about, kernel) != cudaSuccess || about.ptxVersion < 80 ||
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) != cudaSuccess) {
    (void)cudaGetLastError();
    return FC_UNSUPPORTED;
  }
  kernel<<<static_cast<unsigned>(down * across), S::threads, bytes, stream>>>(a, b, k, down, across, c);
  return fc_launch_status();
}

template <class S, bool A_BY_K, bool B_BY_K, class C>
static inline fc_status fc_dmma_vectors(const fc_dmma_operand &a, const fc_dmma_operand &b, int64_t k,
                                        const C &c, cudaStream_t stream) {
  const auto aligned = [](const fc_dmma_operand &o, bool by_k) {
    const int64_t line = by_k ? o.across : o.along, step = by_k ? o.along : o.across;
    return step == 8 && line % 16 == 0 && reinterpret_cast<uintptr_t>(o.data) % 16 == 0;
  };
  if (aligned(a, A_BY_K) && aligned(b, B_BY_K))
    return fc_dmma_launch<S, A_BY_K, B_BY_K, 2>(a, b, k, c, stream);
  return fc_dmma_launch<S, A_BY_K, B_BY_K, 1>(a, b, k, c, stream);
}

template <class S, class C>
static inline fc_status fc_dmma_orders(const fc_dmma_operand &a, const fc_dmma_operand &b, int64_t k,
                                       const C &c, cudaStream_t stream) {
  if (a.along == 8)
    return b.along == 8 ? fc_dmma_vectors<S, true, true>(a, b, k, c, stream)
                        : fc_dmma_vectors<S, true, false>(a, b, k, c, stream);
  return b.along == 8 ? fc_dmma_vectors<S, false, true>(a, b, k, c, stream)
                      : fc_dmma_vectors<S, false, false>(a, b, k, c, stream);
}

// FC_UNSUPPORTED where the device has no such units, or the product is too flat to fill them.
template <class C>
static inline fc_status fc_dmma_product(const fc_dmma_operand &a, const fc_dmma_operand &b, int64_t k,
                                        const C &c, cudaStream_t stream) {
  int device = 0, major = 0, processors = 1;
  if (a.limit <= 16 || b.limit <= 16) return FC_UNSUPPORTED;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess || major < 8)
    return FC_UNSUPPORTED;
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  const int64_t large = ((a.limit + 63) / 64) * ((b.limit + 127) / 128);
  // A product of few large tiles would leave processors idle.
  if (large >= processors) return fc_dmma_orders<fc_dmma_shape<64, 128, 1, 4>>(a, b, k, c, stream);
  return fc_dmma_orders<fc_dmma_shape<64, 64, 2, 2>>(a, b, k, c, stream);
}

#endif
