/* SPDX-License-Identifier: MIT */
/*
 * noise_kernels.c - plain loops that the compiler vectorises: first words, then numbers from them, then their
 * order.
 */
#include "filters/generate/noise_kernels.h"

#include "filters/generate/noise_math.h"

#define DRAWS (FC_NOISE_RUN / 4)

static void make(uint64_t key, uint64_t row, uint64_t first, int even, double *restrict to) {
  uint32_t words[4][DRAWS];
  double made[4][DRAWS];
  for (int i = 0; i < DRAWS; i++) {
    const fc_random_words drawn = fc_random_at(key, row, first + (uint64_t)i);
    words[0][i] = drawn.word[0], words[1][i] = drawn.word[1];
    words[2][i] = drawn.word[2], words[3][i] = drawn.word[3];
  }
  for (int lane = 0; even && lane < 4; lane++)
    for (int i = 0; i < DRAWS; i++) made[lane][i] = fc_noise_even(words[lane][i]);
  for (int pair = 0; !even && pair < 4; pair += 2)
    for (int i = 0; i < DRAWS; i++) {
      const double radius = fc_noise_radius(words[pair][i]);
      made[pair][i] = radius * fc_noise_wave(words[pair + 1][i], 0);
      made[pair + 1][i] = radius * fc_noise_wave(words[pair + 1][i], 1);
    }
  for (int i = 0; i < DRAWS; i++)
    for (int lane = 0; lane < 4; lane++) to[4 * i + lane] = made[lane][i];
}

const fc_noise_kernels FC_ISA_NAME(fc_noise_kernels) = {make};
