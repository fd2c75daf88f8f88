// SPDX-License-Identifier: MIT
//
// split.cu - products of f32 matrices on the tensor cores of sm_90, to f32's accuracy.
//
// The tensor cores take numbers of 11 significant bits (tf32). Each element is split into a big part and a
// small one, the remainder. Of the four products of parts three are summed, the fourth being negligible:
// small x big + big x small + big x big. Tensor cores truncate when adding, so their sums over 32 steps of k
// are added to separate f32 sums. After Ootomo and Yokota, "Recovering single precision accuracy from Tensor
// Cores" (2022).
//
// First B is split into two matrices in scratch memory, column after column, padded with zeros to whole
// slices. A is copied there too if the copy engine cannot read it in place. Then a block of two groups of
// four warps computes 128 x BN sums at a time, with the pipeline of tma.cuh; A is split in registers.
#include <float.h>
#include "filters/gpu/cuda.cuh"
#include "filters/gemm/result.cuh"
#include "filters/gemm/tma.cuh"

// The instructions by which four warps of sm_90a multiply tf32 numbers: 64 x N sums in registers, 8 steps of
// k, A from registers and B from shared memory. Operands in registers cannot be indexed, so each N is written
// out.

// Descriptor of a slice of B in shared memory: lines of 128 bytes, one per column, swizzled by the copy
// engine, in groups of eight lines. The address and the distance of groups are in units of 16 bytes; bit 62
// selects the 128-byte swizzle.
__device__ __forceinline__ uint64_t fc_wgmma_slice(uint32_t address) {
  return static_cast<uint64_t>((address & 0x3ffff) >> 4) | UINT64_C(1) << 16 | UINT64_C(64) << 32 |
         UINT64_C(1) << 62;
}

