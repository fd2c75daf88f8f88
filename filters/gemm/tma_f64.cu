// SPDX-License-Identifier: MIT
//
// tma_f64.cu - see gemm_tma.h and tma_f64.cuh.
#include "filters/gemm/gemm_tma.h"
#include "filters/gemm/tma_f64.cuh"

namespace {

using operand = fc_tma_operand<double>;
using result = fc_tma_result<double>;

// Up to this many rows or columns are multiplied as vectors.
constexpr int VECTORS = 4;

// Large tiles are faster, small ones waste less at the edges and leave fewer processors idle.
template <bool A_BY_K, bool B_BY_K>
fc_status sized(const operand &a, const operand &b, int64_t k, const result &c, cudaStream_t stream) {
  using large = fc_tma_f64<double, 128, 128, 2, 4, 4, 1, 6, 1, A_BY_K, B_BY_K>;
  using medium = fc_tma_f64<double, 64, 128, 2, 4, 8, 1, 8, 1, A_BY_K, B_BY_K>;
  using middle = fc_tma_f64<double, 96, 96, 2, 4, 8, 1, 6, 1, A_BY_K, B_BY_K>;
  using small = fc_tma_f64<double, 64, 64, 2, 4, 8, 1, 8, 1, A_BY_K, B_BY_K>;
  using broad = fc_tma_f64<double, 32, 64, 2, 4, 8, 2, 8, 1, A_BY_K, B_BY_K>;
  using square = fc_tma_f64<double, 32, 32, 2, 2, 16, 2, 6, 2, A_BY_K, B_BY_K>;
  using least = fc_tma_f64<double, 16, 32, 1, 4, 16, 4, 4, 2, A_BY_K, B_BY_K, true>;
  // For products that are limited by memory bandwidth.
  using vectors = fc_tma_f64<double, 16, 32, 1, 4, 8, 2, 8, 2, A_BY_K, B_BY_K>;
  if (a.limit <= VECTORS) return fc_tma_launch<vectors>(a, b, k, c, stream);
  const fc_tma_way<double, double> ways[] = {
      fc_tma_way_of<large>(a, b, c, 141, 141),   fc_tma_way_of<medium>(a, b, c, 72.5, 82),
      fc_tma_way_of<middle>(a, b, c, 82, 82),    fc_tma_way_of<small>(a, b, c, 39.3, 38.5),
      fc_tma_way_of<broad>(a, b, c, 21.7, 21.4), fc_tma_way_of<square>(a, b, c, 16.5, 11),
      fc_tma_way_of<least>(a, b, c, 14.5, 8.7)};
  return fc_tma_best(ways).launch(a, b, k, c, stream);
}

} // namespace

fc_status fc_gemm_tma_f64(const fc_gemm *g, void *to) {
  cudaStream_t stream = static_cast<cudaStream_t>(to);
  operand a, b;
  result c;
  if (!fc_tma_operands(g, &a, &b, &c)) return FC_UNSUPPORTED;
  // Tiles are wider than high.
  if (b.limit <= VECTORS && g->k > 64) fc_tma_transpose(&a, &b, &c);
  if (a.by_k())
    return b.by_k() ? sized<true, true>(a, b, g->k, c, stream) : sized<true, false>(a, b, g->k, c, stream);
  return b.by_k() ? sized<false, true>(a, b, g->k, c, stream) : sized<false, false>(a, b, g->k, c, stream);
}
