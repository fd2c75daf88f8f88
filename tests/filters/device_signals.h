/* SPDX-License-Identifier: MIT */
/* device_signals.h - signals of the tests (views.h) in the memory of a CUDA device, guard bands and all. */
#ifndef FC_TESTS_FILTERS_DEVICE_SIGNALS_H
#define FC_TESTS_FILTERS_DEVICE_SIGNALS_H

#include <cuda_runtime_api.h>

#include "tests/filters/views.h"

#define SKIPPED 77

/* A copy of host memory. */
static inline void *to_device(const void *from, size_t bytes) {
  void *to = NULL;
  if (cudaMalloc(&to, bytes ? bytes : 1) != cudaSuccess) abort();
  if (cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice) != cudaSuccess) abort();
  return to;
}

/* The view of a copy of a signal; and back. */
static inline fc_view view_on_device(const signal *s) {
  char *base = to_device(s->memory.base, s->memory.bytes + 2 * GUARD_BYTES);
  fc_view v = s->view;
  v.device = FC_CUDA_DEVICE(0);
  v.data = base + ((unsigned char *)s->view.data - s->memory.base);
  return v;
}

static inline void view_from_device(const signal *s, const fc_view *v) {
  char *base = (char *)v->data - ((unsigned char *)s->view.data - s->memory.base);
  CHECK(cudaDeviceSynchronize() == cudaSuccess, "the kernel failed");
  cudaMemcpy(s->memory.base, base, s->memory.bytes + 2 * GUARD_BYTES, cudaMemcpyDeviceToHost);
  cudaFree(base);
}

#endif
