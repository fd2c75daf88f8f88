// SPDX-License-Identifier: MIT
//
// tma_f32.cu - matrices of floats, multiplied as doubles: see gemm_tma.h and tma_f64.cuh.
#include "filters/gemm/gemm_tma.h"
#include "filters/gemm/tma_f64.cuh"

namespace {

template <bool A_BY_K, bool B_BY_K> struct sized {
  using large = fc_tma_f64<float, 128, 128, 2, 4, 4, 2, 6, 1, A_BY_K, B_BY_K>;
  using medium = fc_tma_f64<float, 64, 128, 2, 4, 8, 2, 8, 1, A_BY_K, B_BY_K>;
  using small = fc_tma_f64<float, 64, 64, 2, 4, 16, 2, 8, 1, A_BY_K, B_BY_K>;
  using broad = fc_tma_f64<float, 32, 64, 2, 4, 16, 2, 8, 1, A_BY_K, B_BY_K>;
  using square = fc_tma_f64<float, 32, 32, 2, 2, 16, 2, 8, 2, A_BY_K, B_BY_K>;
  using least = fc_tma_f64<float, 16, 32, 1, 4, 16, 4, 8, 2, A_BY_K, B_BY_K, true>;
  static constexpr fc_tma_launcher<float, double> launchers[FC_GEMM_TILES_F32] = {
      fc_tma_launch<large, float, double>,  fc_tma_launch<medium, float, double>,
      fc_tma_launch<small, float, double>,  fc_tma_launch<broad, float, double>,
      fc_tma_launch<square, float, double>, fc_tma_launch<least, float, double>};
  static_assert(fc_tma_is<large>(fc_gemm_tiles_f32[0]) && fc_tma_is<medium>(fc_gemm_tiles_f32[1]) &&
                    fc_tma_is<small>(fc_gemm_tiles_f32[2]) && fc_tma_is<broad>(fc_gemm_tiles_f32[3]) &&
                    fc_tma_is<square>(fc_gemm_tiles_f32[4]) && fc_tma_is<least>(fc_gemm_tiles_f32[5]),
                "in the order of the table");
};

} // namespace

fc_status fc_gemm_tma_f32(const fc_gemm *g, const fc_gemm_choice *choice, void *stream) {
  return fc_tma_product<sized, float, double>(g, choice, static_cast<cudaStream_t>(stream));
}
