/* SPDX-License-Identifier: MIT */
/*
 * conv1d_device.h - signals and masks on a CUDA device, for the tests of what runs there.
 */
#ifndef FC_TESTS_CONV1D_DEVICE_H
#define FC_TESTS_CONV1D_DEVICE_H

#include <cuda_runtime_api.h>

#include "tests/filters/conv1d_trials.h"

#define SKIPPED 77

/* Ends the test: nothing after a failed call means anything. */
static inline void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "failed: %s\n", cudaGetErrorString(error));
  exit(1);
}

static inline void skip_without_device(void) {
  int devices = 0;
  cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaSuccess && devices > 0) return;
  printf("skipped: %s\n", error != cudaSuccess ? cudaGetErrorString(error) : "no device");
  exit(SKIPPED);
}

/* A copy on the device of a signal's memory, guard bands and all. */
static inline signal to_device(const signal *s) {
  signal d = *s;
  size_t total = s->memory.bytes + 2 * GUARD_BYTES;
  must(cudaMalloc((void **)&d.memory.base, total));
  must(cudaMemcpy(d.memory.base, s->memory.base, total, cudaMemcpyHostToDevice));
  d.memory.data = d.memory.base + GUARD_BYTES;
  d.view.data = (char *)d.memory.data + ((char *)s->view.data - (char *)s->memory.data);
  d.view.device = FC_CUDA_DEVICE(0);
  return d;
}

static inline void from_device(const signal *s, const signal *d) {
  must(cudaDeviceSynchronize());
  must(cudaMemcpy(s->memory.base, d->memory.base, s->memory.bytes + 2 * GUARD_BYTES, cudaMemcpyDeviceToHost));
}

static inline void device_free(signal *d) {
  must(cudaFree(d->memory.base));
}

/* The mask on the device; cudaFree. */
static inline void *mask_to_device(const fc_conv1d *c) {
  size_t bytes = (size_t)(c->taps * c->masks) * fc_dtype_size(c->compute);
  void *mask = NULL;
  must(cudaMalloc(&mask, bytes));
  must(cudaMemcpy(mask, c->mask, bytes, cudaMemcpyHostToDevice));
  return mask;
}

#endif
