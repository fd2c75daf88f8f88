// SPDX-License-Identifier: MIT
//
// gemm_tma.cuh - products of matrices whose slices the copy engine of sm_90 (TMA) brings.
//
// A block stays and makes tiles of BM x BN sums one after the other, in registers. Slices of 128
// bytes in k go through STAGES places in shared memory: a thread of a warp group of its own keeps the
// engine busy, the barrier `full` of a place says that its slice is there, `empty` that all warps have
// left it. So those that multiply neither move nor address elements, they read each step's operands
// from shared memory a step ahead across slices and tiles, and they get the other group's registers.
//
// A slice lies in lines of 128 bytes, as in memory: by k where neighbours in k are neighbours, else
// by rows. The engine swaps the 16-byte pieces of a line by its number modulo 8, so that
// those of a column of lines lie in different banks. Elements beyond the matrix arrive as zeros.
// Floats that lie by k are then turned, by the warps that feed, to lie by rows.
//
// A long k is cut into pieces (gemm_result.cuh). Where there are tiles enough for all processors a block
// makes one piece after the other and adds each to C; where there are not, the blocks of a cluster make a
// piece each, and add them up, in the same order, from each other's shared memory.
//
// The arithmetic is a class: gemm_tma_f64.cuh, gemm_tma_f32.cuh and gemm_tma_flat.cuh. Internal to filters/.
#ifndef FC_FILTERS_GEMM_TMA_CUH
#define FC_FILTERS_GEMM_TMA_CUH

#include <cuda.h>
#include <math.h>

#include "filters/copy_bulk.cuh"
#include "filters/cuda.cuh"
#include "filters/gemm.h"
#include "filters/gemm_result.cuh"

// Where the instructions are (sm_90a: registers change hands, see setmaxnreg); elsewhere kernels are
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

// One operand's: W rows (columns); BY_K: neighbours in k are neighbours. Floats: PART rows at a time,
// in lines of all of them, one a step of k, whose pieces are swapped by k / 4 modulo 8 if they were turned.
// With AS_IT_LIES nothing is, and there may be PIECES times as many steps: by k one piece after the other.
template <typename F, int W_, bool BY_K_, bool AS_IT_LIES = false, int PIECES = 1> struct fc_tma_slice {
  static constexpr int W = W_, BK = 128 / static_cast<int>(sizeof(F)), bytes = 128 * W * PIECES;
  static constexpr bool BY_K = BY_K_, floats = sizeof(F) == 4, turned = BY_K && floats && !AS_IT_LIES;
  static constexpr int PART = turned ? (W < 64 ? W : 64) : floats ? (W < 128 ? W : 128) : BY_K ? W : BK;
  static constexpr int box_x = BY_K ? BK : PART, box_y = BY_K ? PART : BK * PIECES;
  static_assert(W % PART == 0 && W <= 256 && box_y <= 256 && (PIECES == 1 || !turned), "whole boxes");

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

  // By 128 threads, 4 x 4 floats each at a time.
  static __device__ __forceinline__ void turn(unsigned char *slice, int thread) {
    constexpr int EACH = PART / 64 > 0 ? PART / 64 : 1;
    const int b = thread % 8, first = thread / 8; // steps 4 b on; rows 4 (first + 16 e) on
#pragma unroll 1
    for (int part = 0; part < W; part += PART) {
      unsigned char *lines = slice + part * 128;
      float4 v[EACH][4];
#pragma unroll
      for (int e = 0; e < EACH; e++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
          const int row = 4 * (first + 16 * e) + j;
          if (row < PART)
            v[e][j] = *reinterpret_cast<const float4 *>(lines + row * 128 + ((b ^ row % 8) << 4));
        }
      asm volatile("bar.sync 1, 128;" ::: "memory");
#pragma unroll
      for (int e = 0; e < EACH; e++) {
        const int a = first + 16 * e;
        if (4 * a >= PART) continue;
        float4 *to = reinterpret_cast<float4 *>(lines + 4 * b * (PART * 4) + ((a ^ b) << 4));
        to[0 * PART / 4] = make_float4(v[e][0].x, v[e][1].x, v[e][2].x, v[e][3].x);
        to[1 * PART / 4] = make_float4(v[e][0].y, v[e][1].y, v[e][2].y, v[e][3].y);
        to[2 * PART / 4] = make_float4(v[e][0].z, v[e][1].z, v[e][2].z, v[e][3].z);
        to[3 * PART / 4] = make_float4(v[e][0].w, v[e][1].w, v[e][2].w, v[e][3].w);
      }
    }
  }
#endif
};

