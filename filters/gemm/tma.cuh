// SPDX-License-Identifier: MIT
//
// tma.cuh - products of matrices whose slices are loaded by the tensor memory accelerator (TMA) of sm_90.
//
// A block is persistent and computes tiles of BM x BN sums one after the other, in registers. Slices of 128
// bytes in k go through STAGES buffers in shared memory: a thread of a separate warp group keeps the TMA
// busy; a buffer's barrier `full` signals that its slice has arrived, `empty` that all warps have finished
// with it. So the multiplying warps neither move nor address elements, they read each step's operands from
// shared memory a step in advance across slices and tiles, and they get the other group's registers.
//
// A slice consists of lines of 128 bytes, as in memory: by k if neighbours in k are adjacent, else by rows.
// The TMA swizzles the 16-byte pieces of a line by its number modulo 8, so that those of a column of lines
// are in different banks. Elements beyond the matrix arrive as zeros. Floats that are multiplied as doubles
// are stored as floats, and widened when they are read.
//
// The arithmetic is a class: tma_f64.cuh. Internal to filters/.
#ifndef FC_FILTERS_GEMM_TMA_CUH
#define FC_FILTERS_GEMM_TMA_CUH

#include <cuda.h>
#include <type_traits>

#include "filters/gpu/copy_bulk.cuh"
#include "filters/gpu/cuda.cuh"
#include "filters/gemm/gemm_tiles.h"
#include "filters/gemm/result.cuh"

// If the instructions are available (sm_90a: registers are reassigned, see setmaxnreg); elsewhere kernels are
// empty and never launched (fc_tma_ready).
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define FC_TMA_CODE 1
#else
#define FC_TMA_CODE 0
#endif

// ---- copies --------------------------------------------------------------------

#if FC_TMA_CODE
// The box with its first element at (x, y), x along lines.
__device__ __forceinline__ void fc_tma_copy(uint32_t to, const CUtensorMap *map, int x, int y, uint32_t bar) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
               "l"(map), "r"(x), "r"(y), "r"(bar)
               : "memory");
}
#endif

// ---- slices ------------------------------------------------------------------

// One operand's: W rows (columns); BY_K: neighbours in k are neighbours. Doubles may be of PIECES times as
// many steps: by k one piece after the other.
template <typename F_, int W_, bool BY_K_, int PIECES = 1> struct fc_tma_slice {
  using F = F_;
  static constexpr int W = W_, BK = 128 / static_cast<int>(sizeof(F)), bytes = 128 * W * PIECES;
  static constexpr bool BY_K = BY_K_, swapped = true;
  static constexpr int PART = BY_K ? W : BK; // rows of a box
  static constexpr int box_x = BY_K ? BK : PART, box_y = BY_K ? PART : BK * PIECES;
  static_assert(W % PART == 0 && W <= 256 && box_y <= 256, "whole boxes");

#if FC_TMA_CODE
  static __device__ __forceinline__ void copy(uint32_t to, const CUtensorMap *map, int row, int k,
                                              uint32_t bar) {
#pragma unroll
    for (int p = 0; p < (BY_K ? PIECES : 1); p++)
#pragma unroll
      for (int r = 0; r < W; r += PART)
        fc_tma_copy(to + (p * W + r * (BY_K ? 1 : PIECES)) * 128, map, BY_K ? k + p * BK : row + r,
                    BY_K ? row + r : k, bar);
  }
#endif
};

// Floats for as many steps as doubles would have: boxes of LINE elements across, one after the other.
template <int W_, bool BY_K_, int PIECES> struct fc_tma_floats {
  using F = float;
  static constexpr int W = W_, STEPS = 16 * PIECES, bytes = W * STEPS * 4;
  static constexpr bool BY_K = BY_K_;
  static constexpr int LONG = BY_K ? STEPS : W, LINE = LONG < 32 ? LONG : 32;
  static constexpr bool swapped = LINE == 32;
  static constexpr int box_x = LINE, box_y = BY_K ? W : STEPS;
  static_assert(LONG % LINE == 0, "whole boxes");

#if FC_TMA_CODE
  static __device__ __forceinline__ void copy(uint32_t to, const CUtensorMap *map, int row, int k,
                                              uint32_t bar) {
#pragma unroll
    for (int x = 0; x < LONG; x += LINE)
      fc_tma_copy(to + x * box_y * 4, map, BY_K ? k + x : row + x, BY_K ? row : k, bar);
  }
#endif
};

template <typename F, int W, bool BY_K, int PIECES>
using fc_tma_slice_of =
    std::conditional_t<sizeof(F) == 4, fc_tma_floats<W, BY_K, PIECES>, fc_tma_slice<double, W, BY_K, PIECES>>;

// ---- tiles and their slices, in the order they are made ------------------------

