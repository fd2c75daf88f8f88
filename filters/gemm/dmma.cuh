// SPDX-License-Identifier: MIT
//
// dmma.cuh - products of f64 matrices, and of f32 ones in f64, on the tensor cores of sm_80 and later:
// the arithmetic of mma.cuh. Every sum takes its products in ascending k, whatever the tile. Internal to
// filters/.
#ifndef FC_FILTERS_GEMM_DMMA_CUH
#define FC_FILTERS_GEMM_DMMA_CUH

#include "filters/gemm/mma.cuh"

// c += a b for 16 x 8 sums and 8 steps of k. Lane 4g + t holds rows g and g + 8 of `a` at k = t
// (a0, a1) and t + 4, column g of `b` there (b0, b1), and columns 2t and 2t + 1 of the sums in
// rows g (c0, c1) and g + 8.
__device__ __forceinline__ void fc_dmma(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
               "{%0,%1,%2,%3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif __CUDA_ARCH__ >= 800
#pragma unroll
  for (int i = 0; i < 4; i++)
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(c[2 * (i % 2)]), "+d"(c[2 * (i % 2) + 1])
                 : "d"(a[i]), "d"(b[i / 2]));
#endif
}

template <typename F, int BM, int BN, int WARPS_M, int WARPS_N>
struct fc_dmma_tile : fc_mma_shape<F, BM, BN, WARPS_M, WARPS_N> {
  using shape = fc_mma_shape<F, BM, BN, WARPS_M, WARPS_N>;
  using shape::MI, shape::NI;
  static constexpr int STAGES = 3, BLOCKS = 1;
  double sum[MI][NI][4] = {};

  template <class A, class B>
  __device__ __forceinline__ void multiply(const F *a, const F *b, int row, int col, int q) {
#pragma unroll
    for (int p = 0; p < FC_MMA_BK; p += 8) {
      double x[MI][4], y[NI][2];
#pragma unroll
      for (int r = 0; r < MI; r++)
#pragma unroll
        for (int h = 0; h < 4; h++) x[r][h] = a[A::at(row + 16 * r + h % 2 * 8, p + q + h / 2 * 4)];
#pragma unroll
      for (int s = 0; s < NI; s++)
#pragma unroll
        for (int h = 0; h < 2; h++) y[s][h] = b[B::at(col + 8 * s, p + q + h * 4)];
#pragma unroll
      for (int r = 0; r < MI; r++)
#pragma unroll
        for (int s = 0; s < NI; s++) fc_dmma(sum[r][s], x[r], y[s]);
    }
  }
};

// FC_UNSUPPORTED where the device has no such units, or the product is too flat to fill them.
template <typename F, class C>
static inline fc_status fc_dmma_product(const fc_mma_operand &a, const fc_mma_operand &b, int64_t k,
                                        const C &c, cudaStream_t stream) {
  const int processors = fc_mma_processors();
  if (a.limit <= 16 || b.limit <= 16 || processors == 0) return FC_UNSUPPORTED;
  const int64_t large = ((a.limit + 63) / 64) * ((b.limit + 127) / 128);
  // A product of few large tiles would leave processors idle.
  if (large >= processors) return fc_mma_orders<fc_dmma_tile<F, 64, 128, 1, 4>>(a, b, k, c, stream);
  return fc_mma_orders<fc_dmma_tile<F, 64, 64, 2, 2>>(a, b, k, c, stream);
}

#endif
