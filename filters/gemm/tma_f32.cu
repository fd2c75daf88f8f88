// SPDX-License-Identifier: MIT
//
// tma_f32.cu - matrices of floats, multiplied as doubles: see gemm_tma.h and tma_f32.cuh.
#include "filters/gemm/gemm_tma.h"
#include "filters/gemm/tma_f32.cuh"

namespace {

using result = fc_tma_result<float, double>;

template <bool A_BY_K, bool B_BY_K> using sized = fc_tma_f32<A_BY_K, B_BY_K, result>;

} // namespace

fc_status fc_gemm_tma_f32(const fc_gemm *g, const fc_gemm_choice *choice, void *stream) {
  const result c = fc_tma_result_of<float, double>(g, choice->transposed);
  return fc_tma_product<sized>(g, choice, c, static_cast<cudaStream_t>(stream));
}