struct fc_tma_work {
  int64_t m, n;
  int down, across, tiles, slices; // tiles; slices of k of each
  int group;                       // rows of tiles that are made column by column
  int k;

  // Concurrent tiles share the content of the second-level cache.
  __device__ __forceinline__ void place(int tile, int bm, int bn, int *i0, int *j0) const {
    const int band = tile / (group * across), first = band * group;
    const int rows = down - first < group ? down - first : group, rest = tile - first * across;
    *i0 = (first + rest % rows) * bm;
    *j0 = rest / rows * bn;
  }
};

// The tiles of a block: blockIdx.x, blockIdx.x + gridDim.x, ...
__device__ __forceinline__ int fc_tma_slices_of_block(const fc_tma_work &w) {
  const int first = static_cast<int>(blockIdx.x), step = static_cast<int>(gridDim.x);
  return ((w.tiles - first - 1) / step + 1) * w.slices;
}

template <int STAGES> struct fc_tma_ring {
  int stage = 0;
  uint32_t phase = 0;
  __device__ __forceinline__ void step(void) {
    if (++stage == STAGES) stage = 0, phase ^= 1;
  }
};

// The sequence of slices as the multiplying warps see it.
template <class M> struct fc_tma_pipe {
  static constexpr int STAGE = M::slice_a::bytes + M::slice_b::bytes;
  const unsigned char *a, *b; // the current slice
  const unsigned char *slices;
  uint32_t full, empty; // barriers of the first buffer
  int left;             // slices, this one and those to come
  int lane;
  uint32_t nothing; // 0, unknown to the compiler
  fc_tma_ring<M::STAGES> ring;

#if FC_TMA_CODE
  __device__ __forceinline__ void await(void) {
    fc_bar_wait(full + 8 * ring.stage, ring.phase);
    a = slices + ring.stage * STAGE;
    b = a + M::slice_a::bytes;
  }
  // Advances to the next slice: the TMA may overwrite this one. After the last it stays. An arrival does not
  // wait for outstanding reads, which may be held up behind stores for longer than the TMA takes: so it is
  // made to depend on `seen`, which is computed from all values read last.
  __device__ __forceinline__ void advance(uint32_t seen) {
    __syncwarp();
    const uint32_t bar = empty + 8 * ring.stage + (seen & nothing);
    asm volatile("{\n"
                 ".reg .pred first;\n"
                 "setp.eq.s32 first, %1, 0;\n"
                 "@first mbarrier.arrive.shared::cta.b64 _, [%0];\n"
                 "}" ::"r"(bar),
                 "r"(lane)
                 : "memory");
    ring.step();
    if (--left > 0) await();
  }
#endif
};

// ---- results -------------------------------------------------------------------

// C = alpha sum + beta D for elements F and sums S. `packs`: columns are adjacent, and rows are multiples of
// 16 bytes.
template <typename F_, typename S = F_> struct fc_tma_result {
  using F = F_;
  F *data;
  int64_t row, col;
  S alpha, beta;
  bool packs;
  const F *d;
  int64_t d_row, d_col;

  template <typename T> __device__ __forceinline__ F value(int64_t i, int64_t j, T sum) const {
    return fc_gemm_value<F, T>(sum, static_cast<T>(alpha), static_cast<T>(beta), d + i * d_row + j * d_col);
  }
  template <typename T> __device__ __forceinline__ void store(int64_t i, int64_t j, T sum) const {
    data[i * row + j * col] = value(i, j, sum);
  }
  __device__ __forceinline__ void store_pair(int64_t i, int64_t j, S low, S high) const {
    struct alignas(2 * sizeof(F)) pair {
      F v[2];
    };
    *reinterpret_cast<pair *>(data + i * row + j) = {value(i, j, low), value(i, j + 1, high)};
  }
};

// ---- the kernel ----------------------------------------------------------------

// The arithmetic of a tile, M, by WARPS warps, BLOCKS blocks per multiprocessor: slice_a, slice_b; M(warp,
// lane), begin(pipe), clear(), multiply(pipe), store(c, i0, j0, m, n).
template <class M> struct fc_tma_shares {
  // Only groups of four warps can reassign registers.
  static constexpr bool groups = M::WARPS % 4 == 0;
  static constexpr int feeders = groups ? 4 : 1, warps = M::WARPS + feeders;
  // Registers per thread, in multiples of eight: at launch, and then for the loading and the multiplying
  // warps.
  static constexpr int all = 65536 / (32 * warps * M::BLOCKS) / 8 * 8;
  static constexpr int few = 40, rest = (all * warps - few * feeders) / M::WARPS / 8 * 8;
  static constexpr int many = rest < 240 ? rest : 240;
};

