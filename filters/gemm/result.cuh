// SPDX-License-Identifier: MIT
//
// result.cuh - the type of sums and how they are stored, and the orientation in which a product is computed.
// Internal to the .cu files of filters/.
#ifndef FC_FILTERS_GEMM_RESULT_CUH
#define FC_FILTERS_GEMM_RESULT_CUH

#include "filters/gpu/cuda.cuh"
#include "filters/gemm/gemm.h"

// Rounded, whatever is added to it.
__device__ __forceinline__ float fc_times(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ __forceinline__ double fc_times(double a, double b) {
  return __dmul_rn(a, b);
}

// alpha sum + beta C, rounded to an element once.
template <typename F, typename S> __device__ __forceinline__ void fc_gemm_put(F *to, S sum, S alpha, S beta) {
  const S v = fc_times(alpha, sum);
  *to = static_cast<F>(beta == S(0) ? v : fma(beta, static_cast<S>(*to), v));
}

// C of elements F and sums S, by columns (tile.cuh).
template <typename F, typename S = F> struct fc_gemm_result {
  F *data;
  int64_t row, col;
  S alpha, beta;
  __device__ __forceinline__ F *at(int64_t j) const { return data + j * col; }
  __device__ __forceinline__ S start(int64_t) const { return S(0); }
  __device__ __forceinline__ void store(F *column, int64_t i, S sum) const {
    fc_gemm_put(column + i * row, sum, alpha, beta);
  }
};

template <typename F, typename S = F> static inline fc_gemm_result<F, S> fc_gemm_result_of(const fc_gemm *g) {
  return {static_cast<F *>(g->c), g->c_row, g->c_col, static_cast<F>(g->alpha), static_cast<F>(g->beta)};
}

// Whether sums over this many products of floats are computed in doubles, on the current device: sm_90
// multiplies these on its tensor cores as fast as other units multiply floats, and works well with small
// tiles (WHY.md). Products of two floats are exact there. Up to 16, memory is the limit (gemm.cu).
static inline bool fc_gemm_widens(int64_t k) {
  int device = 0, major = 0;
  return k > 16 && cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         major == 9;
}

// Neighbouring threads write neighbouring columns: a column-major C is computed as the transpose, B'A', which
// has the same sums.
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
