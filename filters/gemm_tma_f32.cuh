// SPDX-License-Identifier: MIT
//
// gemm_tma_f32.cuh - a tile of f32 sums by fused multiply-adds, for gemm_tma.cuh.
//
// A thread makes TM x TN sums, 8 threads of a warp down and 4 across. A fused multiply-add a cycle needs
// three registers, of which the two banks deliver one each: one must be at hand from the instruction before
// and the others lie in different banks. The compiler manages that for 0.9 of them if operands come as fours
// of neighbouring rows (which fixes their banks in turns; fours of steps, all in the same bank, give 0.6 to
// 0.7) and if the sums are gone through to and fro.
//
// Every sum is one chain of fused multiply-adds in ascending k.
#ifndef FC_FILTERS_GEMM_TMA_F32_CUH
#define FC_FILTERS_GEMM_TMA_F32_CUH

#include "filters/gemm_tma.cuh"

// T rows (columns) of one operand's slice S at one step, for one of L threads side by side: fours of them.
template <class S, int T, int L> struct fc_tma_rows {
  static_assert(T % 4 == 0 && (L == 4 || L == 8), "fours, and lines of eights of them");
  const int base;

  __device__ __forceinline__ fc_tma_rows(int thread, int first)
      : base(first / S::PART * S::PART * 128 + first % S::PART * 4 + (thread << 4)) {}
  static __device__ __forceinline__ int place(int thread, int e) {
    return 4 * (thread + L * (e / 4)) + e % 4;
  }

  // Step k + q, k a multiple of 4 and q < 4.
  __device__ __forceinline__ void load(float (&v)[T], const unsigned char *slice, int k, int q) const {
    const int line = base ^ (S::turned ? k / 4 << 4 : 0);
#pragma unroll
    for (int e = 0; e < T; e += 4) {
      // Of 8 pieces 4 threads read half each time: the other half lies 64 bytes on or, swapped, back.
      const int at = L == 4 && S::turned ? (line ^ e % 8 * 16) + e / 8 * 128 : line + e * L * 4;
      const float4 f = *reinterpret_cast<const float4 *>(slice + at + (k + q) * (S::PART * 4));
      v[e] = f.x, v[e + 1] = f.y, v[e + 2] = f.z, v[e + 3] = f.w;
    }
  }
};

template <int BM_, int BN_, int WARPS_M, int WARPS_N, int TM, int TN, int STAGES_, int BLOCKS_, bool A_BY_K,
          bool B_BY_K>
struct fc_tma_f32 {
  static constexpr int BM = BM_, BN = BN_, BK = 32, WARPS = WARPS_M * WARPS_N, STAGES = STAGES_;
  static constexpr bool SPLITS = TM * TN <= 64; // larger ones have no use for it
  static constexpr int BLOCKS = BLOCKS_, WM = BM / WARPS_M, WN = BN / WARPS_N;
  // Steps that are unrolled: as many as fit the instruction cache, since the first of them waits for its
  // operands.
  static constexpr int STEPS = TM * TN > 64 ? 8 : 16;
  static_assert(WM == 8 * TM && WN == 4 * TN && WM % 32 == 0 && WN % 32 == 0, "a warp's lanes");
  using slice_a = fc_tma_slice<float, BM, A_BY_K>;
  using slice_b = fc_tma_slice<float, BN, B_BY_K>;

  const int row, col, lane;
  const fc_tma_rows<slice_a, TM, 8> a;
  const fc_tma_rows<slice_b, TN, 4> b;
  float sum[TM][TN];

  __device__ __forceinline__ fc_tma_f32(int warp, int lane_)
      : row(warp % WARPS_M * WM), col(warp / WARPS_M * WN), lane(lane_), a(lane_ % 8, row),
        b(lane_ / 8, col) {}

  __device__ __forceinline__ void clear(void) {
#pragma unroll
    for (int r = 0; r < TM; r++)
#pragma unroll
      for (int s = 0; s < TN; s++) sum[r][s] = 0;
  }

  template <class P> __device__ __forceinline__ void begin(const P &) {}

  // Beyond the last step are zeros, which need not all be multiplied.
  template <class P> __device__ __forceinline__ void multiply(P &pipe, int steps) {
    const int last = steps < BK ? steps : BK;
#pragma unroll 1
    for (int k = 0; k < last; k += STEPS) {
#pragma unroll
      for (int q = 0; q < STEPS; q++) {
        float x[TM], y[TN];
        a.load(x, pipe.a, k + q / 4 * 4, q % 4);
        b.load(y, pipe.b, k + q / 4 * 4, q % 4);
#pragma unroll
        for (int s = 0; s < TN; s++)
#pragma unroll
          for (int z = 0; z < TM; z++) {
            const int r = s % 2 ? TM - 1 - z : z;
            sum[r][s] = fmaf(x[r], y[s], sum[r][s]);
          }
      }
    }
    pipe.advance(0); // all that was read is in sums, of a loop that is over
  }

  // Times alpha: sums that are stored as they are lie in fours, in banks that suit the products badly.
  template <class B> __device__ __forceinline__ void dump(const B &board, float alpha) const {
#pragma unroll
    for (int s = 0; s < TN; s += 4) {
      const int to = B::at(row + a.place(lane % 8, 0), col + b.place(lane / 8, s));
#pragma unroll
      for (int r = 0; r < TM; r++) {
        float four[4];
#pragma unroll
        for (int v = 0; v < 4; v++) four[v] = fc_times(alpha, sum[r][s + v]);
        fc_tma_write(board.data + to + (a.place(0, r) - a.place(0, 0)) * BN, four); // swapped as the first
      }
    }
  }

  template <class C>
  __device__ __forceinline__ void store(const C &c, int64_t i0, int64_t j0, int64_t m, int64_t n) const {
#pragma unroll
    for (int r = 0; r < TM; r++) {
      const int64_t i = i0 + row + a.place(lane % 8, r);
      if (i >= m) continue;
#pragma unroll
      for (int s = 0; s < TN; s += 4) {
        const int64_t j = j0 + col + b.place(lane / 8, s);
        const float four[4] = {sum[r][s], sum[r][s + 1], sum[r][s + 2], sum[r][s + 3]};
        if (c.packs && !c.adds() && j + 3 < n) {
          c.store_pack(i, j, four);
          continue;
        }
#pragma unroll
        for (int v = 0; v < 4; v++)
          if (j + v < n) c.store(i, j + v, four[v]);
      }
    }
  }
};

#endif
