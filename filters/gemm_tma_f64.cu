// SPDX-License-Identifier: MIT
//
// gemm_tma_f64.cu - see gemm_tma.h and gemm_tma_f64.cuh.
#include "filters/gemm_tma.h"
#include "filters/gemm_tma_f64.cuh"

namespace {

using operand = fc_tma_operand<double>;
using result = fc_tma_result<double>;

template <bool A_BY_K, bool B_BY_K>
fc_status sized(const operand &a, const operand &b, int64_t k, const result &c, cudaStream_t stream) {
  const int64_t large = (a.limit + 127) / 128 * ((b.limit + 127) / 128);
  // Few large tiles would leave processors idle.
  if (large >= fc_tma_processors())
    return fc_tma_launch<fc_tma_f64<128, 128, 2, 4, 4, 6, 1, A_BY_K, B_BY_K>>(a, b, k, c, stream);
  return fc_tma_launch<fc_tma_f64<64, 128, 2, 4, 8, 8, 1, A_BY_K, B_BY_K>>(a, b, k, c, stream);
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
