// SPDX-License-Identifier: MIT
//
// gemm_tma_row.cuh - one row times a matrix on the f64 tensor cores of sm_90, for gemm_tma.cuh.
//
// Every block needs the whole row. Brought a slice at a time it is asked for by all processors at once, one
// line of the second cache after the other; so it is read once, widened, and stays in shared memory as
// instructions want it. Of an instruction's sixteen rows eight are it, whose sums are the same and are stored
// once, and eight are zeros, which are never written. Every sum takes its products in ascending k, as those
// of gemm_tma_f64.cuh do.
#ifndef FC_FILTERS_GEMM_TMA_ROW_CUH
#define FC_FILTERS_GEMM_TMA_ROW_CUH

#include "filters/gemm_tma_f64.cuh"

// Longer rows leave too little shared memory for slices; for short ones there is little to bring twice.
static inline bool fc_tma_is_row(int64_t rows, int64_t k) {
  return rows == 1 && k >= 512 && k <= 8192;
}

// Of elements F, slices of PIECES times 16 steps; a warp has eight columns.
template <typename F, int PIECES, int STAGES_, bool B_BY_K> struct fc_tma_row {
  static constexpr int BM = 1, BN = 32, BK = 16 * PIECES, WARPS = 4, STAGES = STAGES_, BLOCKS = 1;
  static constexpr int PLACES = 4, AHEAD = 2; // operands at a time, and how many steps they are read ahead
  static_assert(PIECES % PLACES == 0 && PIECES > AHEAD, "operands of a step lie where the loop says");
  using slice_a = fc_tma_nothing<F>;
  using slice_b = fc_tma_slice_of<F, BN, B_BY_K, PIECES>;
  using eights = std::conditional_t<sizeof(F) == 4, fc_tma_floats_eights<slice_b, true>,
                                    fc_tma_eights<slice_b, PIECES, true>>;

  const int col, lane;
  const eights b;
  const double *row, *end, *at; // this lane's of the row's first slice, behind the last, of that at hand
  double sum[4], x[PLACES][8], y[PLACES][4];

  static int kept_bytes(int k) { return (k + BK - 1) / BK * BK * static_cast<int>(sizeof(double)); }

  // Zeros beyond the row's end.
  static __device__ __forceinline__ void keep(unsigned char *kept, const fc_tma_work &work) {
    const F *from = static_cast<const F *>(work.a);
    double *to = reinterpret_cast<double *>(kept);
    const int all = work.slices * BK;
    // Blocks begin at different lines of the second cache.
    int k = (static_cast<int>(blockIdx.x) * 32 + static_cast<int>(threadIdx.x)) % all;
#pragma unroll 16
    for (int i = static_cast<int>(threadIdx.x); i < all; i += 32 * WARPS) {
      to[k] = k < work.k ? static_cast<double>(from[k * work.a_step]) : 0;
      k += 32 * WARPS;
      if (k >= all) k -= all;
    }
    asm volatile("bar.sync 1, %0;" ::"n"(32 * WARPS) : "memory");
  }

  __device__ __forceinline__ fc_tma_row(int warp, int lane_, const unsigned char *kept,
                                        const fc_tma_work &work)
      : col(warp * 8), lane(lane_), b(lane_, col), row(reinterpret_cast<const double *>(kept) + lane_ % 4),
        end(row + work.slices * BK), at(row) {
#pragma unroll
    for (int place = 0; place < PLACES; place++)
#pragma unroll
      for (int h = 0; h < 8; h++) x[place][h] = 0;
  }

  __device__ __forceinline__ void clear(void) {
#pragma unroll
    for (int v = 0; v < 4; v++) sum[v] = 0;
  }

  template <class P> __device__ __forceinline__ void load(const P &pipe, int place, int piece) {
#pragma unroll
    for (int h = 0; h < 4; h++) x[place][2 * h] = at[piece * 16 + 4 * h];
#pragma unroll
    for (int h = 0; h < 4; h++) y[place][h] = b.load(pipe.b, piece, 0, h);
  }

  template <class P> __device__ __forceinline__ void begin(const P &pipe) {
#pragma unroll
    for (int p = 0; p < AHEAD; p++) load(pipe, p, p);
  }

  // Something of each read of the last pieces of a slice.
  __device__ __forceinline__ uint32_t seen(void) const {
    int bits = 0;
#pragma unroll
    for (int p = PIECES - AHEAD; p < PIECES; p++)
#pragma unroll
      for (int h = 0; h < 4; h++) bits |= __double2hiint(y[p % PLACES][h]);
    return static_cast<uint32_t>(bits);
  }

  // The next slice is waited for while products of this one go on, AHEAD of them.
  template <class P> __device__ __forceinline__ void multiply(P &pipe) {
#pragma unroll
    for (int p = 0; p < PIECES; p++) {
      if (p == PIECES - AHEAD) {
        pipe.advance(seen());
        at += BK;
        if (at == end) at = row;
      }
      load(pipe, (p + AHEAD) % PLACES, (p + AHEAD) % PIECES);
      fc_tma_mma(sum, x[p % PLACES], y[p % PLACES]);
    }
  }

  template <class C>
  __device__ __forceinline__ void store(const C &c, int64_t, int64_t j0, int64_t, int64_t n) const {
    if (lane >= 4) return;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int64_t j = j0 + col + b.from_first(lane * 2 + h, 0);
      if (j < n) c.store(0, j, sum[h]);
    }
  }
};

#endif