// Fence before the first product, after the registers are set; end of a group of products; wait for all
// groups.
__device__ __forceinline__ void fc_wgmma_begin(void) {
#if FC_TMA_CODE
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void fc_wgmma_commit(void) {
#if FC_TMA_CODE
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void fc_wgmma_await(void) {
#if FC_TMA_CODE
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
}

// Tells the compiler that the asynchronous products change these registers: it must neither move accesses to
// them nor keep copies.
template <int COUNT> __device__ __forceinline__ void fc_wgmma_hold(float (&d)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; i++) asm volatile("" : "+f"(d[i])::"memory");
}

// d = a b, or with `add` d += a b. Lane 4g + t of warp w holds rows 16 w + g and + 8 of `a` at k = t (a0, a1)
// and t + 4; d[4 e + 2 h + v] is the sum of row 16 w + g + 8 h and column 8 e + 2 t + v.
template <int N> struct fc_wgmma;

template <> struct fc_wgmma<64> {
  static __device__ __forceinline__ void multiply(float (&d)[32], const uint32_t (&a)[4], uint64_t b,
                                                  int add) {
#if FC_TMA_CODE
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
                 "}, {%32, %33, %34, %35}, %36, add, 1, 1;\n}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                   "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
                   "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                   "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
#endif
  }
};

template <> struct fc_wgmma<128> {
  static __device__ __forceinline__ void multiply(float (&d)[64], const uint32_t (&a)[4], uint64_t b,
                                                  int add) {
#if FC_TMA_CODE
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
                 "}, {%64, %65, %66, %67}, %68, add, 1, 1;\n}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                   "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
                   "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                   "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
                   "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
                   "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
                   "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                   "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
                   "+f"(d[63])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
#endif
  }
};

// F32 numbers split for tensor cores that take 11 significant bits of each (tf32).

// Rounds to tf32, half away from zero. Tensor cores ignore the bits below those of tf32.
__device__ __forceinline__ uint32_t fc_part_rounded(float v) {
  return __float_as_uint(v) + 0x1000;
}

// Three ways to compute the big part. Truncation, the cheapest: the small part has 13 bits, of which 11 are
// used, and NaN stays NaN or becomes an infinity. One addition: the small part has 12 bits and either sign,
// so that the omitted product of two small parts causes no bias; but NaN may become 0 and the largest numbers
// infinite. Rounding to nearest: neither.
__device__ __forceinline__ float fc_part_cut(float v) {
  return __uint_as_float(__float_as_uint(v) & 0xffffe000);
}
__device__ __forceinline__ float fc_part_big(float v) {
  return fc_part_cut(__uint_as_float(fc_part_rounded(v)));
}
__device__ __forceinline__ float fc_part_nearest(float v) {
  const uint32_t bits = __float_as_uint(v), magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return __uint_as_float(bits | 0x400000);
  if (magnitude == 0x7f800000) return v;
  return fc_part_cut(__uint_as_float((bits & 0x80000000) | min(magnitude + 0x1000, 0x7f7fffffu)));
}

__device__ __forceinline__ uint32_t fc_part_small(float v, float big) {
  return fc_part_rounded(v - big);
}

// Sums of split products that are not finite are computed again, as gemm.cu does.
//
// Splitting fails for special values: an infinity has no finite remainder, parts of the largest numbers may
// overflow where the product does not, and the upper bits of a NaN may be those of an infinity. Each of these
// makes a sum non-finite, in its rows and columns only. So only the sums are tested, once per tile, and
// products cost nothing more.

// The matrices as they were given: rows of A, columns of B.
struct fc_plain_operands {
  const float *a, *b;
  int64_t a_across, a_along, b_across, b_along, k;

  // A sum that is NaN stays NaN, so the loop may stop.
  __device__ __forceinline__ double sum(int64_t i, int64_t j) const {
    const float *x = a + i * a_across, *y = b + j * b_across;
    double s = 0;
#pragma unroll 1
    for (int64_t p = 0; p < k && s == s; p++)
      s = fma(static_cast<double>(x[p * a_along]), static_cast<double>(y[p * b_along]), s);
    return s;
  }
};

static inline fc_plain_operands fc_plain_operands_of(const fc_gemm *g) {
  return {static_cast<const float *>(g->a),
          static_cast<const float *>(g->b),
          g->a_row,
          g->a_col,
          g->b_col,
          g->b_row,
          g->k};
}

template <int COUNT> __device__ __forceinline__ bool fc_all_finite(const float (&sum)[COUNT]) {
  float zero[4] = {}; // sum[e] * 0: 0 if finite, else NaN
#pragma unroll
  for (int e = 0; e < COUNT; e++) zero[e % 4] = fmaf(sum[e], 0.f, zero[e % 4]);
  return zero[0] + zero[1] + (zero[2] + zero[3]) == 0;
}

// Stores a lane's sums of a tile, in the order of wgmma: element e is in row i + 8 (e / 2 % 2),
// column j + 8 (e / 4) + e % 2 of C (m x n).
template <class C, int COUNT>
__device__ __forceinline__ void fc_store_careful(const C &c, const float (&sum)[COUNT], int64_t i, int64_t j,
                                                 int64_t m, int64_t n, const fc_plain_operands &plain) {
  static_assert(COUNT <= 64, "bits");
  uint64_t again = 0;
#pragma unroll
  for (int e = 0; e < COUNT; e++) {
    const int64_t row = i + e / 2 % 2 * 8, column = j + e / 4 * 8 + e % 2;
    if (row >= m || column >= n) continue;
    if (fabsf(sum[e]) <= FLT_MAX)
      c.store(row, column, sum[e]);
    else
      again |= UINT64_C(1) << e;
  }
#pragma unroll 1
  for (; again; again &= again - 1) {
    const int e = __ffsll(static_cast<long long>(again)) - 1;
    const int64_t row = i + e / 2 % 2 * 8, column = j + e / 4 * 8 + e % 2;
    c.store(row, column, plain.sum(row, column));
  }
}

namespace {

constexpr int SLICE = FC_GEMM_PARTS_SLICE, BM = 128; // steps of k; rows of a tile

// ---- splitting ------------------------------------------------------------------

constexpr int PACK = 64, PACK_THREADS = 256;

// A matrix of rows (or columns) of k elements, to be packed.
struct packing {
  const float *from;
  int64_t across, along, rows, k;
  int64_t pitch;      // of a packed row: k, padded with zeros
  float *big, *small; // small NULL: copied without splitting
};

// One tile of PACK rows by PACK steps, transposed through shared memory so that reads and writes are both
// contiguous.
__device__ void pack_tile(const packing &p, int64_t r0, int64_t k0, float (*tile)[PACK + 1]) {
  const int x = static_cast<int>(threadIdx.x) % PACK, y = static_cast<int>(threadIdx.x) / PACK;
  const bool by_k = p.along == 1;
#pragma unroll 8
  for (int s = 0; s < PACK; s += PACK_THREADS / PACK) {
    const int row = by_k ? y + s : x, step = by_k ? x : y + s;
    const bool there = r0 + row < p.rows && k0 + step < p.k;
    tile[row][step] = there ? p.from[(r0 + row) * p.across + (k0 + step) * p.along] : 0.f;
  }
  __syncthreads();
#pragma unroll 8
  for (int s = 0; s < PACK; s += PACK_THREADS / PACK) {
    const int64_t row = r0 + y + s, step = k0 + x, to = row * p.pitch + step;
    if (row >= p.rows || step >= p.pitch) continue;
    const float v = tile[y + s][x], big = p.small ? fc_part_nearest(v) : v;
    p.big[to] = big;
    if (p.small) p.small[to] = __uint_as_float(fc_part_small(v, big));
  }
  __syncthreads();
}

// Tiles of the first matrix, then of the second.
__global__ void __launch_bounds__(PACK_THREADS)
    gemm_split_pack(const packing first, const packing second, int64_t steps, int64_t tiles_first,
                    int64_t tiles) {
  __shared__ float tile[PACK][PACK + 1];
#if FC_TMA_CODE
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x)
    if (t < tiles_first)
      pack_tile(first, t / steps * PACK, t % steps * PACK, tile);
    else
      pack_tile(second, (t - tiles_first) / steps * PACK, (t - tiles_first) % steps * PACK, tile);
}

fc_status pack(const packing &first, const packing &second, cudaStream_t stream) {
  const int64_t steps = (first.pitch + PACK - 1) / PACK;
  const int64_t tiles_first = (first.rows + PACK - 1) / PACK * steps;
  const int64_t tiles = tiles_first + (second.rows + PACK - 1) / PACK * steps;
  if (tiles == 0) return FC_OK;
  gemm_split_pack<<<fc_blocks(tiles, 1, 256 * 16), PACK_THREADS, 0, stream>>>(first, second, steps,
                                                                              tiles_first, tiles);
  return fc_launch_status();
}

// ---- the product ------------------------------------------------------------------

template <int BN_, int STAGES_, bool AHEAD_> struct shape {
  static constexpr int BN = BN_, STAGES = STAGES_, WARPS = 8, FEEDERS = 4;
  static constexpr bool AHEAD = AHEAD_;
  using slice_a = fc_tma_slice<float, BM, true>;
  using slice_b = fc_tma_slice<float, BN, true>;
  static constexpr int stage = slice_a::bytes + 2 * slice_b::bytes, bytes = STAGES * stage + 1024;
};

// Narrow tiles keep more multiprocessors busy.
using narrow = shape<64, 6, true>;
using wide = shape<128, 4, false>;

struct operands {
  CUtensorMap a, big, small;
};

#if FC_TMA_CODE
template <class S>
__device__ __forceinline__ void feed(const operands &o, const fc_tma_work &work, uint32_t slices,
                                     uint32_t full) {
  fc_tma_ring<S::STAGES> ring;
  for (int tile = static_cast<int>(blockIdx.x); tile < work.tiles; tile += static_cast<int>(gridDim.x)) {
    int i0, j0;
    work.place(tile, BM, S::BN, &i0, &j0);
    for (int s = 0; s < work.slices; s++, ring.step()) {
      const uint32_t bar = full + 8 * ring.stage, to = slices + ring.stage * S::stage;
      fc_bar_wait(bar + 8 * S::STAGES, ring.phase ^ 1);
      fc_bar_expect(bar, S::stage);
      S::slice_a::copy(to, &o.a, i0, s * SLICE, bar);
      S::slice_b::copy(to + S::slice_a::bytes, &o.big, j0, s * SLICE, bar);
      S::slice_b::copy(to + S::slice_a::bytes + S::slice_b::bytes, &o.small, j0, s * SLICE, bar);
    }
  }
}

// A thread's elements of a slice of A, split.
struct parts {
  uint32_t big[SLICE / 8][4], small[SLICE / 8][4];
};

__device__ __forceinline__ void split_slice(parts &x, const unsigned char *a, int lane) {
  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int p = 0; p < SLICE / 8; p++)
#pragma unroll
    for (int h = 0; h < 4; h++) {
      // Row g or g + 8, k = 8 p + t or + 4; 16-byte pieces of a line are swizzled by the line's number.
      const int at = (g + h % 2 * 8) * 128 + ((2 * p + h / 2 ^ g) << 4) + t * 4;
      const float v = *reinterpret_cast<const float *>(a + at);
      x.big[p][h] = __float_as_uint(fc_part_cut(v));
      x.small[p][h] = fc_part_small(v, __uint_as_float(x.big[p][h]));
    }
}