#if FC_TMA_CODE
// Loads the slices of the block's tiles, one after the other, each when its buffer is empty: by one thread.
template <class M>
__device__ __forceinline__ void fc_tma_feed(const CUtensorMap *a, const CUtensorMap *b,
                                            const fc_tma_work &work, uint32_t slices, uint32_t full,
                                            uint32_t empty) {
  constexpr int STAGE = M::slice_a::bytes + M::slice_b::bytes;
  fc_tma_ring<M::STAGES> ring;
  for (int tile = static_cast<int>(blockIdx.x); tile < work.tiles; tile += static_cast<int>(gridDim.x)) {
    int i0, j0;
    work.place(tile, M::BM, M::BN, &i0, &j0);
    for (int s = 0; s < work.slices; s++, ring.step()) {
      const uint32_t bar = full + 8 * ring.stage, to = slices + ring.stage * STAGE;
      fc_bar_wait(empty + 8 * ring.stage, ring.phase ^ 1);
      fc_bar_expect(bar, STAGE);
      M::slice_a::copy(to, a, i0, s * M::BK, bar);
      M::slice_b::copy(to + M::slice_a::bytes, b, j0, s * M::BK, bar);
    }
  }
}

// The multiplying warps: tiles, whose slices follow without a pause.
template <class M, class C>
__device__ __forceinline__ void fc_tma_make_tiles(M &math, fc_tma_pipe<M> &pipe, const C &c,
                                                  const fc_tma_work &work) {
  pipe.left = fc_tma_slices_of_block(work);
  pipe.await();
  math.begin(pipe);
  for (int tile = static_cast<int>(blockIdx.x); tile < work.tiles; tile += static_cast<int>(gridDim.x)) {
    math.clear();
#pragma unroll 1
    for (int s = 0; s < work.slices; s++) math.multiply(pipe);
    int i0, j0;
    work.place(tile, M::BM, M::BN, &i0, &j0);
    math.store(c, i0, j0, work.m, work.n);
  }
}
#endif

template <class M, class C>
__global__ void __launch_bounds__(32 * fc_tma_shares<M>::warps, M::BLOCKS)
    fc_tma_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                  const fc_tma_work work, const C c) {
#if FC_TMA_CODE
  using shares = fc_tma_shares<M>;
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ uint64_t bars[2][M::STAGES];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const uint32_t full = fc_shared_address(bars[0]), empty = fc_shared_address(bars[1]);
  // The swizzle depends on the address.
  unsigned char *slices = memory + (-static_cast<int>(fc_shared_address(memory)) & 1023);
  if (threadIdx.x == 0) {
    for (int s = 0; s < M::STAGES; s++) {
      fc_bar_init(full + 8 * s, 1);
      fc_bar_init(empty + 8 * s, M::WARPS);
    }
    fc_bar_publish();
  }
  __syncthreads();

  if (warp >= M::WARPS) {
    if constexpr (shares::groups) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(shares::few));
    if (warp == M::WARPS && lane == 0) fc_tma_feed<M>(&a, &b, work, fc_shared_address(slices), full, empty);
  } else {
    if constexpr (shares::groups) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(shares::many));
    fc_tma_pipe<M> pipe;
    pipe.slices = slices, pipe.full = full, pipe.empty = empty, pipe.lane = lane;
    pipe.nothing = static_cast<uint32_t>(work.k) >> 31;
    M math(warp, lane);
    fc_tma_make_tiles(math, pipe, c, work);
  }
#endif
}

// ---- launching -----------------------------------------------------------------

// C of a product of fc_gemm_by_rows, or of its transpose.
template <typename F, typename S>
static inline fc_tma_result<F, S> fc_tma_result_of(const fc_gemm *g, bool transposed) {
  const int64_t line = g->c_row * static_cast<int64_t>(sizeof(F));
  const bool packs = g->c_col == 1 && g->n * static_cast<int64_t>(sizeof(F)) % 16 == 0 && line % 16 == 0 &&
                     reinterpret_cast<uintptr_t>(g->c) % 16 == 0;
  return {static_cast<F *>(g->c),       transposed ? g->c_col : g->c_row, transposed ? g->c_row : g->c_col,
          static_cast<S>(g->alpha),     static_cast<S>(g->beta),          packs && !transposed,
          static_cast<const F *>(g->d), transposed ? g->d_col : g->d_row, transposed ? g->d_row : g->d_col};
}

typedef CUresult (*fc_tma_encoder)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                   const cuuint64_t *, const cuuint32_t *, const cuuint32_t *,
                                   CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                   CUtensorMapFloatOOBfill);

// The driver's function, or NULL: obtained through the runtime, so that nothing links to the driver.
static inline fc_tma_encoder fc_tma_find_encoder(void) {
  void *function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t error =
      cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found);
#endif
  if (error != cudaSuccess) (void)cudaGetLastError();
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<fc_tma_encoder>(function);
}

