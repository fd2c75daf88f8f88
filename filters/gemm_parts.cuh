// SPDX-License-Identifier: MIT
//
// gemm_parts.cuh - f32 numbers split for tensor cores that take 11 significant bits of each (tf32). Internal
// to gemm_split.cu and gemm_split_mma.cu.
#ifndef FC_FILTERS_GEMM_PARTS_CUH
#define FC_FILTERS_GEMM_PARTS_CUH

#include "filters/cuda.cuh"

// To tf32, half away from zero. What lies beyond its bits is ignored by the tensor cores.
__device__ __forceinline__ uint32_t fc_part_rounded(float v) {
  return __float_as_uint(v) + 0x1000;
}
__device__ __forceinline__ float fc_part_big(float v) {
  return __uint_as_float(fc_part_rounded(v) & 0xffffe000);
}
__device__ __forceinline__ uint32_t fc_part_small(float v, float big) {
  return fc_part_rounded(v - big);
}

#endif
