/* SPDX-License-Identifier: MIT */
/*
 * median_kernels.c - networks in the compiler's vector types; minima and maxima use the instruction where
 * there is one, which the compiler does not find automatically. 14 vectors are live in the network for 5 x 5.
 */
#include "filters/local/median_kernels.h"

#include <string.h>

#include "filters/base/simd.h"
#include "filters/local/median_key.h"

#define FC_MEDIAN_KEPT 14
/* Bytes of a row whose columns of 3 are sorted at a time: three rows stay in the first-level cache; and the
 * most interleaved channels for which they are. */
#define FC_MEDIAN_BLOCK 4096
#define FC_MEDIAN_APART 32

typedef uint8_t keys8 __attribute__((vector_size(FC_VECTOR_BYTES)));
typedef uint16_t keys16 __attribute__((vector_size(FC_VECTOR_BYTES)));
typedef uint32_t keys32 __attribute__((vector_size(FC_VECTOR_BYTES)));
typedef uint64_t keys64 __attribute__((vector_size(FC_VECTOR_BYTES)));

/* Where there is no such instruction. */
#define CHOICE(V, a, b, is_a) (((a) & (V)(is_a)) | ((b) & ~(V)(is_a)))
#define MIN_OF(V, a, b)       CHOICE(V, a, b, (a) < (b))
#define MAX_OF(V, a, b)       CHOICE(V, b, a, (a) < (b))

#if defined(__AVX512BW__)
#define VECTOR(name) _mm512_##name
#define REGISTER     __m512i
#elif defined(__AVX2__)
#define VECTOR(name) _mm256_##name
#define REGISTER     __m256i
#endif

#ifdef VECTOR
#define MIN_BY(V, bits, a, b) ((V)VECTOR(min_epu##bits)((REGISTER)(a), (REGISTER)(b)))
#define MAX_BY(V, bits, a, b) ((V)VECTOR(max_epu##bits)((REGISTER)(a), (REGISTER)(b)))
#else
#define MIN_BY(V, bits, a, b) MIN_OF(V, a, b)
#define MAX_BY(V, bits, a, b) MAX_OF(V, a, b)
#endif

#define T         uint8_t
#define V         keys8
#define F(f)      f##_8
#define LANES     FC_VECTOR_BYTES
#define MIN(a, b) MIN_BY(V, 8, a, b)
#define MAX(a, b) MAX_BY(V, 8, a, b)
#include "filters/local/median_kernels.inc"

#define T         uint16_t
#define V         keys16
#define F(f)      f##_16
#define LANES     (FC_VECTOR_BYTES / 2)
#define MIN(a, b) MIN_BY(V, 16, a, b)
#define MAX(a, b) MAX_BY(V, 16, a, b)
#include "filters/local/median_kernels.inc"

#define T         uint32_t
#define V         keys32
#define F(f)      f##_32
#define LANES     (FC_VECTOR_BYTES / 4)
#define MIN(a, b) MIN_BY(V, 32, a, b)
#define MAX(a, b) MAX_BY(V, 32, a, b)
#include "filters/local/median_kernels.inc"

#define T     uint64_t
#define V     keys64
#define F(f)  f##_64
#define LANES (FC_VECTOR_BYTES / 8)
#if defined(__AVX512BW__)
#define MIN(a, b) MIN_BY(V, 64, a, b)
#define MAX(a, b) MAX_BY(V, 64, a, b)
#else
#define MIN(a, b) MIN_OF(V, a, b)
#define MAX(a, b) MAX_OF(V, a, b)
#endif
#include "filters/local/median_kernels.inc"

/* ---- keys --------------------------------------------------------------------- */

#define DEFINE_KEYS(name, T, DTYPE)                                                                          \
  static void load_##name(void *restrict to, const void *restrict from, int64_t step, int64_t count) {       \
    if (step == (int64_t)sizeof(T))                                                                          \
      for (int64_t i = 0; i < count; i++) ((T *)to)[i] = (T)fc_key_of(((const T *)from)[i], DTYPE);          \
    else                                                                                                     \
      for (int64_t i = 0; i < count; i++)                                                                    \
        ((T *)to)[i] = (T)fc_key_of(*(const T *)((const char *)from + i * step), DTYPE);                     \
  }                                                                                                          \
  static void store_##name(void *restrict to, int64_t step, const void *restrict from, int64_t count) {      \
    if (step == (int64_t)sizeof(T))                                                                          \
      for (int64_t i = 0; i < count; i++) ((T *)to)[i] = (T)fc_key_to(((const T *)from)[i], DTYPE);          \
    else                                                                                                     \
      for (int64_t i = 0; i < count; i++)                                                                    \
        *(T *)((char *)to + i * step) = (T)fc_key_to(((const T *)from)[i], DTYPE);                           \
  }

DEFINE_KEYS(u8, uint8_t, FC_U8)
DEFINE_KEYS(i16, uint16_t, FC_I16)
DEFINE_KEYS(u16, uint16_t, FC_U16)
DEFINE_KEYS(i32, uint32_t, FC_I32)
DEFINE_KEYS(f32, uint32_t, FC_F32)
DEFINE_KEYS(f64, uint64_t, FC_F64)

const fc_median_kernels FC_ISA_NAME(fc_median_kernels) = {
    .load = {load_u8, load_i16, load_u16, load_i32, load_f32, load_f64},
    .store = {store_u8, store_i16, store_u16, store_i32, store_f32, store_f64},
    .network3 = {network3_8, network3_16, network3_32, network3_64},
    .network5 = {network5_8, network5_16, network5_32, network5_64},
};
