// SPDX-License-Identifier: MIT
//
// finite.cuh - sums of split products that are not finite, computed again as gemm.cu does. Internal to
// split.cu.
//
// A part of an infinity is none, parts of the largest numbers may overflow where the product does not, and
// of a NaN the upper bits may say that it is an infinity. All of these make a sum that is not finite, and in
// only those rows and columns: so the test is of sums, once a tile, and costs the products nothing.
#ifndef FC_FILTERS_GEMM_FINITE_CUH
#define FC_FILTERS_GEMM_FINITE_CUH

#include <float.h>

#include "filters/gpu/cuda.cuh"
#include "filters/gemm/result.cuh"

// The matrices as they were given: rows of A, columns of B.
struct fc_plain_operands {
  const float *a, *b;
  int64_t a_across, a_along, b_across, b_along, k;

  // A NaN stays one whatever is added, so its sum is not gone on with.
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
  float zero[4] = {}; // of each the product with 0 is 0, or NaN
#pragma unroll
  for (int e = 0; e < COUNT; e++) zero[e % 4] = fmaf(sum[e], 0.f, zero[e % 4]);
  return zero[0] + zero[1] + (zero[2] + zero[3]) == 0;
}

// A lane's sums of a tile, as wgmma deals them: element e is in row i + 8 (e / 2 % 2), column
// j + 8 (e / 4) + e % 2. In C of m x n.
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

#endif