// ---- tiles and their slices, in the order they are made ------------------------

struct fc_tma_work {
  int64_t m, n;
  int down, across, tiles, slices; // tiles; slices of k of each
  int group;                       // rows of tiles that are made column by column
  int k;
  int piece, pieces; // slices of a piece of k, and pieces of a tile
  bool shared;       // a cluster's blocks make a piece each

  // Tiles at work share what the second cache holds.
  __device__ __forceinline__ void place(int tile, int bm, int bn, int *i0, int *j0) const {
    const int band = tile / (group * across), first = band * group;
    const int rows = down - first < group ? down - first : group, rest = tile - first * across;
    *i0 = (first + rest % rows) * bm;
    *j0 = rest / rows * bn;
  }
};

// What a block does of it: tiles `first`, first + step, ..., and of each the slices from `begin` to `end`.
struct fc_tma_share {
  int first, step, begin, end;

  __device__ __forceinline__ void set(const fc_tma_work &w) {
    first = static_cast<int>(blockIdx.x), step = static_cast<int>(gridDim.x), begin = 0, end = w.slices;
    if (!w.shared) return;
    begin = first % w.pieces * w.piece, first /= w.pieces, step = w.tiles;
    if (begin + w.piece < end) end = begin + w.piece;
  }
  __device__ __forceinline__ int slices(const fc_tma_work &w) const {
    return ((w.tiles - first - 1) / step + 1) * (end - begin);
  }
  // Where the piece that begins here ends.
  __device__ __forceinline__ int stop(const fc_tma_work &w, int slice) const {
    return slice + w.piece < end ? slice + w.piece : end;
  }
};

template <int STAGES> struct fc_tma_ring {
  int stage = 0;
  uint32_t phase = 0;
  __device__ __forceinline__ void step(void) {
    if (++stage == STAGES) stage = 0, phase ^= 1;
  }
};