// The asynchronous products read these registers until they are complete: they must not be reused.
__device__ __forceinline__ void hold_parts(parts &x) {
#pragma unroll
  for (int p = 0; p < SLICE / 8; p++)
#pragma unroll
    for (int h = 0; h < 4; h++) asm volatile("" : "+r"(x.big[p][h]), "+r"(x.small[p][h])::"memory");
}

// Starts the products of one slice, sum = A B. Products with small parts come first, since each addition
// truncates relative to the sum so far, which is 2^-11 of its final size until the last four.
template <class S>
__device__ __forceinline__ void begin_slice(float (&sum)[S::BN / 2], const parts &x, uint32_t b) {
  const uint64_t b_big = fc_wgmma_slice(b), b_small = fc_wgmma_slice(b + S::slice_b::bytes);
  fc_wgmma_hold(sum);
  fc_wgmma_begin();
#pragma unroll
  for (int p = 0; p < SLICE / 8; p++) { // 32 bytes of a line each
    fc_wgmma<S::BN>::multiply(sum, x.small[p], b_big + 2 * p, p > 0);
    fc_wgmma<S::BN>::multiply(sum, x.big[p], b_small + 2 * p, 1);
  }
#pragma unroll
  for (int p = 0; p < SLICE / 8; p++) fc_wgmma<S::BN>::multiply(sum, x.big[p], b_big + 2 * p, 1);
  fc_wgmma_commit();
}

