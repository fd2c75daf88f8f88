// SPDX-License-Identifier: MIT
//
// gemm.cu - C = alpha A B + beta C on a CUDA device: the tiled product of gemm_tile.cuh
// with plain matrices for operands, or for f64 that of gemm_dmma.cuh, on tensor cores.
#include "filters/gemm.h"
#include "filters/gemm_dmma.cuh"
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

// FC_UNSUPPORTED where tensor cores are of no use.
fc_status on_tensor_cores(int64_t m, int64_t n, int64_t k, const operand<double> &a, const operand<double> &b,
                          const result<double> &c, cudaStream_t stream) {
  const fc_dmma_operand rows = {a.data, a.across, a.along, m}, columns = {b.data, b.across, b.along, n};
  return fc_dmma_product(rows, columns, k, c, stream);
}
fc_status on_tensor_cores(int64_t, int64_t, int64_t, const operand<float> &, const operand<float> &,
                          const result<float> &, cudaStream_t) {
  return FC_UNSUPPORTED;
}

template <typename F>
fc_status product(int64_t m, int64_t n, int64_t k, const operand<F> &a, const operand<F> &b,
                  const result<F> &c, cudaStream_t stream) {
  const fc_status status =
      m > 0 && n > 0 && k > 0 ? on_tensor_cores(m, n, k, a, b, c, stream) : FC_UNSUPPORTED;
  return status == FC_UNSUPPORTED ? fc_tile_product<F, 0>(m, n, k, a, b, c, stream) : status;
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
    return product<F>(g->n, g->m, k, b, a, c, stream);
  }
  return product<F>(g->m, g->n, k, a, b, c, stream);
}

} // namespace

extern "C" fc_status fc_gemm_cuda(const fc_gemm *g, void *stream) {
  fc_status status = fc_gemm_check(g);
  if (status != FC_OK) return status;
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  return fc_dispatch_compute(g->type, [&](auto f) { return multiply<decltype(f)>(g, s); });
}
