// SPDX-License-Identifier: MIT
//
// gemm_tma_f32.cu - see gemm_tma.h and gemm_tma_f32.cuh.
#include "filters/gemm_tma.h"
#include "filters/gemm_tma_f32.cuh"

namespace {

using operand = fc_tma_operand<float>;
using result = fc_tma_result<float>;

// Large tiles are faster, small ones waste less at the edges and leave fewer processors idle. Speeds are of
// large products, in TFLOP/s.
template <bool A_BY_K, bool B_BY_K>
fc_status sized(const operand &a, const operand &b, int64_t k, const result &c, cudaStream_t stream) {
  using large = fc_tma_f32<128, 256, 2, 4, 8, 16, 4, 1, A_BY_K, B_BY_K>;
  using small = fc_tma_f32<64, 128, 1, 4, 8, 8, 4, 2, A_BY_K, B_BY_K>;
  using tall = fc_tma_f32<128, 64, 2, 2, 8, 8, 4, 2, A_BY_K, B_BY_K>;
  using square = fc_tma_f32<64, 64, 2, 2, 4, 8, 4, 3, A_BY_K, B_BY_K>;
  // Vectors one after the other by a matrix of at most 32 rows: only as they usually lie.
  using taller = fc_tma_f32<256, 32, 4, 1, 8, 8, 2, 2, true, false>;
  if (A_BY_K && !B_BY_K && b.limit <= 32 && a.limit >= 1024) return fc_tma_launch<taller>(a, b, k, c, stream);
  const int processors = fc_tma_processors();
  const double of_large = fc_tma_cost<large>(a.limit, b.limit, processors, 53);
  const double of_small = fc_tma_cost<small>(a.limit, b.limit, processors, 49);
  const double of_tall = fc_tma_cost<tall>(a.limit, b.limit, processors, 48);
  const double of_square = fc_tma_cost<square>(a.limit, b.limit, processors, 36);
  if (of_square < of_large && of_square < of_small && of_square < of_tall)
    return fc_tma_launch<square>(a, b, k, c, stream);
  if (of_large <= of_small && of_large <= of_tall) return fc_tma_launch<large>(a, b, k, c, stream);
  return of_small <= of_tall ? fc_tma_launch<small>(a, b, k, c, stream)
                             : fc_tma_launch<tall>(a, b, k, c, stream);
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
