// SPDX-License-Identifier: MIT
//
// gemm_tma_f32.cu - see gemm_tma.h and gemm_tma_f32.cuh.
#include "filters/gemm_tma.h"
#include "filters/gemm_tma_f32.cuh"
#include "filters/gemm_tma_flat.cuh"

namespace {

using operand = fc_tma_operand<float>;
using result = fc_tma_result<float>;

// What a product of 2048 steps costs in microseconds in tiles of this kind: `alone` is one on a processor,
// `each` where there are more.
template <class M> double cost(const operand &a, const operand &b, double alone, double each) {
  const int64_t tiles = (a.limit + M::BM - 1) / M::BM * ((b.limit + M::BN - 1) / M::BN);
  const int64_t processors = fc_tma_processors(), most = (tiles + processors - 1) / processors;
  return most > 1 ? each * static_cast<double>(most) : alone;
}

// Large tiles are faster, small ones waste less at the edges and leave fewer processors idle.
template <bool A_BY_K, bool B_BY_K>
fc_status sized(const operand &a, const operand &b, int64_t k, const result &c, cudaStream_t stream) {
  using large = fc_tma_f32<128, 256, 2, 4, 8, 16, 4, 1, A_BY_K, B_BY_K>;
  using wide = fc_tma_f32<64, 128, 1, 4, 8, 8, 4, 2, A_BY_K, B_BY_K>;
  using tall = fc_tma_f32<128, 64, 2, 2, 8, 8, 4, 2, A_BY_K, B_BY_K>;
  using square = fc_tma_f32<64, 64, 2, 2, 4, 8, 4, 3, A_BY_K, B_BY_K>;
  using flat = fc_tma_flat<4, 1, 8, 2, 6, 2, A_BY_K, B_BY_K>;
  using least = fc_tma_flat<4, 1, 8, 1, 8, 1, A_BY_K, B_BY_K>;
  // Vectors one after the other by a matrix of at most 32 rows: only as they usually lie.
  using taller = fc_tma_f32<256, 32, 4, 1, 8, 8, 2, 2, true, false>;
  if (A_BY_K && !B_BY_K && b.limit <= 32 && a.limit >= 1024 && k <= 64)
    return fc_tma_launch<taller>(a, b, k, c, stream);
  struct way {
    double cost;
    fc_status (*launch)(const operand &, const operand &, int64_t, const result &, cudaStream_t);
  };
  const way ways[] = {{cost<large>(a, b, 334, 334), fc_tma_launch<large, float>},
                      {cost<wide>(a, b, 105, 90), fc_tma_launch<wide, float>},
                      {cost<tall>(a, b, 105, 92), fc_tma_launch<tall, float>},
                      {cost<square>(a, b, 63.5, 55), fc_tma_launch<square, float>},
                      {cost<flat>(a, b, 38.6, 32.5), fc_tma_launch<flat, float>},
                      {cost<least>(a, b, 28, 25.5), fc_tma_launch<least, float>}};
  const way *best = ways;
  for (const way &w : ways)
    if (w.cost < best->cost) best = &w;
  return best->launch(a, b, k, c, stream);
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
