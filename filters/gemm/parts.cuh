// SPDX-License-Identifier: MIT
//
// parts.cuh - f32 numbers split for tensor cores that take 11 significant bits of each (tf32). Internal
// to split.cu and split_mma.cu.
#ifndef FC_FILTERS_GEMM_PARTS_CUH
#define FC_FILTERS_GEMM_PARTS_CUH

#include "filters/gpu/cuda.cuh"

// To tf32, half away from zero. What lies beyond its bits is ignored by the tensor cores.
__device__ __forceinline__ uint32_t fc_part_rounded(float v) {
  return __float_as_uint(v) + 0x1000;
}

// Three ways to a big part. Cut off, which is cheapest: the small part has 13 bits, of which 11 stay, and NaN
// is NaN or becomes an infinity. By one addition: 12 bits and either sign, so that the product of two small
// parts, which is left out, is no bias; but NaN may become 0 and the largest numbers infinite. To the
// nearest: neither.
__device__ __forceinline__ float fc_part_cut(float v) {
  return __uint_as_float(__float_as_uint(v) & 0xffffe000);
}
__device__ __forceinline__ float fc_part_big(float v) {
  return fc_part_cut(__uint_as_float(fc_part_rounded(v)));
}
__device__ __forceinline__ float fc_part_nearest(float v) {
  const uint32_t bits = __float_as_uint(v), magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return __uint_as_float(bits | 0x400000);
  if (magnitude == 0x7f800000) return v;
  return fc_part_cut(__uint_as_float((bits & 0x80000000) | min(magnitude + 0x1000, 0x7f7fffffu)));
}

__device__ __forceinline__ uint32_t fc_part_small(float v, float big) {
  return fc_part_rounded(v - big);
}

#endif
