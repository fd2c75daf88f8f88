// SPDX-License-Identifier: MIT
//
// gemm.cu - C = alpha A B + beta C on a CUDA device: the tiled product of gemm_tile.cuh
// with plain matrices for operands.
#include "filters/gemm.h"
#include "filters/gemm_tile.cuh"

namespace {

// Rows of A, or columns of B, `across` bytes apart.
template <typename F> struct operand {
  const char *data;
  int64_t across, along;
  bool along_fast;
  __device__ __forceinline__ const char *at(int64_t i) const { return data + i * across; }
  __device__ __forceinline__ F load(const char *from) const { return *reinterpret_cast<const F *>(from); }
};

template <typename F> struct result {
  F *data;
  int64_t row, col;
  F alpha, beta;
  __device__ __forceinline__ F *at(int64_t j) const { return data + j * col; }
  __device__ __forceinline__ F start(int64_t) const { return F(0); }
  __device__ __forceinline__ void store(F *column, int64_t i, F sum) const {
    F *to = column + i * row;
    *to = beta == F(0) ? alpha * sum : fc_tile_fma(beta, *to, alpha * sum);
  }
};

template <typename F> operand<F> operand_of(const void *data, int64_t across, int64_t along) {
  const int64_t size = sizeof(F);
  operand<F> o = {static_cast<const char *>(data), across * size, along * size, along == 1};
  return o;
}

template <typename F> fc_status multiply(const fc_gemm *g, cudaStream_t stream) {
  int64_t k = g->alpha != 0 ? g->k : 0;
  operand<F> a = operand_of<F>(g->a, g->a_row, g->a_col);
  operand<F> b = operand_of<F>(g->b, g->b_col, g->b_row);
  result<F> c = {static_cast<F *>(g->c), g->c_row, g->c_col, static_cast<F>(g->alpha),
                 static_cast<F>(g->beta)};
  // Neighbouring threads write neighbouring columns: a column-major C is computed as
  // the transpose, B'A', whose sums are the same.
  if (g->c_row == 1 && g->c_col != 1) {
    c.row = g->c_col, c.col = g->c_row;
    return fc_tile_product<F, 0>(g->n, g->m, k, b, a, c, stream);
  }
  return fc_tile_product<F, 0>(g->m, g->n, k, a, b, c, stream);
}

} // namespace

extern "C" fc_status fc_gemm_cuda(const fc_gemm *g, void *stream) {
  fc_status status = fc_gemm_check(g);
  if (status != FC_OK) return status;
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  return fc_dispatch_compute(g->type, [&](auto f) { return multiply<decltype(f)>(g, s); });
}
