// SPDX-License-Identifier: MIT
//
// gemm_tma_f64.cu - see gemm_tma.h and gemm_tma_f64.cuh.
#include "filters/gemm_tma.h"
#include "filters/gemm_tma_f64.cuh"

namespace {

using operand = fc_tma_operand<double>;
using result = fc_tma_result<double>;

// Large tiles are faster, small ones waste less at the edges and leave fewer processors idle. Times are what
// as many tiles take as the processors hold at once, of 2048 steps, in microseconds.
template <bool A_BY_K, bool B_BY_K>
fc_status sized(const operand &a, const operand &b, int64_t k, const result &c, cudaStream_t stream) {
  using large = fc_tma_f64<128, 128, 2, 4, 4, 6, 1, A_BY_K, B_BY_K>;
  using medium = fc_tma_f64<64, 128, 2, 4, 8, 8, 1, A_BY_K, B_BY_K>;
  using small = fc_tma_f64<64, 64, 2, 4, 8, 8, 1, A_BY_K, B_BY_K>;
  using least = fc_tma_f64<32, 32, 2, 2, 8, 8, 2, A_BY_K, B_BY_K>;
  if ((a.limit + 127) / 128 * ((b.limit + 127) / 128) >= fc_tma_processors())
    return fc_tma_launch<large>(a, b, k, c, stream);
  const double of_medium = fc_tma_rounds<medium>(a.limit, b.limit) * 72.5;
  const double of_small = fc_tma_rounds<small>(a.limit, b.limit) * 39.3;
  const double of_least = fc_tma_rounds<least>(a.limit, b.limit) * 23.5;
  if (of_least < of_small && of_least < of_medium) return fc_tma_launch<least>(a, b, k, c, stream);
  return of_small < of_medium ? fc_tma_launch<small>(a, b, k, c, stream)
                              : fc_tma_launch<medium>(a, b, k, c, stream);
}

} // namespace

fc_status fc_gemm_tma_f64(const fc_gemm *g, void *to) {
  cudaStream_t stream = static_cast<cudaStream_t>(to);
  operand a, b;
  result c;
  if (!fc_tma_operands(g, &a, &b, &c)) return FC_UNSUPPORTED;
  if (a.by_k())
    return b.by_k() ? sized<true, true>(a, b, g->k, c, stream) : sized<true, false>(a, b, g->k, c, stream);
  return b.by_k() ? sized<false, true>(a, b, g->k, c, stream) : sized<false, false>(a, b, g->k, c, stream);
}
