// SPDX-License-Identifier: MIT
//
// tma_f64.cuh - a tile of f64 sums on the tensor cores of sm_90, for tma.cuh, of matrices of doubles or
// floats.
//
// A warp computes 16 MI x 8 NI sums. Rows are distributed to lanes such that the 4 x 4 elements that half a
// warp reads together are in different banks: their pieces of 16 bytes have been swizzled by the TMA. Every
// sum takes its products in ascending k.
#ifndef FC_FILTERS_GEMM_TMA_F64_CUH
#define FC_FILTERS_GEMM_TMA_F64_CUH

#include <type_traits>

#include "filters/gemm/tma.cuh"

// c += a b for 16 x 8 sums and 4 or 8 steps of k. Lane 4g + t holds rows g and g + 8 of `a` at k = t
// (a0, a1) and t + 4, column g of `b` there, and columns 2t and 2t + 1 of the sums in rows g and g + 8.
__device__ __forceinline__ void fc_tma_mma(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if FC_TMA_CODE
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
               "{%0,%1,%2,%3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#endif
}
__device__ __forceinline__ void fc_tma_mma(double (&c)[4], const double (&a)[8], const double (&b)[4]) {
#if FC_TMA_CODE
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
      "{%12,%13,%14,%15}, {%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]),
        "d"(b[1]), "d"(b[2]), "d"(b[3]));
#endif
}
__device__ __forceinline__ void fc_tma_mma(double (&c)[4], const double (&a)[2], const double (&b)[1]) {
#if FC_TMA_CODE
  asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a[0]), "d"(a[1]), "d"(b[0]));
#endif
}

// Groups of eight rows (columns) of one operand's slice S, as a lane sees them. By rows they are distributed
// in pairs: HALF if a warp has one of a pair.
template <class S, int PIECES, bool HALF> struct fc_tma_eights {
  static constexpr bool BY_K = S::BY_K;
  int base; // bytes to the first eight's element at k = t
  int odd;  // the first eight is the second of two

  __device__ __forceinline__ fc_tma_eights(int lane, int first) : odd(HALF && !BY_K ? first / 8 % 2 : 0) {
    const int g = lane / 4, t = lane % 4;
    base = BY_K ? place(g, 0) * 128 + ((t / 2 ^ place(g, 0)) << 4) + t % 2 * 8
                : t * 128 + ((place(g, 0) / 2 ^ t) << 4) + g % 2 * 8;
    base += (first - 8 * odd) * 128 * (BY_K ? 1 : PIECES);
  }
  // The g-th row of the j-th eight. By k: those of half a warp have 4 different pairs of pieces. By rows:
  // each line has its own two pieces, 4 apart.
  static __device__ __forceinline__ int place(int g, int j) {
    if (BY_K) return 8 * j + 2 * (g % 4) + g / 4;
    return j / 2 * 16 + j % 2 * 4 + g % 2 + g / 2 % 2 * 8 + g / 4 * 2;
  }
  // The same from the warp's first on.
  __device__ __forceinline__ int from_first(int g, int j) const { return place(g, j + odd) - 8 * odd; }
  // At k = 4 q + t of a piece.
  __device__ __forceinline__ double load(const unsigned char *slice, int piece, int j, int q) const {
    const int e = j + odd;
    const int at = BY_K ? (base ^ q << 5) + j * 1024 + piece * (128 * S::W)
                        : (base ^ e % 2 << 5 ^ q % 2 << 6) + e / 2 * (2048 * PIECES) + q * 512 + piece * 2048;
    return *reinterpret_cast<const double *>(slice + at);
  }
};

// The same for floats as loaded by the TMA, S, which are widened when they are read: used if few warps read
// each. SPREAD: by rows, eights are arranged such that no two lanes use the same bank.
template <class S, bool SPREAD_> struct fc_tma_floats_eights {
  static constexpr bool BY_K = S::BY_K, SPREAD = SPREAD_ && !BY_K && S::LINE == 32;
  static_assert(!BY_K || S::LINE == 32, "whole lines");
  int base, first;

  __device__ __forceinline__ fc_tma_floats_eights(int lane, int first_) : first(first_) {
    const int g = lane / 4, t = lane % 4;
    if (BY_K)
      base = (first + g) * 128 + (g << 4) + t * 4;
    else if (S::LINE == 32)
      base = first / 32 * (S::STEPS * 128) + t * 128 +
             (((SPREAD ? g / 4 * 4 + first / 8 % 4 : first % 32 / 4 + g / 4) ^ t) << 4) + g % 4 * 4;
    else
      base = t * 64 + (first + g) * 4;
  }
  static __device__ __forceinline__ int place(int g, int j) {
    return SPREAD ? j / 4 * 32 + g / 4 * 16 + j % 4 * 4 + g % 4 : 8 * j + g;
  }
  __device__ __forceinline__ int from_first(int g, int j) const { return place(g, first / 8 + j) - first; }
  __device__ __forceinline__ double load(const unsigned char *slice, int piece, int j, int q) const {
    int at;
    if (BY_K)
      at = (base ^ (piece % 2 * 4 + q) << 4) + piece / 2 * (128 * S::W) + j * 1024;
    else if (S::LINE == 32)
      at = (base ^ j % 4 << (SPREAD ? 4 : 5) ^ q % 2 << 6) + (j / 4 * S::STEPS + piece * 16 + 4 * q) * 128;
    else
      at = base + (piece * 16 + 4 * q) * 64 + j * 32;
    return *reinterpret_cast<const float *>(slice + at);
  }
};

