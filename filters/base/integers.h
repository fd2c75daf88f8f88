/* SPDX-License-Identifier: MIT */
/*
 * integers.h - small functions on sizes. Internal to filters/.
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

/* Both >= 0; unit > 0. */
static inline int64_t fc_round_up(int64_t a, int64_t unit) {
  return (a + unit - 1) / unit * unit;
}

/* Rounds up to where the next table or plane may begin: a multiple of a cache line and of the longest
 * vector. */
static inline int64_t fc_align64(int64_t bytes) {
  return fc_round_up(bytes, 64);
}

/* A fake base address for scratch memory that is laid out only to be measured. Not NULL, since offsets
 * from NULL are undefined (UBSan reports them). Never dereferenced. */
static inline char *fc_nowhere(void) {
  return (char *)(uintptr_t)64;
}

#endif
