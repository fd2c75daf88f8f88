/* SPDX-License-Identifier: MIT */
/*
 * matrices.h - matrices for the tests of products: random values, in row- or
 * column-major order or with gaps in both directions, between guard bands.
 */
#ifndef FC_TESTS_MATRICES_H
#define FC_TESTS_MATRICES_H

#include "filters/gemm/gemm.h"
#include "tests/filters/check.h"

typedef struct matrix {
  int type;
  int64_t rows, cols, row, col; /* distances in elements */
  guarded memory;
  void *data;
} matrix;

static inline char *matrix_at(const matrix *m, int64_t i, int64_t j) {
  return (char *)m->data + (i * m->row + j * m->col) * (int64_t)fc_dtype_size(m->type);
}
static inline double matrix_get(const matrix *m, int64_t i, int64_t j) {
  return element_get(matrix_at(m, i, j), m->type);
}
static inline void matrix_set(const matrix *m, int64_t i, int64_t j, double v) {
  element_set(matrix_at(m, i, j), m->type, v);
}

/* Random elements in [-1, 1) and a random order: rows or columns adjacent, dense or with
 * a longer leading dimension, or every second element. */
static inline matrix matrix_new(int type, int64_t rows, int64_t cols) {
  int64_t step = random_int(0, 5) == 0 ? 2 : 1, gap = random_int(0, 1) * random_int(1, 5);
  matrix m = {.type = type, .rows = rows, .cols = cols, .row = step * cols + gap, .col = step};
  if (random_int(0, 1)) m.col = step * rows + gap, m.row = step;
  m.memory = guarded_new((size_t)(m.row * rows + m.col * cols + 1) * fc_dtype_size(type));
  m.data = m.memory.data;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) matrix_set(&m, i, j, random_real());
  return m;
}

/* Dense, by rows or by columns. */
static inline matrix matrix_dense(int type, int64_t rows, int64_t cols, int by_rows) {
  matrix m = {.type = type, .rows = rows, .cols = cols, .row = by_rows ? cols : 1, .col = by_rows ? 1 : rows};
  m.memory = guarded_new((size_t)(rows * cols) * fc_dtype_size(type));
  m.data = m.memory.data;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) matrix_set(&m, i, j, random_real());
  return m;
}

static inline void matrix_free(matrix *m) {
  guarded_free(&m->memory);
}

static inline void matrix_fill(matrix *m, double v) {
  for (int64_t i = 0; i < m->rows; i++)
    for (int64_t j = 0; j < m->cols; j++) matrix_set(m, i, j, v);
}

static inline matrix matrix_copy(const matrix *m) {
  matrix c = *m;
  c.memory = guarded_new(m->memory.bytes);
  c.data = c.memory.data;
  memcpy(c.data, m->data, m->memory.bytes);
  return c;
}

/* Of equal order and size, as matrix_copy makes them. */
static inline void matrix_assign(matrix *to, const matrix *from) {
  memcpy(to->data, from->data, to->memory.bytes);
}
static inline int matrix_equal(const matrix *a, const matrix *b) {
  return memcmp(a->data, b->data, a->memory.bytes) == 0;
}

/* Guard bands and the gaps between elements are as they were. */
static inline int matrix_intact(const matrix *m) {
  if (!guarded_intact(&m->memory)) return 0;
  matrix scrubbed = matrix_copy(m);
  for (int64_t i = 0; i < m->rows; i++)
    for (int64_t j = 0; j < m->cols; j++)
      memset(matrix_at(&scrubbed, i, j), GUARD_PATTERN, fc_dtype_size(m->type));
  int intact = 1;
  for (size_t i = 0; i < m->memory.bytes; i++) intact &= ((unsigned char *)scrubbed.data)[i] == GUARD_PATTERN;
  matrix_free(&scrubbed);
  return intact;
}

#endif
