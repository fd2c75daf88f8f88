/* SPDX-License-Identifier: MIT */
/*
 * device_matrices.h - matrices on a CUDA device, for the tests of products there.
 */
#ifndef FC_TESTS_DEVICE_MATRICES_H
#define FC_TESTS_DEVICE_MATRICES_H

#include <cuda_runtime_api.h>

#include "tests/filters/matrices.h"

/* A device copy of a matrix's memory, guard bands and all. */
static inline matrix to_device(const matrix *m) {
  matrix d = *m;
  size_t total = m->memory.bytes + 2 * GUARD_BYTES;
  if (cudaMalloc((void **)&d.memory.base, total) != cudaSuccess) abort();
  cudaMemcpy(d.memory.base, m->memory.base, total, cudaMemcpyHostToDevice);
  d.data = d.memory.base + GUARD_BYTES;
  return d;
}

static inline void from_device(const matrix *m, const matrix *d) {
  cudaMemcpy(m->memory.base, d->memory.base, m->memory.bytes + 2 * GUARD_BYTES, cudaMemcpyDeviceToHost);
}

/* The host's, and the three on the device. */
static inline void free_matrices(matrix *const *host, int hosts, const matrix *a, const matrix *b,
                                 const matrix *c) {
  for (int n = 0; n < hosts; n++) matrix_free(host[n]);
  cudaFree(a->memory.base);
  cudaFree(b->memory.base);
  cudaFree(c->memory.base);
}

static inline fc_gemm product_of(const matrix *a, const matrix *b, const matrix *c, double alpha,
                                 double beta) {
  return (fc_gemm){.type = c->type,
                   .m = c->rows,
                   .n = c->cols,
                   .k = a->cols,
                   .alpha = alpha,
                   .beta = beta,
                   .a = a->data,
                   .b = b->data,
                   .c = c->data,
                   .a_row = a->row,
                   .a_col = a->col,
                   .b_row = b->row,
                   .b_col = b->col,
                   .c_row = c->row,
                   .c_col = c->col};
}

/* Rows [i0, i1) and columns [j0, j1) of a product. */
static inline fc_gemm piece_of(const fc_gemm *g, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
  int64_t size = (int64_t)fc_dtype_size(g->type);
  fc_gemm piece = *g;
  piece.m = i1 - i0;
  piece.n = j1 - j0;
  piece.a = (const char *)g->a + i0 * g->a_row * size;
  piece.b = (const char *)g->b + j0 * g->b_col * size;
  piece.c = (char *)g->c + (i0 * g->c_row + j0 * g->c_col) * size;
  return piece;
}

#endif
