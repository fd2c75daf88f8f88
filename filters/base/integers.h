/* SPDX-License-Identifier: MIT */
/*
 * integers.h - the few functions on sizes that every algorithm here takes. Internal to filters/.
 */
#ifndef FC_FILTERS_INTEGERS_H
#define FC_FILTERS_INTEGERS_H

#include <stdint.h>

static inline int64_t fc_smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t fc_larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* a / b rounded down; b > 0. */
static inline int64_t fc_floored(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

/* Both at least 0; unit more than that. */
static inline int64_t fc_round_up(int64_t a, int64_t unit) {
  return (a + unit - 1) / unit * unit;
}

/* To where the next table or plane may begin: a cache line, and the longest vector. */
static inline int64_t fc_align64(int64_t bytes) {
  return fc_round_up(bytes, 64);
}

/* Where scratch memory is said to begin that is laid out only to be measured: not at NULL, from which no
 * offset may be taken (UBSan tells). Nothing is there. */
static inline char *fc_nowhere(void) {
  return (char *)(uintptr_t)64;
}

#endif
