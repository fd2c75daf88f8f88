// SPDX-License-Identifier: MIT
//
// gemm_tma_f32.cu - see gemm_tma.h and gemm_tma_f32.cuh.
#include "filters/gemm_tma.h"
#include "filters/gemm_tma_f32.cuh"

namespace {

using operand = fc_tma_operand<float>;
using result = fc_tma_result<float>;

template <bool A_BY_K, bool B_BY_K>
fc_status sized(const operand &a, const operand &b, int64_t k, const result &c, cudaStream_t stream) {
  if (b.limit <= 64 && a.limit >= b.limit)
    return fc_tma_launch<fc_tma_f32<128, 64, 2, 2, 8, 8, 4, 2, A_BY_K, B_BY_K>>(a, b, k, c, stream);
  // Few large tiles would leave processors idle.
  const int64_t large = (a.limit + 127) / 128 * ((b.limit + 255) / 256);
  if (large >= fc_tma_processors() * 9 / 10)
    return fc_tma_launch<fc_tma_f32<128, 256, 2, 4, 8, 16, 4, 1, A_BY_K, B_BY_K>>(a, b, k, c, stream);
  return fc_tma_launch<fc_tma_f32<64, 128, 1, 4, 8, 8, 4, 2, A_BY_K, B_BY_K>>(a, b, k, c, stream);
}

} // namespace

fc_status fc_gemm_tma_f32(const fc_gemm *g, void *to) {
  cudaStream_t stream = static_cast<cudaStream_t>(to);
  operand a, b;
  result c;
  if (!fc_tma_operands(g, &a, &b, &c)) return FC_UNSUPPORTED;
  if (a.by_k())
    return b.by_k() ? sized<true, true>(a, b, g->k, c, stream) : sized<true, false>(a, b, g->k, c, stream);
  return b.by_k() ? sized<false, true>(a, b, g->k, c, stream) : sized<false, false>(a, b, g->k, c, stream);
}