// The slice pipeline as seen by the warps that multiply.
template <class S> struct slice_pipe {
  const unsigned char *slices;
  uint32_t full;
  int warp, lane;
  fc_tma_ring<S::STAGES> taken, left;

  // Splits this warp's part of the next slice of A; returns the address of that of B.
  __device__ __forceinline__ uint32_t take(parts &x) {
    const unsigned char *a = slices + taken.stage * S::stage;
    fc_bar_wait(full + 8 * taken.stage, taken.phase);
    taken.step();
    split_slice(x, a + warp * 16 * 128, lane);
    return fc_shared_address(a + S::slice_a::bytes);
  }
  __device__ __forceinline__ void leave(void) {
    if (lane == 0) fc_bar_arrive(full + 8 * (S::STAGES + left.stage));
    left.step();
  }
  // Waits for the products in `part`, and adds them to `sum`.
  __device__ __forceinline__ void finish(float (&sum)[S::BN / 2], float (&part)[S::BN / 2], parts &x) {
    fc_wgmma_await();
    fc_wgmma_hold(part);
    hold_parts(x);
    leave();
#pragma unroll
    for (int e = 0; e < S::BN / 2; e++) sum[e] += part[e];
  }
};

// The sums of a tile, over an even number of slices. With AHEAD the next slice is split during the products
// of this one: with few products splitting takes as long as they do. Tiles of 128 columns lack the registers
// for this.
template <class S>
__device__ __forceinline__ void add_slices(float (&sum)[S::BN / 2], slice_pipe<S> &pipe, int slices) {
  float part[S::BN / 2];
  parts x;
  if constexpr (!S::AHEAD) {
#pragma unroll 1
    for (int s = 0; s < slices; s++) {
      const uint32_t b = pipe.take(x);
      begin_slice<S>(part, x, b);
      pipe.finish(sum, part, x);
    }
  } else {
    parts y;
    uint32_t b = pipe.take(x);
#pragma unroll 1
    for (int s = 2;; s += 2) {
      begin_slice<S>(part, x, b);
      b = pipe.take(y);
      pipe.finish(sum, part, x);
      begin_slice<S>(part, y, b);
      if (s < slices) b = pipe.take(x);
      pipe.finish(sum, part, y);
      if (s >= slices) break;
    }
  }
}