// For elements F: slices of PIECES times 16 steps, KI of them per instruction. LATE: the next slice is waited
// for after all products of this one have started.
template <typename F, int BM_, int BN_, int WARPS_M, int WARPS_N, int KI, int PIECES, int STAGES_,
          int BLOCKS_, bool A_BY_K, bool B_BY_K, bool LATE = false>
struct fc_tma_f64 {
  static constexpr int PIECE = 16, BM = BM_, BN = BN_, BK = PIECE * PIECES, WARPS = WARPS_M * WARPS_N;
  static constexpr int STAGES = STAGES_, BLOCKS = BLOCKS_;
  static_assert(PIECE * PIECES / KI % 2 == 0, "operands of a step lie where the loop says");
  static constexpr int WM = BM / WARPS_M, WN = BN / WARPS_N, MI = WM / 16, NI = WN / 8;
  static_assert(WM % 16 == 0 && WN % 8 == 0, "warps begin at whole boxes, or halves of them");
  static constexpr bool floats = sizeof(F) == 4;
  static_assert(!floats || ((WM == 16 || WM % 32 == 0) && 32 % WN == 0),
                "eights of a warp in lines of floats");
  using slice_a = fc_tma_slice_of<F, BM, A_BY_K, PIECES>;
  using slice_b = fc_tma_slice_of<F, BN, B_BY_K, PIECES>;
  using eights_a =
      std::conditional_t<floats, fc_tma_floats_eights<slice_a, false>, fc_tma_eights<slice_a, PIECES, false>>;
  using eights_b = std::conditional_t<floats, fc_tma_floats_eights<slice_b, true>,
                                      fc_tma_eights<slice_b, PIECES, WN % 16 != 0>>;

  const int row, col, lane;
  const eights_a a;
  const eights_b b;
  double sum[MI][NI][4], x[2][MI][KI / 2], y[2][NI][KI / 4];

  __device__ __forceinline__ fc_tma_f64(int warp, int lane_)
      : row(warp % WARPS_M * WM), col(warp / WARPS_M * WN), lane(lane_), a(lane_, row), b(lane_, col) {}

  __device__ __forceinline__ void clear(void) {
#pragma unroll
    for (int r = 0; r < MI; r++)
#pragma unroll
      for (int s = 0; s < NI; s++)
#pragma unroll
        for (int v = 0; v < 4; v++) sum[r][s][v] = 0;
  }

  // Loads the operands of KI steps, the p-th of the piece, into one of two register sets.
  template <class P> __device__ __forceinline__ void load(const P &pipe, int place, int piece, int p) {
#pragma unroll
    for (int r = 0; r < MI; r++)
#pragma unroll
      for (int h = 0; h < KI / 2; h++)
        x[place][r][h] = a.load(pipe.a, piece, 2 * r + h % 2, p * (KI / 4) + h / 2);
#pragma unroll
    for (int s = 0; s < NI; s++)
#pragma unroll
      for (int h = 0; h < KI / 4; h++) y[place][s][h] = b.load(pipe.b, piece, s, p * (KI / 4) + h);
  }

  template <class P> __device__ __forceinline__ void begin(const P &pipe) {
    load(pipe, 0, 0, 0);
  }

  // A value computed from all reads into this register set.
  __device__ __forceinline__ uint32_t seen(int place) const {
    int bits = 0;
#pragma unroll
    for (int r = 0; r < MI; r++)
#pragma unroll
      for (int h = 0; h < KI / 2; h++) bits |= __double2hiint(x[place][r][h]);
#pragma unroll
    for (int s = 0; s < NI; s++)
#pragma unroll
      for (int h = 0; h < KI / 4; h++) bits |= __double2hiint(y[place][s][h]);
    return static_cast<uint32_t>(bits);
  }

  // Steps beyond the last are zeros.
  template <class P> __device__ __forceinline__ void multiply(P &pipe) {
    constexpr int EACH = PIECE / KI; // instructions' steps of a piece
#pragma unroll
    for (int p = 0; p < EACH * PIECES; p++) {
      const int next = (p + 1) % (EACH * PIECES);
      if (!LATE && next == 0) pipe.advance(seen(p % 2));
      if (!LATE || next != 0) load(pipe, (p + 1) % 2, next / EACH, next % EACH);
#pragma unroll
      for (int r = 0; r < MI; r++)
#pragma unroll
        for (int s = 0; s < NI; s++) fc_tma_mma(sum[r][s], x[p % 2][r], y[p % 2][s]);
      if (LATE && next == 0) {
        pipe.advance(seen(p % 2));
        load(pipe, (p + 1) % 2, 0, 0);
      }
    }
  }

  template <class C>
  __device__ __forceinline__ void store(const C &c, int64_t i0, int64_t j0, int64_t m, int64_t n) const {
#pragma unroll
    for (int r = 0; r < MI; r++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const int64_t i = i0 + row + eights_a::place(lane / 4, 2 * r + h);
        if (i >= m) continue;
#pragma unroll
        for (int s = 0; s < NI; s++) {
          // Two columns, adjacent where B lies by rows.
          const int64_t j = j0 + col + b.from_first(lane % 4 * 2, s);
          const int64_t next = j0 + col + b.from_first(lane % 4 * 2 + 1, s);
          const double low = sum[r][s][2 * h], high = sum[r][s][2 * h + 1];
          if (!B_BY_K && c.packs && next < n) {
            c.store_pair(i, j, low, high);
          } else {
            if (j < n) c.store(i, j, low);
            if (next < n) c.store(i, next, high);
          }
        }
      }
  }
};

#endif
