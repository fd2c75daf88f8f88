// SPDX-License-Identifier: MIT
//
// split_mma.cu - products of f32 matrices on the tensor cores of sm_80 and later, to f32's accuracy: as
// split.cu, by the instructions that all of these have. Nothing is packed: each warp splits the elements
// that it multiplies.
#include "filters/gemm/mma.cuh"
#include "filters/gemm/parts.cuh"
#include "filters/gemm/result.cuh"

namespace {

// d = c + a b for 16 x 8 sums and 8 steps of k. Lane 4g + t holds rows g and g + 8 of `a` at k = t (a0, a1)
// and t + 4, column g of `b` there, and columns 2t and 2t + 1 of the sums in rows g and g + 8.
__device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                         const float (&c)[4]) {
#if __CUDA_ARCH__ >= 800
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
               "{%10,%11,%12,%13};"
               : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]),
                 "f"(c[2]), "f"(c[3]));
#endif
}

template <int COUNT> struct split {
  uint32_t big[COUNT], small[COUNT];
  __device__ __forceinline__ void set(int i, float v) {
    const float b = fc_part_big(v);
    big[i] = __float_as_uint(b), small[i] = fc_part_small(v, b);
  }
};

template <int BM, int BN, int WARPS_M, int WARPS_N, int BLOCKS_>
struct tile : fc_mma_shape<float, BM, BN, WARPS_M, WARPS_N> {
  using shape = fc_mma_shape<float, BM, BN, WARPS_M, WARPS_N>;
  using shape::MI, shape::NI;
  static constexpr int STAGES = 4, BLOCKS = BLOCKS_, PARTS = FC_MMA_BK / 8;
  float sum[MI][NI][4] = {};

  // The products of small parts first: what an addition cuts off is a part of the sum so far, which is small
  // until the last ones. A slice's sum is added to those before it in f32.
  template <class A, class B>
  __device__ __forceinline__ void multiply(const float *a, const float *b, int row, int col, int q) {
    split<4> x[PARTS][MI];
    split<2> y[PARTS][NI];
    float part[MI][NI][4];
#pragma unroll
    for (int p = 0; p < PARTS; p++) {
#pragma unroll
      for (int r = 0; r < MI; r++)
#pragma unroll
        for (int h = 0; h < 4; h++) x[p][r].set(h, a[A::at(row + 16 * r + h % 2 * 8, 8 * p + q + h / 2 * 4)]);
#pragma unroll
      for (int s = 0; s < NI; s++)
#pragma unroll
        for (int h = 0; h < 2; h++) y[p][s].set(h, b[B::at(col + 8 * s, 8 * p + q + h * 4)]);
      float nothing[4] = {};
#pragma unroll
      for (int r = 0; r < MI; r++)
#pragma unroll
        for (int s = 0; s < NI; s++)
          ::multiply(part[r][s], x[p][r].small, y[p][s].big, p ? part[r][s] : nothing);
#pragma unroll
      for (int r = 0; r < MI; r++)
#pragma unroll
        for (int s = 0; s < NI; s++) ::multiply(part[r][s], x[p][r].big, y[p][s].small, part[r][s]);
    }
#pragma unroll
    for (int p = 0; p < PARTS; p++)
#pragma unroll
      for (int r = 0; r < MI; r++)
#pragma unroll
        for (int s = 0; s < NI; s++) ::multiply(part[r][s], x[p][r].big, y[p][s].big, part[r][s]);
#pragma unroll
    for (int r = 0; r < MI; r++)
#pragma unroll
      for (int s = 0; s < NI; s++)
#pragma unroll
        for (int e = 0; e < 4; e++) sum[r][s][e] += part[r][s][e];
  }
};

using large = tile<128, 64, 2, 2, 2>;
using small = tile<64, 64, 2, 2, 3>;

fc_mma_operand operand_of(const void *data, int64_t across, int64_t along, int64_t limit) {
  constexpr int64_t EACH = sizeof(float);
  return {static_cast<const char *>(data), across * EACH, along * EACH, limit};
}

} // namespace

extern "C" fc_status fc_gemm_split_mma_cuda(const fc_gemm *given, void *stream) {
  const fc_status status = fc_gemm_check(given);
  const int processors = fc_mma_processors();
  if (status != FC_OK) return status;
  if (given->type != FC_F32 || given->k == 0 || given->alpha == 0 || processors == 0) return FC_UNSUPPORTED;
  const fc_gemm g = fc_gemm_by_rows(given);
  if (g.m == 0 || g.n == 0) return FC_UNSUPPORTED;
  const fc_mma_operand a = operand_of(g.a, g.a_row, g.a_col, g.m), b = operand_of(g.b, g.b_col, g.b_row, g.n);
  const fc_gemm_result<float> c = fc_gemm_result_of<float>(&g);
  cudaStream_t on = static_cast<cudaStream_t>(stream);
  // Few large tiles would leave processors idle.
  if ((g.m + large::BM - 1) / large::BM * ((g.n + large::BN - 1) / large::BN) >= large::BLOCKS * processors)
    return fc_mma_orders<large>(a, b, g.k, c, on);
  return fc_mma_orders<small>(a, b, g.k, c, on);
}
