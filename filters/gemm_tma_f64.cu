// SPDX-License-Identifier: MIT
//
// gemm_tma_f64.cu - see gemm_tma.h and gemm_tma_f64.cuh.
#include "filters/gemm_tma.h"
#include "filters/gemm_tma_f64.cuh"

namespace {

using operand = fc_tma_operand<double>;
using result = fc_tma_result<double>;

// Large tiles are faster, small ones waste less at the edges and leave fewer processors idle.
template <bool A_BY_K, bool B_BY_K>
fc_status sized(const operand &a, const operand &b, int64_t k, const result &c, cudaStream_t stream) {
  using large = fc_tma_f64<128, 128, 2, 4, 4, 1, 6, 1, A_BY_K, B_BY_K>;
  using medium = fc_tma_f64<64, 128, 2, 4, 8, 1, 8, 1, A_BY_K, B_BY_K>;
  using middle = fc_tma_f64<96, 96, 2, 4, 8, 1, 6, 1, A_BY_K, B_BY_K>;
  using small = fc_tma_f64<64, 64, 2, 4, 8, 1, 8, 1, A_BY_K, B_BY_K>;
  using broad = fc_tma_f64<32, 64, 2, 4, 8, 2, 8, 1, A_BY_K, B_BY_K>;
  using square = fc_tma_f64<32, 32, 2, 2, 8, 1, 8, 2, A_BY_K, B_BY_K>;
  using least = fc_tma_f64<16, 32, 1, 4, 8, 2, 8, 2, A_BY_K, B_BY_K>;
  const fc_tma_way<double> ways[] = {
      fc_tma_way_of<large, double>(a, b, k, 141, 141),   fc_tma_way_of<medium, double>(a, b, k, 72.5, 82),
      fc_tma_way_of<middle, double>(a, b, k, 82, 82),    fc_tma_way_of<small, double>(a, b, k, 39.3, 38.5),
      fc_tma_way_of<broad, double>(a, b, k, 21.7, 21.4), fc_tma_way_of<square, double>(a, b, k, 23.5, 11.5),
      fc_tma_way_of<least, double>(a, b, k, 14.9, 8.7)};
  const fc_tma_choice<double> best = fc_tma_best(ways);
  return best.launch(a, b, k, c, best.shared, stream);
}

} // namespace

fc_status fc_gemm_tma_f64(const fc_gemm *g, void *to) {
  cudaStream_t stream = static_cast<cudaStream_t>(to);
  operand a, b;
  result c;
  if (!fc_tma_operands(g, &a, &b, &c)) return FC_UNSUPPORTED;
  // Tiles are wider than high.
  if (b.limit <= 4 && g->k > 64) fc_tma_transpose(&a, &b, &c);
  if (a.by_k())
    return b.by_k() ? sized<true, true>(a, b, g->k, c, stream) : sized<true, false>(a, b, g->k, c, stream);
  return b.by_k() ? sized<false, true>(a, b, g->k, c, stream) : sized<false, false>(a, b, g->k, c, stream);
}
