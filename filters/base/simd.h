/* SPDX-License-Identifier: MIT */
/*
 * simd.h - vectors for the instruction set that an x_kernels.c is compiled for.
 *
 * fc_vf and fc_vd are one register of floats or doubles, in the compiler's own vector types, so that + - *
 * and indexing work on them. This file adds unaligned loads, stores, a splat and the multiply-add that rounds
 * as FC_FMA does. Loops that the compiler vectorises automatically need none of this; it is for kernels that
 * must keep a block of sums in registers.
 */
#ifndef FC_FILTERS_SIMD_H
#define FC_FILTERS_SIMD_H

#include <string.h>

#include "filters/base/isa.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define FC_VECTOR_BYTES 64
#elif defined(__AVX__)
#define FC_VECTOR_BYTES 32
#else
#define FC_VECTOR_BYTES 16
#endif

#define FC_LANES_F32 (FC_VECTOR_BYTES / 4)
#define FC_LANES_F64 (FC_VECTOR_BYTES / 8)

typedef float fc_vf __attribute__((vector_size(FC_VECTOR_BYTES)));
typedef double fc_vd __attribute__((vector_size(FC_VECTOR_BYTES)));

/* Before a loop with a constant count whose body indexes an array of vectors: unrolls it completely, so
 * that the array is kept in registers. FC_ROLLED prevents unrolling. */
#if defined(__clang__)
#define FC_UNROLL _Pragma("clang loop unroll(full)")
#define FC_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define FC_UNROLL _Pragma("GCC unroll 32")
#define FC_ROLLED _Pragma("GCC unroll 1")
#endif

#define FC_INLINE static inline __attribute__((always_inline, unused))

/* Prefetches memory that will be read soon into the second-level cache; it need not exist. */
FC_INLINE void fc_ask_for(const void *from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch((const char *)from + i, 0, 2);
}

/* The same of memory that will be written. */
FC_INLINE void fc_ask_to_write(const void *to, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch((const char *)to + i, 1, 3);
}

/* Copies a row, and meanwhile prefetches the one that will be copied some rows later, `ahead` bytes
 * further: prefetching a whole row at once would stall. */
FC_INLINE void fc_copy_asking(void *to, const void *from, int64_t bytes, int64_t ahead) {
  int64_t i = 0;
  for (; i + 64 <= bytes; i += 64) {
    fc_ask_for((const char *)from + ahead + i, 64);
    memcpy((char *)to + i, (const char *)from + i, 64);
  }
  memcpy((char *)to + i, (const char *)from + i, (size_t)(bytes - i));
}

FC_INLINE fc_vf fc_vf_load(const float *from) {
  fc_vf v;
  memcpy(&v, from, sizeof v);
  return v;
}
FC_INLINE void fc_vf_store(float *to, fc_vf v) {
  memcpy(to, &v, sizeof v);
}
FC_INLINE fc_vf fc_vf_splat(float x) {
  fc_vf zero = {0};
  return x - zero; /* x - 0 is x, signed zeros included */
}

FC_INLINE fc_vd fc_vd_load(const double *from) {
  fc_vd v;
  memcpy(&v, from, sizeof v);
  return v;
}
FC_INLINE void fc_vd_store(double *to, fc_vd v) {
  memcpy(to, &v, sizeof v);
}
FC_INLINE fc_vd fc_vd_splat(double x) {
  fc_vd zero = {0};
  return x - zero;
}

/* Four elements, and four such vectors v[0..3] exchanged for their transpose. */
#define FC_FOUR(T) __attribute__((vector_size(4 * sizeof(T)))) T
#define FC_TRANSPOSE4(v)                                                                                     \
  do {                                                                                                       \
    __typeof__((v)[0]) fc_a = __builtin_shufflevector((v)[0], (v)[1], 0, 4, 1, 5),                           \
                       fc_b = __builtin_shufflevector((v)[2], (v)[3], 0, 4, 1, 5),                           \
                       fc_c = __builtin_shufflevector((v)[0], (v)[1], 2, 6, 3, 7),                           \
                       fc_d = __builtin_shufflevector((v)[2], (v)[3], 2, 6, 3, 7);                           \
    (v)[0] = __builtin_shufflevector(fc_a, fc_b, 0, 1, 4, 5);                                                \
    (v)[1] = __builtin_shufflevector(fc_a, fc_b, 2, 3, 6, 7);                                                \
    (v)[2] = __builtin_shufflevector(fc_c, fc_d, 0, 1, 4, 5);                                                \
    (v)[3] = __builtin_shufflevector(fc_c, fc_d, 2, 3, 6, 7);                                                \
  } while (0)

/* Stores past the cache, to an address that is a multiple of FC_VECTOR_BYTES: for results too large to
 * stay there. The caller of such a loop must end with FC_STREAM_END before another thread reads the
 * results. */
