// SPDX-License-Identifier: MIT
//
// gemm.cu - C = alpha A B + beta C on a CUDA device. The first of these that can:
//
//   gemm_thin   one side and k at most 16, in f64 8
//   gemm_short  k at most 16, in f64 8
//   gemm_tma    sm_90, and matrices that its copy engine can read
//   gemm_dmma   sums of doubles on the tensor cores of sm_80 and later
//   gemm_tile   anything
//
// Their sums are the same, to the bit: one chain of fused multiply-adds in ascending k, in f64, or in f32 for
// matrices of f32 and where fc_gemm_widens says so in f64.
#include "filters/gemm/gemm.h"
#include "filters/gemm/dmma.cuh"
#include "filters/gemm/result.cuh"
#include "filters/gemm/short.cuh"
#include "filters/gemm/thin.cuh"
#include "filters/gemm/tile.cuh"
#include "filters/gemm/gemm_tma.h"

namespace {

// Rows of A, or columns of B, `across` bytes apart: elements F, for sums S.
template <typename F, typename S> struct operand {
  const char *data;
  int64_t across, along;
  bool along_fast;
  __device__ __forceinline__ const char *at(int64_t i) const { return data + i * across; }
  __device__ __forceinline__ S load(const char *from) const { return *reinterpret_cast<const F *>(from); }
};

template <typename F, typename S> operand<F, S> operand_of(const void *data, int64_t across, int64_t along) {
  const int64_t size = sizeof(F);
  operand<F, S> o = {static_cast<const char *>(data), across * size, along * size, along == 1};
  return o;
}

// FC_UNSUPPORTED where tensor cores are of no use.
template <typename F>
fc_status on_tensor_cores(int64_t m, int64_t n, int64_t k, const operand<F, double> &a,
                          const operand<F, double> &b, const fc_gemm_result<F, double> &c,
                          cudaStream_t stream) {
  const fc_mma_operand rows = {a.data, a.across, a.along, m}, columns = {b.data, b.across, b.along, n};
  return fc_dmma_product<F>(rows, columns, k, c, stream);
}
fc_status on_tensor_cores(int64_t, int64_t, int64_t, const operand<float, float> &,
                          const operand<float, float> &, const fc_gemm_result<float> &, cudaStream_t) {
  return FC_UNSUPPORTED;
}

// Vectors that are multiplied by a small matrix: the columns of B, or the rows of A.
template <typename F> fc_status thin_product(const fc_gemm *g, cudaStream_t stream) {
  const bool columns = g->m <= g->n;
  if (g->k > FC_THIN_LARGEST<F> || (columns ? g->m : g->n) > FC_THIN_LARGEST<F>) return FC_UNSUPPORTED;
  fc_thin<F> t;
  const F *a = static_cast<const F *>(g->a), *b = static_cast<const F *>(g->b);
  t.matrix = columns ? a : b, t.in = columns ? b : a, t.out = static_cast<F *>(g->c);
  t.count = columns ? g->n : g->m, t.rows = static_cast<int>(columns ? g->m : g->n);
  t.k = static_cast<int>(g->k);
  t.row = columns ? g->a_row : g->b_col, t.along = columns ? g->a_col : g->b_row;
  t.in_across = columns ? g->b_col : g->a_row, t.in_along = columns ? g->b_row : g->a_col;
  t.out_across = columns ? g->c_col : g->c_row, t.out_along = columns ? g->c_row : g->c_col;
  t.alpha = static_cast<F>(g->alpha), t.beta = static_cast<F>(g->beta);
  return fc_thin_product(t, stream);
}

template <typename F> fc_status short_product(const fc_gemm *g, cudaStream_t stream) {
  if (g->k > FC_SHORT_LARGEST<F>) return FC_UNSUPPORTED;
  const fc_short<F> t = {static_cast<const F *>(g->a),
                         static_cast<const F *>(g->b),
                         g->m,
                         g->n,
                         g->a_row,
                         g->a_col,
                         g->b_row,
                         g->b_col,
                         0,
                         fc_gemm_result_of<F>(g),
                         static_cast<int>(g->k)};
  return fc_short_product(t, stream);
}

template <typename F, typename S> fc_status tiled_product(const fc_gemm *g, cudaStream_t stream) {
  const operand<F, S> a = operand_of<F, S>(g->a, g->a_row, g->a_col),
                      b = operand_of<F, S>(g->b, g->b_col, g->b_row);
  const fc_gemm_result<F, S> c = fc_gemm_result_of<F, S>(g);
  const fc_status status = g->k > 0 ? on_tensor_cores(g->m, g->n, g->k, a, b, c, stream) : FC_UNSUPPORTED;
  return status == FC_UNSUPPORTED ? fc_tile_product<S, 0>(g->m, g->n, g->k, a, b, c, stream) : status;
}

fc_status product(const fc_gemm *g, float, cudaStream_t stream) {
  if (!fc_gemm_widens(g->k)) return tiled_product<float, float>(g, stream);
  const fc_status status = fc_gemm_tma_f32(g, stream);
  return status == FC_UNSUPPORTED ? tiled_product<float, double>(g, stream) : status;
}
fc_status product(const fc_gemm *g, double, cudaStream_t stream) {
  const fc_status status = g->k > 0 ? fc_gemm_tma_f64(g, stream) : FC_UNSUPPORTED;
  return status == FC_UNSUPPORTED ? tiled_product<double, double>(g, stream) : status;
}

template <typename F> fc_status multiply(const fc_gemm *given, cudaStream_t stream) {
  fc_gemm g = fc_gemm_by_rows(given);
  if (g.alpha == 0) g.k = 0;
  if (g.m == 0 || g.n == 0) return FC_OK;
  fc_status status = g.k > 0 ? thin_product<F>(&g, stream) : FC_UNSUPPORTED;
  if (g.k > 0 && status == FC_UNSUPPORTED) status = short_product<F>(&g, stream);
  return status == FC_UNSUPPORTED ? product(&g, F(), stream) : status;
}

} // namespace

extern "C" fc_status fc_gemm_cuda(const fc_gemm *g, void *stream) {
  fc_status status = fc_gemm_check(g);
  if (status != FC_OK) return status;
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  return fc_dispatch_compute(g->type, [&](auto f) { return multiply<decltype(f)>(g, s); });
}
