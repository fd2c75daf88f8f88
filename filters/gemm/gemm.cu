// SPDX-License-Identifier: MIT
//
// gemm.cu - C = alpha A B + beta D on a CUDA device, by the kernel that fc_gemm_choose names (gemm_plan.h).
//
// All give the same sums, to the bit: one chain of fused multiply-adds in ascending k, computed in f64 for
// f64 matrices, and for f32 matrices in f32 or, where fc_gemm_widens says so, in f64.
#include "filters/gemm/gemm_plan.h"
#include "filters/gpu/cuda.cuh"
#include "filters/gemm/result.cuh"
#include "filters/gemm/tile.cuh"
#include "filters/gemm/gemm_tma.h"

// gemm_thin: products with a matrix of at most 16 x 16 (f64: 8 x 8), as millions of short vectors, each
// multiplied by it.
//
// A thread multiplies a vector in its registers by the matrix in shared memory; memory bandwidth is the
// limit. Every sum is one chain of fused multiply-adds in ascending k.

constexpr int FC_THIN_THREADS = 256;
// Longest vector: with its sums it takes 32 registers.
template <typename F> constexpr int FC_THIN_LARGEST = 64 / static_cast<int>(sizeof(F));

// Element (r, p) of the matrix: matrix[r * row + p * along]. Vector j: element p of `in`, result r of `out`.
// Distances are in elements. `packs`: vectors have N adjacent elements, aligned to 16 bytes.
template <typename F> struct fc_thin {
  const F *matrix, *in;
  F *out;
  int64_t count;
  int64_t row, along;
  int64_t in_across, in_along, out_across, out_along;
  const F *d;
  int64_t d_across, d_along;
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
  const F *d = t.d + j * t.d_across;
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
      if (r < t.rows) to[r * t.out_along] = fc_gemm_value(y[r], t.alpha, t.beta, d + r * t.d_along);
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

// FC_UNSUPPORTED if the matrix is too large.
template <typename F> static inline fc_status fc_thin_product(const fc_thin<F> &t, cudaStream_t stream) {
  const int side = t.rows > t.k ? t.rows : t.k;
  if (side > FC_THIN_LARGEST<F>) return FC_UNSUPPORTED;
  if (side <= 4) return fc_thin_launch<F, 4>(t, stream);
  if (side <= 8) return fc_thin_launch<F, 8>(t, stream);
  return fc_thin_launch<F, FC_THIN_LARGEST<F>>(t, stream);
}

// gemm_short: sums of at most 16 products (f64: 8), with many rows and columns.
//
// The limit is the bandwidth for writing C. A warp computes rows of 128 columns (f64: 64): a lane keeps its
// columns of B in registers and reads the rows of A from shared memory. Every sum is one chain of fused
// multiply-adds in ascending k.

constexpr int FC_SHORT_WARPS = 8, FC_SHORT_ROWS = 128;
// Longest sum that fits a lane's registers.
template <typename F> constexpr int FC_SHORT_LARGEST = 64 / static_cast<int>(sizeof(F));
// Columns per lane.
template <typename F> constexpr int FC_SHORT_COLUMNS = 16 / static_cast<int>(sizeof(F));

// Distances in elements. The columns of a lane are adjacent, or 32 apart.
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
    const F *d = t.c.d + (i0 + r) * t.c.d_row + j * t.c.d_col;
    if (PACKS) {
      if (j >= t.n) continue;
      fc_tile_pack<F> v;
#pragma unroll
      for (int s = 0; s < COLUMNS; s++)
        v.v[s] = fc_gemm_value(sum[s], t.c.alpha, t.c.beta, d + s * t.c.d_col);
      *reinterpret_cast<fc_tile_pack<F> *>(to) = v;
    } else {
#pragma unroll
      for (int s = 0; s < COLUMNS; s++)
        if (j + 32 * s < t.n)
          to[32 * s * t.c.col] = fc_gemm_value(sum[s], t.c.alpha, t.c.beta, d + 32 * s * t.c.d_col);
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

// FC_UNSUPPORTED for longer sums, or for more tiles than a grid may have blocks.
template <typename F> static inline fc_status fc_short_product(const fc_short<F> &t, cudaStream_t stream) {
  if (t.k > FC_SHORT_LARGEST<F>) return FC_UNSUPPORTED;
  if (t.k <= FC_SHORT_LARGEST<F> / 2) return fc_short_launch<F, FC_SHORT_LARGEST<F> / 2>(t, stream);
  return fc_short_launch<F, FC_SHORT_LARGEST<F>>(t, stream);
}

// gemm_dmma: products of f64 matrices, and of f32 ones in f64, on the tensor cores of sm_80 and later. Every
// sum takes its products in ascending k, for any tile.

// Matrix products on the tensor cores of sm_80 and later, by warp-level instructions (mma.sync).
//
// A block computes BM x BN sums, a warp 16 MI x 8 NI of them in registers. Slices of 16 steps of k go through
// shared memory by asynchronous copies, several of them in flight, so that one barrier per slice suffices. A
// slice has the same order in shared memory as in memory: by k where elements adjacent in k are adjacent in
// memory, else by rows. Its lines are padded so that the elements that a warp reads at once are in different
// banks. Elements beyond the matrix are filled with zeros.
//
// The arithmetic of a warp is a class M; it alone determines the value of a sum, the tile does not. It has:
// F, the type of elements; BM, BN, warps_m, warps_n, MI, NI, threads (fc_mma_shape); STAGES, the slices in
// flight and in use; BLOCKS, the resident blocks; and
//     template <class A, class B> void multiply(const F *a, const F *b, int row, int col, int q)
// which adds the products of a slice. Element (row i, step p) of the slice is a[A::at(i, p)] and
// b[B::at(j, p)]; the warp's part begins at row `row` and column `col`; of each four steps the lane reads
// the q-th. sum[MI][NI][4] is in the order of the instructions.

constexpr int FC_MMA_BK = 16;

// One operand: A by rows or B by columns; distances in bytes.
struct fc_mma_operand {
  const char *data;
  int64_t across, along; // distance of rows (columns), distance in k
  int64_t limit;         // number of rows (columns)
};

// Copies the first `bytes` of BYTES, and fills the rest with zeros.
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

// Waits until at most LATER of the last committed copies are under way.
template <int LATER> __device__ __forceinline__ void fc_mma_await(void) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
#endif
}

// The slices of one operand: W rows (columns); BY_K: elements adjacent in k are adjacent in memory; VEC
// elements per copy.
template <typename F, int W, int THREADS, bool BY_K, int VEC> struct fc_mma_slices {
  // Padding for a warp that reads 8 rows at 4 steps, without bank conflicts.
  static constexpr int pad = BY_K ? 4 : 32 / static_cast<int>(sizeof(F));
  static constexpr int pitch = (BY_K ? FC_MMA_BK : W) + pad;
  static constexpr int size = pitch * (BY_K ? W : FC_MMA_BK); // elements per slice
  static constexpr int line = (BY_K ? FC_MMA_BK : W) / VEC;   // copies per line
  static constexpr int count = W * FC_MMA_BK / VEC / THREADS;
  static_assert(W * FC_MMA_BK % (VEC * THREADS) == 0, "whole rounds of copies");

  static __device__ __forceinline__ int at(int row, int k) {
    return BY_K ? row * pitch + k : k * pitch + row;
  }

  // Starts to copy the slice of 16 steps from k0 on (of k in all), for the rows from `first` on.
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

// `c` is a result as in tile.cuh.
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

  // Tiles are numbered down groups of rows, so that the tiles processed at the same time share operands in
  // the L2 cache.
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
    // After this barrier no thread uses the previous slice, whose memory is filled next.
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

  const int64_t i = i0 + row, j = j0 + col - g + 2 * q;
  auto column = c.at(i, j);
#pragma unroll
  for (int s = 0; s < M::NI; s++)
#pragma unroll
    for (int v = 0; v < 2; v++) {
      auto place = column;
#pragma unroll
      for (int r = 0; r < 2 * M::MI; r++, place = c.below(place, 8))
        if (i + 8 * r < a.limit && j + 8 * s + v < b.limit) c.store(place, tile.sum[r / 2][s][r % 2 * 2 + v]);
      column = c.beside(column, v == 0 ? 1 : 7);
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
  // PTX that was compiled for an older architecture contains an empty kernel.
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
  // Floats are here on sm_90 only, where aligned ones have been taken by the kernels of tma.cuh.
  if constexpr (EACH == 8)
    if (aligned(a, A_BY_K) && aligned(b, B_BY_K))
      return fc_mma_launch<M, A_BY_K, B_BY_K, 16 / EACH>(a, b, k, c, stream);
  return fc_mma_launch<M, A_BY_K, B_BY_K, 1>(a, b, k, c, stream);
}

// FC_UNSUPPORTED if the device has no such units.
template <class M, class C>
static inline fc_status fc_mma_orders(const fc_mma_operand &a, const fc_mma_operand &b, int64_t k, const C &c,
                                      cudaStream_t stream) {
  constexpr int64_t EACH = sizeof(typename M::F);
  if (a.along == EACH) return fc_mma_vectors<M, true, false>(a, b, k, c, stream); // then not b (gemm_plan.c)
  return b.along == EACH ? fc_mma_vectors<M, false, true>(a, b, k, c, stream)
                         : fc_mma_vectors<M, false, false>(a, b, k, c, stream);
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

template <typename F, int BM, int BN, int WARPS_M, int WARPS_N>
struct fc_dmma_tile : fc_mma_shape<F, BM, BN, WARPS_M, WARPS_N> {
  using shape = fc_mma_shape<F, BM, BN, WARPS_M, WARPS_N>;
  using shape::MI, shape::NI;
  static constexpr int STAGES = 3, BLOCKS = 1;
  double sum[MI][NI][4] = {};

  template <class A, class B>
  __device__ __forceinline__ void multiply(const F *a, const F *b, int row, int col, int q) {
#pragma unroll
    for (int p = 0; p < FC_MMA_BK; p += 8) {
      double x[MI][4], y[NI][2];
#pragma unroll
      for (int r = 0; r < MI; r++)
#pragma unroll
        for (int h = 0; h < 4; h++) x[r][h] = a[A::at(row + 16 * r + h % 2 * 8, p + q + h / 2 * 4)];
#pragma unroll
      for (int s = 0; s < NI; s++)
#pragma unroll
        for (int h = 0; h < 2; h++) y[s][h] = b[B::at(col + 8 * s, p + q + h * 4)];
#pragma unroll
      for (int r = 0; r < MI; r++)
#pragma unroll
        for (int s = 0; s < NI; s++) fc_dmma(sum[r][s], x[r], y[s]);
    }
  }
};

// FC_UNSUPPORTED if the kernel is not in the build.
template <typename F, class C>
static inline fc_status fc_dmma_product(const fc_mma_operand &a, const fc_mma_operand &b, int64_t k,
                                        const C &c, int processors, cudaStream_t stream) {
  const int64_t large = ((a.limit + 63) / 64) * ((b.limit + 127) / 128);
  // Few large tiles would leave multiprocessors idle.
  if (large >= processors) return fc_mma_orders<fc_dmma_tile<F, 64, 128, 1, 4>>(a, b, k, c, stream);
  return fc_mma_orders<fc_dmma_tile<F, 64, 64, 2, 2>>(a, b, k, c, stream);
}

namespace {

// Rows of A, or columns of B, `across` bytes apart; elements of type F, sums of type S.
template <typename F, typename S> struct operand {
  const char *data;
  int64_t across, along;
  bool along_fast;
  __device__ __forceinline__ const char *at(int64_t i) const { return data + i * across; }
  __device__ __forceinline__ S load(const char *from) const { return *reinterpret_cast<const F *>(from); }
};

template <typename F, typename S> operand<F, S> operand_of(const void *data, int64_t across, int64_t along) {
  const int64_t size = sizeof(F);
  operand<F, S> o = {static_cast<const char *>(data), across * size, along * size, along == 1};
  return o;
}

// Vectors multiplied by a small matrix: the columns of B, or the rows of A.
template <typename F> fc_status thin_product(const fc_gemm *g, cudaStream_t stream) {
  const bool columns = g->m <= g->n;
  fc_thin<F> t;
  const F *a = static_cast<const F *>(g->a), *b = static_cast<const F *>(g->b);
  t.matrix = columns ? a : b, t.in = columns ? b : a, t.out = static_cast<F *>(g->c);
  t.count = columns ? g->n : g->m, t.rows = static_cast<int>(columns ? g->m : g->n);
  t.k = static_cast<int>(g->k);
  t.row = columns ? g->a_row : g->b_col, t.along = columns ? g->a_col : g->b_row;
  t.in_across = columns ? g->b_col : g->a_row, t.in_along = columns ? g->b_row : g->a_col;
  t.out_across = columns ? g->c_col : g->c_row, t.out_along = columns ? g->c_row : g->c_col;
  t.d = static_cast<const F *>(g->d);
  t.d_across = columns ? g->d_col : g->d_row, t.d_along = columns ? g->d_row : g->d_col;
  t.alpha = static_cast<F>(g->alpha), t.beta = static_cast<F>(g->beta);
  return fc_thin_product(t, stream);
}

template <typename F> fc_status short_product(const fc_gemm *g, cudaStream_t stream) {
  const fc_short<F> t = {static_cast<const F *>(g->a),
                         static_cast<const F *>(g->b),
                         g->m,
                         g->n,
                         g->a_row,
                         g->a_col,
                         g->b_row,
                         g->b_col,
                         0,
                         fc_gemm_result_of<F>(g),
                         static_cast<int>(g->k)};
  return fc_short_product(t, stream);
}

template <typename F> fc_status mma_product(const fc_gemm *g, int processors, cudaStream_t stream) {
  const operand<F, double> a = operand_of<F, double>(g->a, g->a_row, g->a_col),
                           b = operand_of<F, double>(g->b, g->b_col, g->b_row);
  const fc_mma_operand rows = {a.data, a.across, a.along, g->m}, columns = {b.data, b.across, b.along, g->n};
  return fc_dmma_product<F>(rows, columns, g->k, fc_gemm_result_of<F, double>(g), processors, stream);
}

template <typename F, typename S> fc_status tiled_product(const fc_gemm *g, cudaStream_t stream) {
  const operand<F, S> a = operand_of<F, S>(g->a, g->a_row, g->a_col),
                      b = operand_of<F, S>(g->b, g->b_col, g->b_row);
  // Of floats that are widened those are on the tensor cores.
  return fc_tile_product<S, std::is_same<F, S>::value>(g->m, g->n, g->k, a, b, fc_gemm_result_of<F, S>(g),
                                                       stream);
}

fc_status tma_product(const fc_gemm *g, const fc_gemm_choice &c, float, cudaStream_t stream) {
  return fc_gemm_tma_f32(g, &c, stream);
}
fc_status tma_product(const fc_gemm *g, const fc_gemm_choice &c, double, cudaStream_t stream) {
  return fc_gemm_tma_f64(g, &c, stream);
}

template <typename F>
fc_status launch(const fc_gemm *g, const fc_gemm_choice &c, const fc_gemm_chip &chip, cudaStream_t stream) {
  switch (c.launch) {
  case FC_GEMM_THIN: return thin_product<F>(g, stream);
  case FC_GEMM_SHORT: return short_product<F>(g, stream);
  case FC_GEMM_TMA: return tma_product(g, c, F(), stream);
  case FC_GEMM_MMA: return mma_product<F>(g, chip.processors, stream);
  default:
    return fc_gemm_widens(&chip, g->k) ? tiled_product<F, double>(g, stream) : tiled_product<F, F>(g, stream);
  }
}

template <typename F> fc_status multiply(const fc_gemm *given, cudaStream_t stream) {
  fc_gemm g = fc_gemm_by_rows(given);
  if (g.alpha == 0) g.k = 0;
  if (g.m == 0 || g.n == 0) return FC_OK;
  const fc_gemm_chip chip = fc_gemm_chip_now();
  fc_gemm_choice c = fc_gemm_choose(&g, &chip, FC_GEMM_THIN);
  fc_status status = launch<F>(&g, c, chip, stream);
  while (status == FC_UNSUPPORTED && c.launch < FC_GEMM_TILE) {
    c = fc_gemm_choose(&g, &chip, static_cast<fc_gemm_launch>(c.launch + 1));
    status = launch<F>(&g, c, chip, stream);
  }
  return status;
}

} // namespace

extern "C" fc_status fc_gemm_cuda(const fc_gemm *g, void *stream) {
  fc_status status = fc_gemm_check(g);
  if (status != FC_OK) return status;
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  return fc_dispatch_compute(g->type, [&](auto f) { return multiply<decltype(f)>(g, s); });
}