#if defined(__AVX512F__)
#define FC_VB_STREAM(to, v) _mm512_stream_si512((__m512i *)(void *)(to), (__m512i)(v))
#define FC_VF_STREAM(to, v) _mm512_stream_ps(to, (__m512)(v))
#define FC_VD_STREAM(to, v) _mm512_stream_pd(to, (__m512d)(v))
#elif defined(__AVX__)
#define FC_VB_STREAM(to, v) _mm256_stream_si256((__m256i *)(void *)(to), (__m256i)(v))
#define FC_VF_STREAM(to, v) _mm256_stream_ps(to, (__m256)(v))
#define FC_VD_STREAM(to, v) _mm256_stream_pd(to, (__m256d)(v))
#elif defined(__x86_64__)
#define FC_VB_STREAM(to, v) _mm_stream_si128((__m128i *)(void *)(to), (__m128i)(v))
#define FC_VF_STREAM(to, v) _mm_stream_ps(to, (__m128)(v))
#define FC_VD_STREAM(to, v) _mm_stream_pd(to, (__m128d)(v))
#else
#define FC_VB_STREAM(to, v) memcpy(to, &(v), FC_VECTOR_BYTES)
#define FC_VF_STREAM(to, v) fc_vf_store(to, v)
#define FC_VD_STREAM(to, v) fc_vd_store(to, v)
#endif
#if defined(__x86_64__)
#define FC_STREAM_END() _mm_sfence()
#else
#define FC_STREAM_END() ((void)0)
#endif

/* As many integers as fc_vf has floats; and as many bytes. */
typedef int32_t fc_vi __attribute__((vector_size(FC_VECTOR_BYTES)));
typedef uint32_t fc_vu __attribute__((vector_size(FC_VECTOR_BYTES))); /* for differences modulo 2^32 */
typedef uint8_t fc_vb __attribute__((vector_size(FC_VECTOR_BYTES)));

/* With intrinsics of each set: GCC 12 splits conversions between vectors of different lengths. */
FC_INLINE fc_vf fc_vf_load_u8(const uint8_t *from) {
#if defined(__AVX512F__)
  return (fc_vf)_mm512_cvtepi32_ps(
      _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)from)));
#elif defined(__AVX2__)
  return (fc_vf)_mm256_cvtepi32_ps(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)from)));
#else
  uint32_t four;
  memcpy(&four, from, sizeof four);
#if defined(__x86_64__)
  __m128i zero = _mm_setzero_si128(), pairs = _mm_unpacklo_epi8(_mm_cvtsi32_si128((int32_t)four), zero);
  return (fc_vf)_mm_cvtepi32_ps(_mm_unpacklo_epi16(pairs, zero));
#elif defined(__aarch64__)
  uint16x8_t pairs = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(four)));
  return (fc_vf)vcvtq_f32_u32(vmovl_u16(vget_low_u16(pairs)));
#else
  fc_vf v = {from[0], from[1], from[2], from[3]};
  return v;
#endif
#endif
}

/* Four vectors of integers of 16 bits, limited to 0 .. 255, as bytes in order. */
FC_INLINE fc_vb fc_vb_pack(fc_vi a, fc_vi b, fc_vi c, fc_vi d) {
#if defined(__AVX512BW__)
  __m512i low = _mm512_packs_epi32((__m512i)a, (__m512i)b), high = _mm512_packs_epi32((__m512i)c, (__m512i)d);
  __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return (fc_vb)_mm512_permutexvar_epi32(order, _mm512_packus_epi16(low, high));
#elif defined(__AVX2__)
  __m256i low = _mm256_packs_epi32((__m256i)a, (__m256i)b), high = _mm256_packs_epi32((__m256i)c, (__m256i)d);
  __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  return (fc_vb)_mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
#elif defined(__x86_64__)
  __m128i low = _mm_packs_epi32((__m128i)a, (__m128i)b), high = _mm_packs_epi32((__m128i)c, (__m128i)d);
  return (fc_vb)_mm_packus_epi16(low, high);
#elif defined(__aarch64__)
  int16x8_t low = vcombine_s16(vqmovn_s32((int32x4_t)a), vqmovn_s32((int32x4_t)b));
  int16x8_t high = vcombine_s16(vqmovn_s32((int32x4_t)c), vqmovn_s32((int32x4_t)d));
  return (fc_vb)vcombine_u8(vqmovun_s16(low), vqmovun_s16(high));
#else
  fc_vb bytes;
  for (int i = 0; i < FC_LANES_F32; i++) {
    const int32_t four[4] = {a[i], b[i], c[i], d[i]};
    for (int k = 0; k < 4; k++)
      bytes[i + k * FC_LANES_F32] = (uint8_t)(four[k] < 0 ? 0 : four[k] > 255 ? 255 : four[k]);
  }
  return bytes;
#endif
}

/* a*b + c, rounded as FC_FMAF and FC_FMA round. */
#if defined(__AVX512F__)
#define FC_VF_FMA(a, b, c) ((fc_vf)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define FC_VD_FMA(a, b, c) ((fc_vd)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#elif defined(__FMA__)
#define FC_VF_FMA(a, b, c) ((fc_vf)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define FC_VD_FMA(a, b, c) ((fc_vd)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#elif defined(__aarch64__)
#define FC_VF_FMA(a, b, c) ((fc_vf)vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#define FC_VD_FMA(a, b, c) ((fc_vd)vfmaq_f64((float64x2_t)(c), (float64x2_t)(a), (float64x2_t)(b)))
#else
#define FC_VF_FMA(a, b, c) ((a) * (b) + (c))
#define FC_VD_FMA(a, b, c) ((a) * (b) + (c))
#endif

#endif
