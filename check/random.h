/* SPDX-License-Identifier: MIT */
/*
 * random.h - random numbers from an explicit state (splitmix64), so that a case can be repeated alone.
 */
#ifndef FC_TESTS_OPS_RANDOM_H
#define FC_TESTS_OPS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct dice {
  uint64_t state;
} dice;

static inline uint64_t dice_bits(dice *d) {
  uint64_t z = (d->state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* An independent sequence, selected by a number and a name. */
static inline dice dice_of(uint64_t seed, const char *name, uint64_t number) {
  dice d = {seed ^ (number * 0xd6e8feb86659fd93u)};
  for (; name && *name; name++) d.state = (d.state ^ (unsigned char)*name) * 0x100000001b3u;
  dice_bits(&d);
  return d;
}

/* In [low, high]. */
static inline int64_t dice_int(dice *d, int64_t low, int64_t high) {
  return low + (int64_t)(dice_bits(d) % (uint64_t)(high - low + 1));
}

/* In [0, 1). */
static inline double dice_unit(dice *d) {
  return (double)(dice_bits(d) >> 11) / 9007199254740992.0;
}

/* In [low, high). */
static inline double dice_real(dice *d, double low, double high) {
  return low + (high - low) * dice_unit(d);
}

static inline bool dice_chance(dice *d, int percent) {
  return dice_int(d, 0, 99) < percent;
}

#define DICE_PICK(d, array) ((array)[dice_int(d, 0, (int64_t)(sizeof(array) / sizeof *(array)) - 1)])

#endif
