// SPDX-License-Identifier: MIT
//
// gemm_tma_flat.cuh - a small tile of f32 sums by fused multiply-adds, for gemm_tma.cuh: where the product
// has so few sums that large tiles would leave most processors idle.
//
// What binds such tiles is shared memory: each operand that a thread of its own reads takes as long as four
// multiply-adds, and there are few to use it for. So a lane makes COLUMNS sums, 32 apart, in each of ROWS
// rows, and a warp reads an element of A once for all its lanes. Slices are read as they lie.
//
// Every sum is one chain of fused multiply-adds in ascending k.
#ifndef FC_FILTERS_GEMM_TMA_FLAT_CUH
#define FC_FILTERS_GEMM_TMA_FLAT_CUH

#include "filters/gemm_tma.cuh"

// Slices of PIECES times 32 steps; operands are read STEPS at a time, those of the next meanwhile.
template <int WARPS_M, int WARPS_N, int ROWS, int COLUMNS, int STEPS, int PIECES, int STAGES_, int BLOCKS_,
          bool A_BY_K, bool B_BY_K>
struct fc_tma_flat {
  // The engine brings eight rows at least: those beyond are for products that have none there.
  static constexpr int BM = WARPS_M * ROWS < 8 ? 8 : WARPS_M * ROWS, BN = WARPS_N * 32 * COLUMNS;
  static constexpr int PIECE = 32, BK = PIECE * PIECES;
  static constexpr int WARPS = WARPS_M * WARPS_N, STAGES = STAGES_, BLOCKS = BLOCKS_;
  static constexpr bool SPLITS = true;
  static_assert(BM % 8 == 0 && BM <= 128 && BN <= 128, "whole boxes of one part");
  using slice_a = fc_tma_slice<float, BM, A_BY_K, true, PIECES>;
  using slice_b = fc_tma_slice<float, BN, B_BY_K, true, PIECES>;

  const int row, col; // the lane's first
  float sum[ROWS][COLUMNS];
  float x[2][ROWS][STEPS], y[2][COLUMNS][STEPS]; // of the steps at hand and the next

  __device__ __forceinline__ fc_tma_flat(int warp, int lane)
      : row(warp % WARPS_M * ROWS), col(warp / WARPS_M * (32 * COLUMNS) + lane) {}

  __device__ __forceinline__ void clear(void) {
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
      for (int s = 0; s < COLUMNS; s++) sum[r][s] = 0;
  }

  // Four steps from k on of a line by k, of a slice of W, whose sixteens of bytes the engine has swapped.
  template <int W>
  static __device__ __forceinline__ void load_steps(float *v, const unsigned char *slice, int line, int k) {
    const int at = (k / PIECE * W + line) * 128 + ((k % PIECE / 4 ^ line % 8) << 4);
    const float4 f = *reinterpret_cast<const float4 *>(slice + at);
    v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
  }
  // One step of all rows, which lie side by side.
  static __device__ __forceinline__ void load_rows(float (&v)[ROWS][STEPS], int q,
                                                   const unsigned char *from) {
#pragma unroll
    for (int r = 0; r < ROWS / 4 * 4; r += 4) {
      const float4 f = *reinterpret_cast<const float4 *>(from + r * 4);
      v[r][q] = f.x, v[r + 1][q] = f.y, v[r + 2][q] = f.z, v[r + 3][q] = f.w;
    }
#pragma unroll
    for (int r = ROWS / 4 * 4; r < ROWS; r++) v[r][q] = *reinterpret_cast<const float *>(from + r * 4);
  }

  // Steps k to k + STEPS - 1.
  template <class P> __device__ __forceinline__ void load(const P &pipe, int place, int k) {
    if (A_BY_K) {
#pragma unroll
      for (int q = 0; q < STEPS; q += 4)
#pragma unroll
        for (int r = 0; r < ROWS; r++) load_steps<BM>(x[place][r] + q, pipe.a, row + r, k + q);
    } else {
#pragma unroll
      for (int q = 0; q < STEPS; q++) load_rows(x[place], q, pipe.a + ((k + q) * BM + row) * 4);
    }
#pragma unroll
    for (int s = 0; s < COLUMNS; s++)
      if (B_BY_K)
#pragma unroll
        for (int q = 0; q < STEPS; q += 4) load_steps<BN>(y[place][s] + q, pipe.b, col + 32 * s, k + q);
      else
#pragma unroll
        for (int q = 0; q < STEPS; q++)
          y[place][s][q] = *reinterpret_cast<const float *>(pipe.b + ((k + q) * BN + col + 32 * s) * 4);
  }

  template <class P> __device__ __forceinline__ void begin(const P &pipe) {
    load(pipe, 0, 0);
  }

  // Something of each read into this place.
  __device__ __forceinline__ uint32_t seen(int place) const {
    uint32_t bits = 0;
#pragma unroll
    for (int q = 0; q < STEPS; q++) {
#pragma unroll
      for (int r = 0; r < ROWS; r++)
        if (A_BY_K ? q % 4 == 0 : r % 4 == 0 || r >= ROWS / 4 * 4) bits |= __float_as_uint(x[place][r][q]);
#pragma unroll
      for (int s = 0; s < COLUMNS; s++)
        if (!B_BY_K || q % 4 == 0) bits |= __float_as_uint(y[place][s][q]);
    }
    return bits;
  }

  // Steps beyond the last are zeros.
  template <class P> __device__ __forceinline__ void multiply(P &pipe, int) {
#pragma unroll
    for (int p = 0; p < BK / STEPS; p++) {
      if (p == BK / STEPS - 1) pipe.advance(seen(p % 2));
      load(pipe, (p + 1) % 2, (p + 1) % (BK / STEPS) * STEPS);
#pragma unroll
      for (int q = 0; q < STEPS; q++)
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
          for (int s = 0; s < COLUMNS; s++) sum[r][s] = fmaf(x[p % 2][r][q], y[p % 2][s][q], sum[r][s]);
    }
  }

  template <class B> __device__ __forceinline__ void dump(const B &board, float alpha) const {
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
      for (int s = 0; s < COLUMNS; s++) board.data[B::at(row + r, col + 32 * s)] = fc_times(alpha, sum[r][s]);
  }

  template <class C>
  __device__ __forceinline__ void store(const C &c, int64_t i0, int64_t j0, int64_t m, int64_t n) const {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      const int64_t i = i0 + row + r;
      if (i >= m) continue;
#pragma unroll
      for (int s = 0; s < COLUMNS; s++) {
        const int64_t j = j0 + col + 32 * s;
        if (j < n) c.store(i, j, sum[r][s]);
      }
    }
  }
};

#endif