template <class S>
__device__ __forceinline__ void store_tile(const fc_tma_result<float> &c, const float (&sum)[S::BN / 2],
                                           int64_t i0, int64_t j0, int64_t m, int64_t n) {
#pragma unroll
  for (int e = 0; e < S::BN / 2; e += 2) {
    const int64_t i = i0 + e / 2 % 2 * 8, j = j0 + e / 4 * 8;
    if (i >= m) continue;
    if (c.packs && j + 1 < n) {
      c.store_pair(i, j, sum[e], sum[e + 1]);
      continue;
    }
    if (j < n) c.store(i, j, sum[e]);
    if (j + 1 < n) c.store(i, j + 1, sum[e + 1]);
  }
}

template <class S>
__device__ __forceinline__ void make_tiles(const fc_tma_work &work, const fc_tma_result<float> &c,
                                           const fc_plain_operands &plain, const unsigned char *slices,
                                           uint32_t full, int warp, int lane) {
  slice_pipe<S> pipe;
  pipe.slices = slices, pipe.full = full, pipe.warp = warp, pipe.lane = lane;
  for (int tile = static_cast<int>(blockIdx.x); tile < work.tiles; tile += static_cast<int>(gridDim.x)) {
    float sum[S::BN / 2] = {};
    add_slices<S>(sum, pipe, work.slices);
    int i0, j0;
    work.place(tile, BM, S::BN, &i0, &j0);
    const int64_t i = i0 + warp * 16 + lane / 4, j = j0 + lane % 4 * 2;
    if (fc_all_finite(sum))
      store_tile<S>(c, sum, i, j, work.m, work.n);
    else
      fc_store_careful(c, sum, i, j, work.m, work.n, plain);
  }
}
#endif

template <class S>
__global__ void __launch_bounds__(32 * (S::WARPS + S::FEEDERS), 1)
    gemm_split_product(const __grid_constant__ operands o, const fc_tma_work work,
                       const fc_tma_result<float> c, const fc_plain_operands plain) {
#if FC_TMA_CODE
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ uint64_t bars[2 * S::STAGES];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const uint32_t full = fc_shared_address(bars), empty = full + 8 * S::STAGES;
  unsigned char *slices = memory + (-static_cast<int>(fc_shared_address(memory)) & 1023);
  if (threadIdx.x == 0) {
    for (int s = 0; s < S::STAGES; s++) fc_bar_init(full + 8 * s, 1), fc_bar_init(empty + 8 * s, S::WARPS);
    fc_bar_publish();
  }
  __syncthreads();
  if (warp >= S::WARPS) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    // This block starts while the last tiles are being packed (programmatic dependent launch).
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (warp == S::WARPS && lane == 0) feed<S>(o, work, fc_shared_address(slices), full);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    make_tiles<S>(work, c, plain, slices, full, warp, lane);
  }
#endif
}

template <class S>
fc_status launch(const operands &o, const fc_tma_work &work, const fc_tma_result<float> &c,
                 const fc_plain_operands &plain, cudaStream_t stream) {
  const int places = fc_gemm_chip_now().processors, grid = work.tiles < places ? work.tiles : places;
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(grid)), config.blockDim = dim3(32 * (S::WARPS + S::FEEDERS));
  config.dynamicSmemBytes = S::bytes, config.stream = stream;
  config.attrs = &early, config.numAttrs = S::AHEAD ? 1 : 0; // AHEAD only: large products gain nothing
  (void)cudaLaunchKernelEx(&config, gemm_split_product<S>, o, work, c, plain);
  return fc_launch_status();
}