// The slices as those who multiply see them, one after the other.
template <class M> struct fc_tma_pipe {
  static constexpr int STAGE = M::slice_a::bytes + M::slice_b::bytes;
  const unsigned char *a, *b; // the slice at hand
  const unsigned char *slices;
  uint32_t ready, empty; // barriers of the first place
  int left;              // slices, this one and those to come
  int lane;
  uint32_t nothing; // 0, which the compiler does not know
  fc_tma_ring<M::STAGES> ring;

#if FC_TMA_CODE
  __device__ __forceinline__ void await(void) {
    fc_bar_wait(ready + 8 * ring.stage, ring.phase);
    a = slices + ring.stage * STAGE;
    b = a + M::slice_a::bytes;
  }
  // To the next slice: the engine may overwrite this one. After the last it stays. An arrival does not wait
  // for reads that were begun, and they may be held up behind stores for longer than the engine takes: it is
  // made to depend on `seen`, which is made of all that was read last.
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

// Two or four elements side by side.
template <typename F> using fc_tma_pack = F[16 / sizeof(F)];

#if FC_TMA_CODE
// All threads of all blocks of the cluster, and what they have written.
__device__ __forceinline__ void fc_cluster_wait(void) {
  asm volatile("barrier.cluster.arrive.release;\n"
               "barrier.cluster.wait.acquire;" ::
                   : "memory");
}
// What lies at this address in the shared memory of another block of the cluster.
__device__ __forceinline__ uint32_t fc_cluster_address(uint32_t shared, int rank) {
  uint32_t address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared), "r"(rank));
  return address;
}
__device__ __forceinline__ void fc_cluster_load(float (&v)[4], uint32_t address) {
  asm volatile("ld.shared::cluster.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void fc_cluster_load(double (&v)[2], uint32_t address) {
  asm volatile("ld.shared::cluster.v2.f64 {%0,%1}, [%2];" : "=d"(v[0]), "=d"(v[1]) : "r"(address) : "memory");
}
#endif

__device__ __forceinline__ void fc_tma_read(float (&v)[4], const float *from) {
  const float4 f = *reinterpret_cast<const float4 *>(from);
  v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
}
__device__ __forceinline__ void fc_tma_read(double (&v)[2], const double *from) {
  const double2 f = *reinterpret_cast<const double2 *>(from);
  v[0] = f.x, v[1] = f.y;
}
__device__ __forceinline__ void fc_tma_write(float *to, const float (&v)[4]) {
  *reinterpret_cast<float4 *>(to) = make_float4(v[0], v[1], v[2], v[3]);
}
__device__ __forceinline__ void fc_tma_write(double *to, const double (&v)[2]) {
  *reinterpret_cast<double2 *>(to) = make_double2(v[0], v[1]);
}

// C = alpha sum + beta C: where it adds(), add() to some sums, then put() these, so that reads do not wait
// for each other; or store() one. `packs`: columns are adjacent, and rows are whole sixteens of bytes.
template <typename F_> struct fc_tma_result {
  using F = F_;
  using pack = fc_tma_pack<F>;
  static constexpr int PACK = 16 / static_cast<int>(sizeof(F));
  F *data;
  int64_t row, col;
  F alpha, beta;
  bool packs;

  // For pieces after the first, which are added.
  __device__ __forceinline__ fc_tma_result further(void) const {
    fc_tma_result c = *this;
    c.beta = F(1);
    return c;
  }
  __device__ __forceinline__ bool adds(void) const { return beta != F(0); }
  __device__ __forceinline__ void store(int64_t i, int64_t j, F sum) const {
    F *to = data + i * row + j * col;
    *to = adds() ? fma(beta, *to, fc_times(alpha, sum)) : alpha * sum;
  }
  __device__ __forceinline__ void store_pack(int64_t i, int64_t j, const float (&v)[4]) const {
    *reinterpret_cast<float4 *>(data + i * row + j) =
        make_float4(alpha * v[0], alpha * v[1], alpha * v[2], alpha * v[3]);
  }
  __device__ __forceinline__ void store_pack(int64_t i, int64_t j, const double (&v)[2]) const {
    *reinterpret_cast<double2 *>(data + i * row + j) = make_double2(alpha * v[0], alpha * v[1]);
  }
  // Of the pack the first `count`.
  __device__ __forceinline__ void add(int64_t i, int64_t j, int64_t count, pack &v) const {
    const F *from = data + i * row + j * col;
    pack was = {};
    if (packs) {
      if (count > 0) fc_tma_read(was, from);
    } else {
#pragma unroll
      for (int e = 0; e < PACK; e++)
        if (e < count) was[e] = from[e * col];
    }
#pragma unroll
    for (int e = 0; e < PACK; e++) v[e] = fma(beta, was[e], v[e]);
  }
  __device__ __forceinline__ void put(int64_t i, int64_t j, int64_t count, const pack &v) const {
    F *to = data + i * row + j * col;
    if (packs) {
      if (count > 0) fc_tma_write(to, v);
    } else {
#pragma unroll
      for (int e = 0; e < PACK; e++)
        if (e < count) to[e * col] = v[e];
    }
  }
};

// A tile's sums in shared memory, by rows, whose pieces of 16 bytes are swapped such that those of a column
// lie in different banks.
template <typename F, int BN> struct fc_tma_board {
  static constexpr int PACK = 16 / static_cast<int>(sizeof(F));
  F *data;
  static __device__ __forceinline__ int at(int i, int j) { return i * BN + (j ^ i / PACK % 8 * PACK); }
};

#if FC_TMA_CODE
// Those who multiply.
template <class M> __device__ __forceinline__ void fc_tma_consumers_wait(void) {
  asm volatile("bar.sync 2, %0;" ::"n"(32 * M::WARPS) : "memory");
}

// To C: the sums of a tile that lie in `pieces` blocks of a cluster, in their order, or in this one. Each
// block sees to some rows. By those who have made them.
template <class M, class C>
__device__ __forceinline__ void fc_tma_add_up(const typename C::F *memory, const C &c,
                                              const fc_tma_work &work, int i0, int j0, int rank, int pieces) {
  using F = typename C::F;
  using board = fc_tma_board<F, M::BN>;
  constexpr int PACK = board::PACK, LINE = M::BN / PACK, THREADS = 32 * M::WARPS, AT_ONCE = 4;
  const int rows = work.m - i0 < M::BM ? static_cast<int>(work.m - i0) : M::BM;
  const uint32_t from = fc_shared_address(memory);
  const int step = pieces * THREADS;
#pragma unroll 1
  for (int e0 = rank * THREADS + static_cast<int>(threadIdx.x); e0 < rows * LINE; e0 += AT_ONCE * step) {
    fc_tma_pack<F> sum[AT_ONCE], more;
    uint32_t place[AT_ONCE];
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++) {
      const int e = e0 + u * step < rows * LINE ? e0 + u * step : e0;
      place[u] = from + board::at(e / LINE, e % LINE * PACK) * static_cast<int>(sizeof(F));
      fc_cluster_load(sum[u], fc_cluster_address(place[u], 0));
    }
    if (c.adds())
#pragma unroll
      for (int u = 0; u < AT_ONCE; u++) {
        const int e = e0 + u * step, i = e / LINE, j = j0 + e % LINE * PACK;
        c.add(i0 + i, j, i < rows ? work.n - j : 0, sum[u]);
      }
#pragma unroll 1
    for (int p = 1; p < pieces; p++)
#pragma unroll
      for (int u = 0; u < AT_ONCE; u++) {
        fc_cluster_load(more, fc_cluster_address(place[u], p));
#pragma unroll
        for (int v = 0; v < PACK; v++) sum[u][v] += more[v];
      }
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++) {
      const int e = e0 + u * step, i = e / LINE, j = j0 + e % LINE * PACK;
      c.put(i0 + i, j, i < rows ? work.n - j : 0, sum[u]);
    }
  }
}
#endif

