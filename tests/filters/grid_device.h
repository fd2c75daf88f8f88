/* SPDX-License-Identifier: MIT */
/*
 * grid_device.h - grids on a CUDA device, guard bands and all.
 */
#ifndef FC_TESTS_GRID_DEVICE_H
#define FC_TESTS_GRID_DEVICE_H

#include <cuda_runtime_api.h>

#include "tests/filters/grid.h"

#define SKIPPED 77

static inline int have_device(void) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) return 1;
  fprintf(stderr, "skipped: no CUDA device\n");
  return 0;
}

static inline void *to_device(const void *from, size_t bytes) {
  void *to = NULL;
  if (cudaMalloc(&to, bytes ? bytes : 1) != cudaSuccess) abort();
  if (cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice) != cudaSuccess) abort();
  return to;
}

/* The view of a copy. The view's data may lie anywhere within the grid's memory. */
static inline fc_view grid_to_device(const grid *g) {
  char *base = to_device(g->memory.base, g->memory.bytes + 2 * GUARD_BYTES);
  fc_view v = g->view;
  v.device = FC_CUDA_DEVICE(0);
  v.data = base + ((unsigned char *)g->view.data - g->memory.base);
  return v;
}

/* Back into the grid, and done with. */
static inline void grid_from_device(const grid *g, const fc_view *v) {
  char *base = (char *)v->data - ((unsigned char *)g->view.data - g->memory.base);
  if (cudaMemcpy(g->memory.base, base, g->memory.bytes + 2 * GUARD_BYTES, cudaMemcpyDeviceToHost)) abort();
  cudaFree(base);
}

#endif
