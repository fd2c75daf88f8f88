/* SPDX-License-Identifier: MIT */
/*
 * test_arena.c - memory that threads make ready: zeros, in aligned pieces that do not overlap, until nothing
 * is left; given back also while it is still being made.
 */
#include "core/device/arena.h"

#include <string.h>

#define MIB ((gsize)1 << 20)

/* Skips where the system cannot make pages ready: then there is no memory, and callers do without. */
static char *ready(fc_arena *a, gsize least) {
  gsize bytes = 0;
  char *memory = fc_arena_wait(a, &bytes);
  g_assert_cmpuint(bytes, >=, least);
  if (!memory) g_test_skip("no MADV_POPULATE_WRITE here");
  return memory;
}

static void test_pieces(void) {
  static const gsize sizes[] = {1, 256, 257, 4096, 3 * MIB + 5, 0};
  fc_arena *a = fc_arena_new(7 * MIB);
  char *memory = ready(a, 7 * MIB), *end = memory;
  for (guint i = 0; memory && i < G_N_ELEMENTS(sizes); i++) {
    char *piece = fc_arena_take(a, sizes[i]);
    g_assert_nonnull(piece);
    g_assert_cmpuint((gsize)piece % 256, ==, 0);
    g_assert_true(piece >= end && fc_arena_owns(a, piece));
    for (gsize k = 0; k < sizes[i]; k++) g_assert_cmpint(piece[k], ==, 0);
    memset(piece, 0xff, sizes[i]);
    end = piece + sizes[i];
  }
  if (memory) g_assert_null(fc_arena_take(a, 8 * MIB));
  if (memory) g_assert_nonnull(fc_arena_take(a, 1)); /* a refusal takes nothing */
  g_assert_false(fc_arena_owns(a, &a));
  fc_arena_free(a);
}

/* By several threads, and without waiting. */
static void test_given_back(void) {
  for (int i = 0; i < 20; i++) fc_arena_free(fc_arena_new(130 * MIB));
  g_assert_null(fc_arena_new(0));
  g_assert_null(fc_arena_new(G_MAXSIZE / 2));
  fc_arena_free(NULL);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/arena/pieces", test_pieces);
  g_test_add_func("/arena/given-back", test_given_back);
  return g_test_run();
}