// ---- the kernel ----------------------------------------------------------------

// The arithmetic of a tile, M, by WARPS warps, BLOCKS blocks a processor: slice_a, slice_b;
// M(warp, lane), begin(pipe), clear(), multiply(pipe, steps of k left), store(c, i0, j0,
// m, n), and if it SPLITS into pieces dump(board, alpha), which writes all sums there, times alpha.
template <class M> struct fc_tma_shares {
  // Only groups of four warps can hand over registers.
  static constexpr bool groups = M::WARPS % 4 == 0;
  static constexpr int feeders = groups ? 4 : 1, warps = M::WARPS + feeders;
  // Registers a thread, in eights: what all begin with; those of the feeders and of the others then.
  static constexpr int all = 65536 / (32 * warps * M::BLOCKS) / 8 * 8;
  static constexpr bool turns = M::slice_a::turned || M::slice_b::turned;
  static_assert(groups || !turns, "a group turns");
  static constexpr bool turns_both = M::slice_a::turned && M::slice_b::turned;
  // With fewer than it needs one side spills, and then the compiler deals out all registers badly.
  static constexpr int few = turns_both ? 80
                             : turns    ? 64
                                        : 40,
                       rest = (all * warps - few * feeders) / M::WARPS / 8 * 8;
  static constexpr int many = rest < 240 ? rest : 240;
};

