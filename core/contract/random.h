/* SPDX-License-Identifier: MIT */
/*
 * random.h - counter-based random numbers: a number depends only on its key and its index, not on earlier
 * draws, so that threads, chunks and devices draw the same ones in any order.
 *
 * The generator is Philox4x32-10 (J. Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011): four
 * 32-bit words for each 128-bit counter, which passes BigCrush of TestU01, also for neighbouring keys and
 * counters. C11, C++ and CUDA. Costs about 20 multiplications for four words.
 */
#ifndef FC_RANDOM_H
#define FC_RANDOM_H

#include <stdint.h>

#if defined(__CUDACC__)
#define FC_RANDOM_FN static __host__ __device__ __forceinline__
#elif defined(__GNUC__)
#define FC_RANDOM_FN static inline __attribute__((unused, always_inline))
#else
#define FC_RANDOM_FN static inline
#endif

typedef struct fc_random_words {
  uint32_t word[4];
} fc_random_words;

FC_RANDOM_FN fc_random_words fc_random_at(uint64_t key, uint64_t high, uint64_t low) {
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  uint32_t a = (uint32_t)low, b = (uint32_t)(low >> 32), c = (uint32_t)high, d = (uint32_t)(high >> 32);
  fc_random_words made;
  for (int round = 0; round < 10; round++) {
    const uint64_t first = (uint64_t)a * 0xd2511f53u, second = (uint64_t)c * 0xcd9e8d57u;
    a = (uint32_t)(second >> 32) ^ b ^ k0;
    b = (uint32_t)second;
    c = (uint32_t)(first >> 32) ^ d ^ k1;
    d = (uint32_t)first;
    k0 += 0x9e3779b9u, k1 += 0xbb67ae85u;
  }
  made.word[0] = a, made.word[1] = b, made.word[2] = c, made.word[3] = d;
  return made;
}

/* 64 bits of output: derives a key from a key and two numbers. */
FC_RANDOM_FN uint64_t fc_random_mix(uint64_t key, uint64_t high, uint64_t low) {
  const fc_random_words made = fc_random_at(key, high, low);
  return (uint64_t)made.word[1] << 32 | made.word[0];
}

/* Number `i` of a key, uniform in [0, 1): a multiple of 2^-53. */
FC_RANDOM_FN double fc_random_even(uint64_t key, uint64_t i) {
  return (double)(fc_random_mix(key, 0, i) >> 11) * 0x1p-53;
}

/* Uniform in [low, high). */
FC_RANDOM_FN double fc_random_between(uint64_t key, uint64_t i, double low, double high) {
  return low + (high - low) * fc_random_even(key, i);
}

/* Uniform in 0 to count - 1, to 1 part in 2^53 / count. */
FC_RANDOM_FN int64_t fc_random_below(uint64_t key, uint64_t i, int64_t count) {
  const int64_t drawn = (int64_t)(fc_random_even(key, i) * (double)count);
  return drawn < count ? drawn : count - 1;
}

#endif
