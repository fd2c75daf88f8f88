// SPDX-License-Identifier: MIT
//
// gemm_result.cuh - where the sums of a product go, how they are cut, and which way round it is computed.
// Internal to the .cu files of filters/.
#ifndef FC_FILTERS_GEMM_RESULT_CUH
#define FC_FILTERS_GEMM_RESULT_CUH

#include "filters/cuda.cuh"
#include "filters/gemm.h"

// Rounded, whatever is added to it.
__device__ __forceinline__ float fc_times(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ __forceinline__ double fc_times(double a, double b) {
  return __dmul_rn(a, b);
}

// C = alpha sum + beta C, by columns (gemm_tile.cuh).
template <typename F> struct fc_gemm_result {
  F *data;
  int64_t row, col;
  F alpha, beta;
  __device__ __forceinline__ F *at(int64_t j) const { return data + j * col; }
  __device__ __forceinline__ F start(int64_t) const { return F(0); }
  __device__ __forceinline__ void store(F *column, int64_t i, F sum) const {
    F *to = column + i * row;
    *to = beta == F(0) ? alpha * sum : fma(beta, *to, alpha * sum);
  }
};

template <typename F> static inline fc_gemm_result<F> fc_gemm_result_of(const fc_gemm *g) {
  return {static_cast<F *>(g->c), g->c_row, g->c_col, static_cast<F>(g->alpha), static_cast<F>(g->beta)};
}

// Sums over some k of floats are cut: each so many steps are one chain of fused multiply-adds in ascending k,
// and C takes one after the other, beta C + alpha first, then + alpha second and so on. That goes by k alone,
// so that where a product is cut into parts of C changes nothing; and blocks may make them at the same time,
// since who adds them keeps to their order. A multiple of 64, or all. In f64, and of more steps, adding them
// takes longer than idle processors did (tests/bench/NOTES.md).
template <typename F> static inline int64_t fc_gemm_piece(int64_t k) {
  if (sizeof(F) == 4 && k >= 768 && k < 2048) return ((k + 1) / 2 + 63) / 64 * 64;
  return k > 0 ? k : 1;
}

// Neighbouring threads write neighbouring columns: a column-major C is computed as the transpose,
// B'A', whose sums are the same.
static inline fc_gemm fc_gemm_by_rows(const fc_gemm *g) {
  fc_gemm t = *g;
  if (g->c_row != 1 || g->c_col == 1) return t;
  t.m = g->n, t.n = g->m;
  t.a = g->b, t.a_row = g->b_col, t.a_col = g->b_row;
  t.b = g->a, t.b_row = g->a_col, t.b_col = g->a_row;
  t.c_row = g->c_col, t.c_col = g->c_row;
  return t;
}

#endif