#if FC_TMA_CODE
// Those who feed: slices of the block's tiles, one after the other.
template <class M> struct fc_tma_feed {
  static constexpr int STAGE = M::slice_a::bytes + M::slice_b::bytes;
  const CUtensorMap *a, *b;
  const fc_tma_work &work;
  const fc_tma_share &share;
  unsigned char *slices;
  uint32_t shared, full, ready, empty;
  int thread;
  int tile, slice, i0, j0; // that is copied next
  fc_tma_ring<M::STAGES> ring, turning;

  __device__ __forceinline__ void begin(void) {
    tile = share.first, slice = share.begin;
    work.place(tile, M::BM, M::BN, &i0, &j0);
  }
  // Begins to copy the next slice, once its place is empty: by one thread.
  __device__ __forceinline__ void copy(void) {
    const uint32_t bar = full + 8 * ring.stage, to = shared + ring.stage * STAGE;
    fc_bar_wait(empty + 8 * ring.stage, ring.phase ^ 1);
    fc_bar_expect(bar, STAGE);
    M::slice_a::copy(to, a, i0, slice * M::BK, bar);
    M::slice_b::copy(to + M::slice_a::bytes, b, j0, slice * M::BK, bar);
    ring.step();
    if (++slice < share.end) return;
    slice = share.begin, tile += share.step;
    if (tile < work.tiles) work.place(tile, M::BM, M::BN, &i0, &j0);
  }
  __device__ __forceinline__ void turn(void) {
    unsigned char *at = slices + turning.stage * STAGE;
    fc_bar_wait(full + 8 * turning.stage, turning.phase);
    if (M::slice_a::turned) M::slice_a::turn(at, thread);
    if (M::slice_b::turned) M::slice_b::turn(at + M::slice_a::bytes, thread);
    // What is written here is overwritten by the engine later.
    fc_bulk_after_stores();
    fc_bar_arrive(ready + 8 * turning.stage);
    turning.step();
  }
  // The next `count` slices.
  __device__ __forceinline__ void feed(int count) {
    if (!fc_tma_shares<M>::turns) {
      if (thread == 0)
        for (; count > 0; count--) copy();
      return;
    }
    int left = count; // to be copied
    if (thread == 0)
      for (; left > 0 && left > count - (M::STAGES - 1); left--) copy();
    for (; count > 0; count--) {
      turn();
      // Waits for those who multiply to leave the slice before this one.
      if (thread == 0 && left > 0) copy(), left--;
      __syncwarp();
    }
  }
};
#endif

#if FC_TMA_CODE
// Those who multiply: tiles, each of one piece, whose slices come without a pause.
template <class M, class C>
__device__ __forceinline__ void fc_tma_make_tiles(M &math, fc_tma_pipe<M> &pipe, const fc_tma_share &share,
                                                  const C &c, const fc_tma_work &work) {
  pipe.left = share.slices(work);
  pipe.await();
  math.begin(pipe);
  for (int tile = share.first; tile < work.tiles; tile += share.step) {
    math.clear();
#pragma unroll 1
    for (int s = 0; s < work.slices; s++) math.multiply(pipe, work.k - s * M::BK);
    int i0, j0;
    work.place(tile, M::BM, M::BN, &i0, &j0);
    math.store(c, i0, j0, work.m, work.n);
  }
}

// The same of pieces, whose sums go to C by way of the slices' memory. `free` says to those who feed that
// they may have it again.
template <class M, class C>
__device__ __forceinline__ void fc_tma_make_pieces(M &math, fc_tma_pipe<M> &pipe, const fc_tma_share &share,
                                                   const C &c, const fc_tma_work &work, typename C::F *memory,
                                                   uint32_t free) {
  using F = typename C::F;
  int i0, j0;
  for (int tile = share.first; tile < work.tiles; tile += share.step)
    for (int s = share.begin; s < share.end;) {
      const int stop = share.stop(work, s);
      pipe.left = stop - s;
      pipe.await();
      math.begin(pipe);
      math.clear();
#pragma unroll 1
      for (; s < stop; s++) math.multiply(pipe, work.k - s * M::BK);
      fc_tma_consumers_wait<M>();
      math.dump(fc_tma_board<F, M::BN>{memory}, c.alpha);
      work.place(tile, M::BM, M::BN, &i0, &j0);
      if (work.shared) break;
      fc_tma_consumers_wait<M>();
      const C to = s > share.begin + work.piece ? c.further() : c;
      fc_tma_add_up<M>(memory, to, work, i0, j0, 0, 1);
      // The engine may write where these sums were.
      fc_bulk_after_stores();
      __syncwarp();
      if (pipe.lane == 0) fc_bar_arrive(free);
    }
  if (!work.shared) return;
  fc_cluster_wait();
  const int rank = static_cast<int>(blockIdx.x) % work.pieces;
  fc_tma_add_up<M>(memory, c, work, i0, j0, rank, work.pieces);
  // Others still read what this block has.
  fc_cluster_wait();
}
#endif

