// SPDX-License-Identifier: MIT
//
// gemm_tma_f32.cu - see gemm_tma.h and gemm_tma_f32.cuh.
#include "filters/gemm_tma.h"
#include "filters/gemm_tma_f32.cuh"
#include "filters/gemm_tma_flat.cuh"

namespace {

using operand = fc_tma_operand<float>;
using result = fc_tma_result<float>;

// Rows that have a kernel of their own.
constexpr int VECTORS = 4;

// Large tiles are faster, small ones waste less at the edges and leave fewer processors idle.
template <bool A_BY_K, bool B_BY_K>
fc_status sized(const operand &a, const operand &b, int64_t k, const result &c, cudaStream_t stream) {
  using large = fc_tma_f32<128, 256, 2, 4, 8, 16, 4, 1, A_BY_K, B_BY_K>;
  using wide = fc_tma_f32<64, 128, 1, 4, 8, 8, 4, 2, A_BY_K, B_BY_K>;
  using tall = fc_tma_f32<128, 64, 2, 2, 8, 8, 4, 2, A_BY_K, B_BY_K>;
  using square = fc_tma_f32<64, 64, 2, 2, 4, 8, 4, 3, A_BY_K, B_BY_K>;
  using flat = fc_tma_flat<4, 1, 8, 2, 4, 2, 4, 2, A_BY_K, B_BY_K>;
  using least = fc_tma_flat<4, 1, 4, 2, 4, 2, 4, 2, A_BY_K, B_BY_K>;
  using few = fc_tma_flat<1, 1, VECTORS, 1, 8, 2, 16, 1, A_BY_K, B_BY_K>;
  using one = fc_tma_flat<1, 1, 1, 1, 8, 2, 16, 1, A_BY_K, B_BY_K>;
  // Vectors one after the other by a matrix of at most 32 rows: only as they usually lie.
  using taller = fc_tma_f32<256, 32, 4, 1, 8, 8, 2, 2, true, false>;
  if (A_BY_K && !B_BY_K && b.limit <= 32 && a.limit >= 1024 && k <= 64)
    return fc_tma_launch<taller>(a, b, k, c, true, stream);
  if (a.limit == 1) return fc_tma_launch<one>(a, b, k, c, true, stream);
  if (a.limit <= VECTORS) return fc_tma_launch<few>(a, b, k, c, true, stream);
  const bool cut = fc_gemm_piece<float>(k) < k;
  const fc_tma_way<float> ways[] = {fc_tma_way_of<large, float>(a, b, k, 334, 334),
                                    fc_tma_way_of<wide, float>(a, b, k, 105, 90),
                                    fc_tma_way_of<tall, float>(a, b, k, 105, 92),
                                    fc_tma_way_of<square, float>(a, b, k, 63.5, 55),
                                    fc_tma_way_of<flat, float>(a, b, k, 36.4, cut ? 47 : 31.8),
                                    fc_tma_way_of<least, float>(a, b, k, 23.4, cut ? 30 : 19.5)};
  const fc_tma_choice<float> best = fc_tma_best(ways);
  return best.launch(a, b, k, c, best.shared, stream);
}

} // namespace

fc_status fc_gemm_tma_f32(const fc_gemm *g, void *to) {
  cudaStream_t stream = static_cast<cudaStream_t>(to);
  operand a, b;
  result c;
  if (!fc_tma_operands(g, &a, &b, &c)) return FC_UNSUPPORTED;
  if (b.limit <= VECTORS && g->k > 64) fc_tma_transpose(&a, &b, &c);
  if (a.by_k())
    return b.by_k() ? sized<true, true>(a, b, g->k, c, stream) : sized<true, false>(a, b, g->k, c, stream);
  return b.by_k() ? sized<false, true>(a, b, g->k, c, stream) : sized<false, false>(a, b, g->k, c, stream);
}
