/* SPDX-License-Identifier: MIT */
/*
 * check.h - what the tests of filters/ share: checks that count and go on, random
 * numbers from a seed that is printed, and buffers with guard bands.
 *
 * FC_TEST_SEED=N in the environment repeats a run.
 */
#ifndef FC_TESTS_CHECK_H
#define FC_TESTS_CHECK_H

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/contract/view.h"

static int check_failed, check_passed;

/* Only the first failures are printed: one mistake usually fails thousands. */
#define CHECK(condition, ...)                                                                                \
  do {                                                                                                       \
    if (condition) {                                                                                         \
      check_passed++;                                                                                        \
    } else if (check_failed++ < 20) {                                                                        \
      fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                                        \
      fprintf(stderr, __VA_ARGS__);                                                                          \
      fputc('\n', stderr);                                                                                   \
    }                                                                                                        \
  } while (0)

static inline int check_result(void) {
  fprintf(stderr, "%d checks passed, %d failed\n", check_passed, check_failed);
  return check_failed > 0 || check_passed == 0;
}

/* ---- random numbers: splitmix64 ------------------------------------------ */

static uint64_t random_state;

static inline void random_start(uint64_t seed) {
  const char *given = getenv("FC_TEST_SEED");
  random_state = given ? strtoull(given, NULL, 0) : seed;
  fprintf(stderr, "FC_TEST_SEED=%" PRIu64 "\n", random_state);
}

static inline uint64_t random_bits(void) {
  uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* In [low, high]. */
static inline int64_t random_int(int64_t low, int64_t high) {
  return low + (int64_t)(random_bits() % (uint64_t)(high - low + 1));
}

/* One of how many trials to make: all of them, but with FILTERCHAIN_TRIALS=few, as under valgrind, every
 * seventh. */
static inline int trial_step(void) {
  const char *how = getenv("FILTERCHAIN_TRIALS");
  return how && strcmp(how, "few") == 0 ? 7 : 1;
}
static inline int trial_skipped(void) {
  return trial_step() > 1 && random_int(1, trial_step()) > 1;
}

/* In [-1, 1). */
static inline double random_real(void) {
  return (double)(int64_t)random_bits() / 9223372036854775808.0;
}

/* ---- buffers -------------------------------------------------------------- */

/* Memory with a band of a known pattern on either side, so that a write beyond an
 * end shows. Whatever is not written keeps the pattern too. */
#define GUARD_BYTES   256
#define GUARD_PATTERN 0xff /* as a float it is NaN, so that reading beyond shows too */

typedef struct guarded {
  unsigned char *base;
  size_t bytes;
  void *data; /* aligned to 64 */
} guarded;

static inline guarded guarded_new(size_t bytes) {
  guarded g = {NULL, bytes, NULL};
  size_t total = (bytes + 2 * GUARD_BYTES + 63) / 64 * 64;
  g.base = (unsigned char *)aligned_alloc(64, total);
  if (!g.base) abort();
  memset(g.base, GUARD_PATTERN, total);
  g.data = g.base + GUARD_BYTES;
  return g;
}

static inline int guarded_intact(const guarded *g) {
  for (size_t i = 0; i < GUARD_BYTES; i++)
    if (g->base[i] != GUARD_PATTERN || g->base[GUARD_BYTES + g->bytes + i] != GUARD_PATTERN) return 0;
  return 1;
}

static inline void guarded_free(guarded *g) {
  free(g->base);
  g->base = NULL;
}

/* One element at an address, as it is stored, without kind or scaling. */
static inline double element_get(const void *at, int dtype) {
  switch (dtype) {
  case FC_U8: return *(const uint8_t *)at;
  case FC_I16: return *(const int16_t *)at;
  case FC_U16: return *(const uint16_t *)at;
  case FC_I32: return *(const int32_t *)at;
  case FC_F32: return *(const float *)at;
  default: return *(const double *)at;
  }
}

static inline void element_set(void *at, int dtype, double v) {
  switch (dtype) {
  case FC_U8: *(uint8_t *)at = (uint8_t)v; break;
  case FC_I16: *(int16_t *)at = (int16_t)v; break;
  case FC_U16: *(uint16_t *)at = (uint16_t)v; break;
  case FC_I32: *(int32_t *)at = (int32_t)v; break;
  case FC_F32: *(float *)at = (float)v; break;
  default: *(double *)at = v; break;
  }
}

/* A random code of an integer type, or a float in [-1, 1). */
static inline double element_random(int dtype) {
  switch (dtype) {
  case FC_U8: return (double)random_int(0, 255);
  case FC_I16: return (double)random_int(-32768, 32767);
  case FC_U16: return (double)random_int(0, 65535);
  case FC_I32: return (double)random_int(INT32_MIN, INT32_MAX);
  default: return random_real();
  }
}

#endif