template <class M, class C>
__global__ void __launch_bounds__(32 * fc_tma_shares<M>::warps, M::BLOCKS)
    fc_tma_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                  const fc_tma_work work, const C c) {
#if FC_TMA_CODE
  using shares = fc_tma_shares<M>;
  using F = typename C::F;
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ uint64_t bars[3][M::STAGES], bar_free;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const uint32_t full = fc_shared_address(bars[0]), empty = fc_shared_address(bars[1]);
  const uint32_t ready = shares::turns ? fc_shared_address(bars[2]) : full,
                 free = fc_shared_address(&bar_free);
  // Swapping pieces of lines goes by the address.
  unsigned char *slices = memory + (-static_cast<int>(fc_shared_address(memory)) & 1023);
  __shared__ fc_tma_share share; // where it costs no registers
  if (threadIdx.x == 0) {
    share.set(work);
    for (int s = 0; s < M::STAGES; s++) {
      fc_bar_init(full + 8 * s, 1);
      fc_bar_init(empty + 8 * s, M::WARPS);
      if (shares::turns) fc_bar_init(ready + 8 * s, 32 * shares::feeders);
    }
    fc_bar_init(free, M::WARPS);
    fc_bar_publish();
  }
  __syncthreads();

  if (warp >= M::WARPS) {
    if constexpr (shares::groups) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(shares::few));
    fc_tma_feed<M> feed = {&a,     &b,
                           work,   share,
                           slices, fc_shared_address(slices),
                           full,   ready,
                           empty,  static_cast<int>(threadIdx.x) - 32 * M::WARPS};
    feed.begin();
    if (!M::SPLITS || work.pieces == 1) {
      feed.feed(share.slices(work));
      return;
    }
    uint32_t phase = 1;
    for (int tile = share.first; tile < work.tiles; tile += share.step)
      for (int s = share.begin; s < share.end; s = share.stop(work, s), phase ^= 1) {
        fc_bar_wait(free, phase);
        feed.feed(share.stop(work, s) - s);
      }
    if (!work.shared) return;
    fc_cluster_wait();
    fc_cluster_wait();
  } else {
    if constexpr (shares::groups) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(shares::many));
    fc_tma_pipe<M> pipe;
    pipe.slices = slices, pipe.ready = ready, pipe.empty = empty, pipe.lane = lane;
    pipe.nothing = static_cast<uint32_t>(work.k) >> 31;
    M math(warp, lane);
    if (M::SPLITS && work.pieces > 1) {
      if constexpr (M::SPLITS)
        fc_tma_make_pieces(math, pipe, share, c, work, reinterpret_cast<F *>(slices), free);
    } else {
      fc_tma_make_tiles(math, pipe, share, c, work);
    }
  }
#endif
}

// ---- launching -----------------------------------------------------------------

// One operand, A by rows or B by columns; distances in elements.
template <typename F> struct fc_tma_operand {
  const F *data;
  int64_t across, along; // to the next row (column), to the next k
  int64_t limit;         // rows (columns) there are
  bool by_k(void) const { return along == 1; }
  // A single row is as long as one likes.
  void stretch(int64_t k) {
    const int64_t whole = 16 / static_cast<int64_t>(sizeof(F));
    if (limit == 1 && by_k()) across = (k + whole - 1) / whole * whole;
  }
  // Whether the engine can read it: lines 16 bytes aligned and less than 2^40 apart.
  bool readable(void) const {
    const int64_t line = (by_k() ? across : along) * static_cast<int64_t>(sizeof(F));
    return (along == 1 || across == 1) && line > 0 && line % 16 == 0 && line < (INT64_C(1) << 40) &&
           reinterpret_cast<uintptr_t>(data) % 16 == 0;
  }
};

// What a product is made of, or false where the engine cannot read it.
template <typename F>
static inline bool fc_tma_operands(const fc_gemm *g, fc_tma_operand<F> *a, fc_tma_operand<F> *b,
                                   fc_tma_result<F> *c) {
  *a = {static_cast<const F *>(g->a), g->a_row, g->a_col, g->m};
  *b = {static_cast<const F *>(g->b), g->b_col, g->b_row, g->n};
  *c = {static_cast<F *>(g->c), g->c_row, g->c_col, static_cast<F>(g->alpha), static_cast<F>(g->beta), false};
  const int64_t line = g->c_row * static_cast<int64_t>(sizeof(F));
  c->packs = g->c_col == 1 && g->n * static_cast<int64_t>(sizeof(F)) % 16 == 0 && line % 16 == 0 &&
             reinterpret_cast<uintptr_t>(g->c) % 16 == 0;
  a->stretch(g->k), b->stretch(g->k);
  return a->readable() && b->readable();
}