// ---- the whole --------------------------------------------------------------------

// Estimated cost of a product with tiles of this kind: the columns that the busiest multiprocessor computes,
// including those beyond the edge, divided by the speed of large products in TFLOP/s.
template <class S> double cost_of(int64_t m, int64_t n, double speed) {
  const int64_t tiles = (m + BM - 1) / BM * ((n + S::BN - 1) / S::BN),
                processors = fc_gemm_chip_now().processors;
  return static_cast<double>((tiles + processors - 1) / processors * S::BN) / speed;
}

// FC_UNSUPPORTED, with nothing enqueued, if this kernel does not apply.
template <class S>
fc_status product_by(const fc_gemm *g, const fc_gemm_parts &l, char *scratch, cudaStream_t stream) {
  float *at_a = reinterpret_cast<float *>(scratch), *big = reinterpret_cast<float *>(scratch + l.big);
  float *small = reinterpret_cast<float *>(scratch + l.small);
  const fc_gemm_side b = {big, l.pitch, 1, l.b.limit}, rest = {small, l.pitch, 1, l.b.limit};
  fc_gemm_side a = l.a;
  if (l.packs_a) a = {at_a, l.pitch, 1, l.a.limit};
  fc_tma_work work;
  operands o;
  const fc_tma_encoder encode = fc_tma_find_encoder();
  if (!encode || !fc_tma_plan(&work, BM, S::BN, SLICE, a.limit, b.limit, g->k) ||
      !fc_tma_describe<typename S::slice_a>(&o.a, encode, a, g->k) ||
      !fc_tma_describe<typename S::slice_b>(&o.big, encode, b, g->k) ||
      !fc_tma_describe<typename S::slice_b>(&o.small, encode, rest, g->k) ||
      !fc_tma_ready(gemm_split_product<S>, S::bytes))
    return FC_UNSUPPORTED;
  if (S::AHEAD) work.slices += work.slices % 2; // slices beyond the end are zeros
  const packing of_b = {
      static_cast<const float *>(l.b.data), l.b.across, l.b.along, l.b.limit, g->k, l.pitch, big, small};
  const packing of_a = {static_cast<const float *>(l.a.data),
                        l.a.across,
                        l.a.along,
                        l.packs_a ? l.a.limit : 0,
                        g->k,
                        l.pitch,
                        at_a,
                        nullptr};
  const fc_status status = pack(of_b, of_a, stream);
  const fc_tma_result<float> c = fc_tma_result_of<float, float>(g, false);
  return status == FC_OK ? launch<S>(o, work, c, fc_plain_operands_of(g), stream) : status;
}

fc_status product(const fc_gemm *given, char *scratch, cudaStream_t stream) {
  const fc_gemm g = fc_gemm_by_rows(given);
  const fc_gemm_parts l = fc_gemm_parts_of(&g);
  if (cost_of<narrow>(l.a.limit, l.b.limit, 105) < cost_of<wide>(l.a.limit, l.b.limit, 130))
    return product_by<narrow>(&g, l, scratch, stream);
  return product_by<wide>(&g, l, scratch, stream);
}

// Shorter sums are as fast in plain f32, whose error is below that of three products of parts.
constexpr int64_t FEW_STEPS = 32;

} // namespace

extern "C" fc_status fc_gemm_split_cuda(const fc_gemm *g, void *scratch, void *stream) {
  const fc_status status = fc_gemm_check(g);
  if (status != FC_OK) return status;
  if (g->type != FC_F32 || g->m == 0 || g->n == 0 || g->k == 0 || g->alpha == 0) return FC_UNSUPPORTED;
  if (g->k <= FEW_STEPS) return fc_gemm_cuda(g, stream);
  if (!fc_tma_ready(gemm_split_product<narrow>, narrow::bytes)) return FC_UNSUPPORTED;
  return product(g, static_cast<char *>(scratch), static_cast<cudaStream_t>(stream));
}