template <class S>
static inline bool fc_tma_describe(CUtensorMap *map, fc_tma_encoder encode, const fc_gemm_side &o,
                                   int64_t k) {
  using F = typename S::F;
  const cuuint64_t size[2] = {static_cast<cuuint64_t>(S::BY_K ? k : o.limit),
                              static_cast<cuuint64_t>(S::BY_K ? o.limit : k)};
  const cuuint64_t pitch[1] = {static_cast<cuuint64_t>(S::BY_K ? o.across : o.along) * sizeof(F)};
  const cuuint32_t box[2] = {S::box_x, S::box_y}, every[2] = {1, 1};
  return encode(map, sizeof(F) == 4 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 2,
                const_cast<void *>(o.data), size, pitch, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE,
                S::swapped ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
                CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

// Whether `kernel` has code for this device, and this much shared memory is available.
template <class K> static inline bool fc_tma_ready(K kernel, int bytes) {
  cudaFuncAttributes about;
  const bool ready =
      cudaFuncGetAttributes(&about, kernel) == cudaSuccess && about.ptxVersion == 90 &&
      about.binaryVersion == 90 &&
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) == cudaSuccess;
  if (!ready) (void)cudaGetLastError();
  return ready;
}

// False if there are more rows or tiles than 32 bits can number, as coordinates are, including a tile beyond
// the end.
static inline bool fc_tma_plan(fc_tma_work *work, int bm, int bn, int bk, int64_t m, int64_t n, int64_t k) {
  const int64_t down = (m + bm - 1) / bm, across = (n + bn - 1) / bn, most = INT32_MAX - 1024;
  if (m > most || n > most || k > most || down > most / across) return false;
  work->m = m, work->n = n, work->k = static_cast<int>(k);
  work->down = static_cast<int>(down), work->across = static_cast<int>(across);
  work->tiles = work->down * work->across;
  work->slices = static_cast<int>((k + bk - 1) / bk);
  work->group = 1024 / bm;
  // A block counts its slices in 32 bits; a chip of sm_90 has more than 64 processors.
  return static_cast<int64_t>(work->tiles / 64 + 1) * work->slices <= most;
}

// FC_UNSUPPORTED if the TMA cannot be used: the caller has another kernel.
template <class M, typename F, typename S>
static inline fc_status fc_tma_launch(const fc_gemm_side &a, const fc_gemm_side &b, int64_t k,
                                      const fc_tma_result<F, S> &c, cudaStream_t stream) {
  const auto kernel = fc_tma_kernel<M, fc_tma_result<F, S>>;
  const int bytes = M::STAGES * (M::slice_a::bytes + M::slice_b::bytes) + 1024;
  const fc_tma_encoder encode = fc_tma_find_encoder();
  CUtensorMap from_a, from_b;
  fc_tma_work work;
  if (!encode || !fc_tma_plan(&work, M::BM, M::BN, M::BK, a.limit, b.limit, k) ||
      !fc_tma_describe<typename M::slice_a>(&from_a, encode, a, k) ||
      !fc_tma_describe<typename M::slice_b>(&from_b, encode, b, k) || !fc_tma_ready(kernel, bytes))
    return FC_UNSUPPORTED;
  const int places = fc_gemm_chip_now().processors * M::BLOCKS,
            grid = work.tiles < places ? work.tiles : places;
  kernel<<<static_cast<unsigned>(grid), 32 * fc_tma_shares<M>::warps, static_cast<size_t>(bytes), stream>>>(
      from_a, from_b, work, c);
  return fc_launch_status();
}

// A kernel for each tile of gemm_tiles.h.
template <typename F, typename S>
using fc_tma_launcher = fc_status (*)(const fc_gemm_side &, const fc_gemm_side &, int64_t,
                                      const fc_tma_result<F, S> &, cudaStream_t);

template <class M> constexpr bool fc_tma_is(const fc_gemm_tile &t) {
  return t.rows == M::BM && t.columns == M::BN;
}

// The product in the tile, and the orientation, that were chosen: SIZED<by_k of A, by_k of B>::launchers has
// the kernels.
template <template <bool, bool> class SIZED, typename F, typename S>
static inline fc_status fc_tma_product(const fc_gemm *g, const fc_gemm_choice *choice, cudaStream_t stream) {
  const bool turned = choice->transposed;
  fc_gemm_side a, b;
  fc_gemm_sides(g, turned ? &b : &a, turned ? &a : &b);
  const fc_tma_result<F, S> c = fc_tma_result_of<F, S>(g, turned);
  const fc_tma_launcher<F, S> *of = a.along == 1   ? SIZED<true, false>::launchers // then not b (gemm_plan.c)
                                    : b.along == 1 ? SIZED<false, true>::launchers
                                                   : SIZED<false, false>::launchers;
  return of[choice->tile](a, b, g->k, c, stream);
}

#endif