// Few columns are computed as the rows of the transpose, whose sums are the same.
template <typename F>
static inline void fc_tma_transpose(fc_tma_operand<F> *a, fc_tma_operand<F> *b, fc_tma_result<F> *c) {
  if (a->limit <= b->limit) return;
  const fc_tma_operand<F> columns = *b;
  *b = *a, *a = columns;
  const int64_t row = c->row;
  c->row = c->col, c->col = row, c->packs = false;
}

typedef CUresult (*fc_tma_encoder)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                   const cuuint64_t *, const cuuint32_t *, const cuuint32_t *,
                                   CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                   CUtensorMapFloatOOBfill);

// The driver's function, or NULL: asked for by the runtime, so that nothing links to the driver.
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

template <class S, typename F>
static inline bool fc_tma_describe(CUtensorMap *map, fc_tma_encoder encode, const fc_tma_operand<F> &o,
                                   int64_t k) {
  const cuuint64_t size[2] = {static_cast<cuuint64_t>(S::BY_K ? k : o.limit),
                              static_cast<cuuint64_t>(S::BY_K ? o.limit : k)};
  const cuuint64_t pitch[1] = {static_cast<cuuint64_t>(S::BY_K ? o.across : o.along) * sizeof(F)};
  const cuuint32_t box[2] = {S::box_x, S::box_y}, every[2] = {1, 1};
  return encode(map, sizeof(F) == 4 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 2,
                const_cast<F *>(o.data), size, pitch, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE,
                S::floats && !S::BY_K ? CU_TENSOR_MAP_SWIZZLE_NONE : CU_TENSOR_MAP_SWIZZLE_128B,
                CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

// Whether `kernel` has code for this device, and may have so much shared memory.
template <class K> static inline bool fc_tma_ready(K kernel, int bytes) {
  cudaFuncAttributes about;
  const bool ready =
      cudaFuncGetAttributes(&about, kernel) == cudaSuccess && about.ptxVersion == 90 &&
      about.binaryVersion == 90 &&
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) == cudaSuccess;
  if (!ready) (void)cudaGetLastError();
  return ready;
}

static inline int fc_tma_processors(void) {
  int device = 0, processors = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return 1;
  return processors;
}

// False for more rows or tiles than 32 bits number, of which coordinates are, also a tile beyond the end.
static inline bool fc_tma_plan(fc_tma_work *work, int bm, int bn, int bk, int64_t m, int64_t n, int64_t k,
                               int64_t piece) {
  const int64_t down = (m + bm - 1) / bm, across = (n + bn - 1) / bn, most = INT32_MAX - 1024;
  if (m > most || n > most || k > most || down > most / across) return false;
  work->m = m, work->n = n, work->k = static_cast<int>(k);
  work->down = static_cast<int>(down), work->across = static_cast<int>(across);
  work->tiles = work->down * work->across;
  work->slices = static_cast<int>((k + bk - 1) / bk);
  work->group = 1024 / bm;
  work->piece = static_cast<int>((piece + bk - 1) / bk);
  work->pieces = (work->slices + work->piece - 1) / work->piece;
  // A block counts its slices in 32 bits; a chip of sm_90 has more than 64 processors.
  return static_cast<int64_t>(work->tiles / 64 + 1) * work->slices <= most;
}

// Blocks in clusters of so many.
template <class K, class... Args>
static inline fc_status fc_tma_start(K kernel, int grid, int threads, int bytes, int cluster,
                                     cudaStream_t stream, const Args &...args) {
  cudaLaunchAttribute about;
  about.id = cudaLaunchAttributeClusterDimension;
  about.val.clusterDim.x = static_cast<unsigned>(cluster);
  about.val.clusterDim.y = about.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(grid)), config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = static_cast<size_t>(bytes), config.stream = stream;
  config.attrs = &about, config.numAttrs = cluster > 1 ? 1 : 0;
  (void)cudaLaunchKernelEx(&config, kernel, args...);
  return fc_launch_status();
}

