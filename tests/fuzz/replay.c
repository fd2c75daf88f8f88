/* SPDX-License-Identifier: MIT */
/*
 * replay.c - runs a fuzz target over the inputs kept for it, without libFuzzer.
 *
 *     replay_x FOLDER|FILE...
 *
 * Each name is printed before it is tried, so that the last one is the one that failed.
 */
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

static guint replay_file(const char *path) {
  g_autofree char *content = NULL;
  gsize size;
  if (!g_file_get_contents(path, &content, &size, NULL)) return 0;
  printf("%s\n", path);
  fflush(stdout);
  /* A copy of exactly that size: a sanitizer sees what reads beyond it. */
  g_autofree guint8 *exact = g_malloc(MAX(size, 1));
  memcpy(exact, content, size);
  LLVMFuzzerTestOneInput(exact, size);
  return 1;
}

static guint replay(const char *path) {
  GDir *dir = g_dir_open(path, 0, NULL);
  if (!dir) return replay_file(path);
  guint count = 0;
  for (const char *name; (name = g_dir_read_name(dir));) {
    g_autofree char *inner = g_build_filename(path, name, NULL);
    count += replay_file(inner);
  }
  g_dir_close(dir);
  return count;
}

int main(int argc, char **argv) {
  guint count = LLVMFuzzerTestOneInput(NULL, 0) == 0;
  for (int i = 1; i < argc; i++) {
    guint found = replay(argv[i]);
    if (!found) printf("%s: no inputs\n", argv[i]);
    if (!found) return 1;
    count += found;
  }
  printf("%u inputs\n", count);
  return 0;
}
