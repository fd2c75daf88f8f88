// SPDX-License-Identifier: MIT
//
// result.cuh - how sums are stored, and what the current device is. Internal to the .cu files of filters/.
#ifndef FC_FILTERS_GEMM_RESULT_CUH
#define FC_FILTERS_GEMM_RESULT_CUH

#include "filters/gpu/cuda.cuh"
#include "filters/gemm/gemm_plan.h"

// Rounded, whatever is added to it.
__device__ __forceinline__ float fc_times(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ __forceinline__ double fc_times(double a, double b) {
  return __dmul_rn(a, b);
}

// alpha sum + beta D, rounded to an element once; D is read only if beta is not 0.
template <typename F, typename S>
__device__ __forceinline__ F fc_gemm_value(S sum, S alpha, S beta, const F *d) {
  const S v = fc_times(alpha, sum);
  return static_cast<F>(beta == S(0) ? v : fma(beta, static_cast<S>(*d), v));
}

// C and D of elements F and sums S. A thread finds the place of one of its sums, and moves from there: 64-bit
// products for each sum would be most of a kernel's instructions.
template <typename F, typename S = F> struct fc_gemm_result {
  struct place {
    F *c;
    const F *d;
  };
  F *data;
  int64_t row, col;
  S alpha, beta;
  const F *d;
  int64_t d_row, d_col;
  __device__ __forceinline__ place at(int64_t i, int64_t j) const {
    return {data + i * row + j * col, d + i * d_row + j * d_col};
  }
  __device__ __forceinline__ place below(const place &p, int rows) const {
    return {p.c + rows * row, p.d + rows * d_row};
  }
  __device__ __forceinline__ place beside(const place &p, int columns) const {
    return {p.c + columns * col, p.d + columns * d_col};
  }
  __device__ __forceinline__ void store(const place &to, S sum) const {
    *to.c = fc_gemm_value(sum, alpha, beta, to.d);
  }
};

// Of a product of fc_gemm_by_rows.
template <typename F, typename S = F> static inline fc_gemm_result<F, S> fc_gemm_result_of(const fc_gemm *g) {
  return {static_cast<F *>(g->c),       g->c_row, g->c_col, static_cast<S>(g->alpha), static_cast<S>(g->beta),
          static_cast<const F *>(g->d), g->d_row, g->d_col};
}

// The current device; a chip without anything if there is none.
static inline fc_gemm_chip fc_gemm_chip_now(void) {
  int device = 0;
  fc_gemm_chip chip = {0, 1};
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&chip.major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&chip.processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return {0, 1};
  return chip;
}

#endif