// With `shared` pieces of k go to the blocks of a cluster. FC_UNSUPPORTED where the engine cannot: the caller
// has another way.
template <class M, typename F>
static inline fc_status fc_tma_launch(const fc_tma_operand<F> &a, const fc_tma_operand<F> &b, int64_t k,
                                      const fc_tma_result<F> &c, bool shared, cudaStream_t stream) {
  const auto kernel = fc_tma_kernel<M, fc_tma_result<F>>;
  const int bytes = M::STAGES * (M::slice_a::bytes + M::slice_b::bytes) + 1024;
  static_assert(M::BM * M::BN * static_cast<int>(sizeof(F)) <=
                    M::STAGES * (M::slice_a::bytes + M::slice_b::bytes),
                "a tile fits where the slices were");
  const fc_tma_encoder encode = fc_tma_find_encoder();
  CUtensorMap from_a, from_b;
  fc_tma_work work;
  if (!encode || !fc_tma_plan(&work, M::BM, M::BN, M::BK, a.limit, b.limit, k, fc_gemm_piece<F>(k)) ||
      !fc_tma_describe<typename M::slice_a>(&from_a, encode, a, k) ||
      !fc_tma_describe<typename M::slice_b>(&from_b, encode, b, k) || !fc_tma_ready(kernel, bytes))
    return FC_UNSUPPORTED;
  work.shared = M::SPLITS && shared && work.pieces > 1 && work.tiles <= INT32_MAX / work.pieces;
  const int places = fc_tma_processors() * M::BLOCKS;
  const int cluster = work.shared ? work.pieces : 1;
  const int grid = work.shared || work.tiles < places ? work.tiles * cluster : places;
  return fc_tma_start(kernel, grid, 32 * fc_tma_shares<M>::warps, bytes, cluster, stream, from_a, from_b,
                      work, c);
}

// ---- which tiles ----------------------------------------------------------------

template <typename F>
using fc_tma_launcher = fc_status (*)(const fc_tma_operand<F> &, const fc_tma_operand<F> &, int64_t,
                                      const fc_tma_result<F> &, bool, cudaStream_t);
template <typename F> struct fc_tma_way {
  double whole, shared; // microseconds, with a tile's pieces by one block, and by one each
  fc_tma_launcher<F> launch;
};

// What a product takes in tiles of this kind on an H200, in microseconds. Given what one of 2048 steps does:
// `alone` where the busiest processor has one of them, `each` of more.
template <class M, typename F>
static inline fc_tma_way<F> fc_tma_way_of(const fc_tma_operand<F> &a, const fc_tma_operand<F> &b, int64_t k,
                                          double alone, double each) {
  const int64_t tiles = (a.limit + M::BM - 1) / M::BM * ((b.limit + M::BN - 1) / M::BN);
  const int64_t processors = fc_tma_processors(), piece = fc_gemm_piece<F>(k),
                pieces = (k + piece - 1) / piece;
  const auto time = [&](int64_t parts, int64_t steps) {
    const int64_t most = (parts + processors - 1) / processors;
    return (most > 1 ? each * static_cast<double>(most) : alone) * static_cast<double>(steps) / 2048;
  };
  // To add a tile to C, and what becomes of a piece in a cluster, as measured.
  const double add = M::BM * M::BN * static_cast<double>(sizeof(F)) / 40000;
  const double rounds = static_cast<double>((tiles + processors - 1) / processors);
  if (pieces > 1 && !M::SPLITS) return {INFINITY, INFINITY, fc_tma_launch<M, F>};
  return {time(tiles, k) + add * static_cast<double>(pieces - 1) * rounds,
          pieces > 1 ? time(tiles * pieces, piece) + 2 + add : INFINITY, fc_tma_launch<M, F>};
}

template <typename F> struct fc_tma_choice {
  fc_tma_launcher<F> launch;
  bool shared;
};
template <typename F, int COUNT>
static inline fc_tma_choice<F> fc_tma_best(const fc_tma_way<F> (&ways)[COUNT]) {
  fc_tma_choice<F> best = {ways[0].launch, false};
  double least = INFINITY;
  for (const fc_tma_way<F> &w : ways) {
    if (w.whole < least) least = w.whole, best = {w.launch, false};
    if (w.shared < least) least = w.shared, best = {w.launch, true};
  }
  return best;
}

#endif
