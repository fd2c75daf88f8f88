/* SPDX-License-Identifier: MIT */
/*
 * golden.h - records of the files that tests/goldens/make_*.py write: a line with a name and
 * a count, a line of that many numbers.
 */
#ifndef FC_TESTS_GOLDEN_H
#define FC_TESTS_GOLDEN_H

#include "tests/filters/check.h"

typedef struct golden {
  int64_t count;
  double *values;
} golden;

/* The record of that name; a missing one ends the test. Free with golden_free. */
static inline golden golden_read(const char *path, const char *name) {
  golden g = {-1, NULL};
  FILE *file = fopen(path, "r");
  char word[256];
  long long count;
  while (file && fscanf(file, "%255s %lld", word, &count) == 2) {
    int wanted = strcmp(word, name) == 0;
    if (wanted) g = (golden){count, malloc((size_t)(count + 1) * sizeof(double))};
    for (long long i = 0; i < count; i++) {
      double v;
      if (fscanf(file, "%lf", &v) != 1) break;
      if (wanted) g.values[i] = v;
    }
    if (wanted) break;
  }
  if (file) fclose(file);
  if (g.count < 0) {
    fprintf(stderr, "%s: no record %s\n", path, name);
    exit(1);
  }
  return g;
}

static inline void golden_free(golden *g) {
  free(g->values);
}

/* |got - want| / |want|, in the Euclidean norm; got - want itself where want is all zero. */
static inline double golden_distance(const double *got, const golden *want) {
  double off = 0, size = 0;
  for (int64_t i = 0; i < want->count; i++) {
    off += (got[i] - want->values[i]) * (got[i] - want->values[i]);
    size += want->values[i] * want->values[i];
  }
  return size > 0 ? sqrt(off / size) : sqrt(off);
}

#endif
