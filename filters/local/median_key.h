/* SPDX-License-Identifier: MIT */
/*
 * median_key.h - maps samples to unsigned integers of the same size with the same order, and back. C11 and
 * CUDA.
 */
#ifndef FC_FILTERS_MEDIAN_KEY_H
#define FC_FILTERS_MEDIAN_KEY_H

#include <stdint.h>

#include "core/contract/view.h"

#ifdef __CUDACC__
#define FC_KEY_FN static __host__ __device__ __forceinline__
#else
#define FC_KEY_FN static inline
#endif

/* From the bits of a float or a double: for negative numbers the other bits are inverted. NaN is the
 * largest key. */
FC_KEY_FN uint32_t fc_key_of_f32(uint32_t bits) {
  const uint32_t key = bits >> 31 ? ~bits : bits | 0x80000000u;
  return (bits & 0x7fffffffu) > 0x7f800000u ? 0xffffffffu : key;
}
FC_KEY_FN uint32_t fc_key_to_f32(uint32_t key) {
  return key >> 31 ? key & 0x7fffffffu : ~key;
}
FC_KEY_FN uint64_t fc_key_of_f64(uint64_t bits) {
  const uint64_t key = bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
  return (bits & ~((uint64_t)1 << 63)) > (uint64_t)0x7ff << 52 ? ~(uint64_t)0 : key;
}
FC_KEY_FN uint64_t fc_key_to_f64(uint64_t key) {
  return key >> 63 ? key & ~((uint64_t)1 << 63) : ~key;
}

/* From the bits of any element. */
FC_KEY_FN uint64_t fc_key_of(uint64_t bits, int dtype) {
  switch (dtype) {
  case FC_I16: return bits ^ 0x8000u;
  case FC_I32: return bits ^ 0x80000000u;
  case FC_F32: return fc_key_of_f32((uint32_t)bits);
  case FC_F64: return fc_key_of_f64(bits);
  default: return bits;
  }
}
FC_KEY_FN uint64_t fc_key_to(uint64_t key, int dtype) {
  switch (dtype) {
  case FC_I16: return key ^ 0x8000u;
  case FC_I32: return key ^ 0x80000000u;
  case FC_F32: return fc_key_to_f32((uint32_t)key);
  case FC_F64: return fc_key_to_f64(key);
  default: return key;
  }
}

#endif
