// SPDX-License-Identifier: MIT
//
// tma_f64.cu - see gemm_tma.h and tma_f64.cuh.
#include "filters/gemm/gemm_tma.h"
#include "filters/gemm/tma_f64.cuh"

namespace {

template <bool A_BY_K, bool B_BY_K> struct sized {
  using large = fc_tma_f64<double, 128, 128, 2, 4, 4, 1, 6, 1, A_BY_K, B_BY_K>;
  using medium = fc_tma_f64<double, 64, 128, 2, 4, 8, 1, 8, 1, A_BY_K, B_BY_K>;
  using middle = fc_tma_f64<double, 96, 96, 2, 4, 8, 1, 6, 1, A_BY_K, B_BY_K>;
  using small = fc_tma_f64<double, 64, 64, 2, 4, 8, 1, 8, 1, A_BY_K, B_BY_K>;
  using broad = fc_tma_f64<double, 32, 64, 2, 4, 8, 2, 8, 1, A_BY_K, B_BY_K>;
  using square = fc_tma_f64<double, 32, 32, 2, 2, 16, 2, 6, 2, A_BY_K, B_BY_K>;
  using least = fc_tma_f64<double, 16, 32, 1, 4, 16, 4, 4, 2, A_BY_K, B_BY_K, true>;
  using vectors = fc_tma_f64<double, 16, 32, 1, 4, 8, 2, 8, 2, A_BY_K, B_BY_K>;
  static constexpr fc_tma_launcher<double, double> launchers[FC_GEMM_TILES_F64] = {
      fc_tma_launch<large, double, double>,  fc_tma_launch<medium, double, double>,
      fc_tma_launch<middle, double, double>, fc_tma_launch<small, double, double>,
      fc_tma_launch<broad, double, double>,  fc_tma_launch<square, double, double>,
      fc_tma_launch<least, double, double>,  fc_tma_launch<vectors, double, double>};
  static_assert(fc_tma_is<large>(fc_gemm_tiles_f64[0]) && fc_tma_is<medium>(fc_gemm_tiles_f64[1]) &&
                    fc_tma_is<middle>(fc_gemm_tiles_f64[2]) && fc_tma_is<small>(fc_gemm_tiles_f64[3]) &&
                    fc_tma_is<broad>(fc_gemm_tiles_f64[4]) && fc_tma_is<square>(fc_gemm_tiles_f64[5]) &&
                    fc_tma_is<least>(fc_gemm_tiles_f64[6]) && fc_tma_is<vectors>(fc_gemm_tiles_f64[7]),
                "in the order of the table");
};

} // namespace

fc_status fc_gemm_tma_f64(const fc_gemm *g, const fc_gemm_choice *choice, void *stream) {
  return fc_tma_product<sized, double, double>(g, choice, static_cast<cudaStream_t>(stream));
}
