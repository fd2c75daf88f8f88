/* SPDX-License-Identifier: MIT */
/*
 * cuda_host.c - the first CUDA device for the operator tests: plain memory and plain
 * copies through the runtime; see device.h.
 */
#include "check/device.h"

#include <cuda_runtime_api.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static const char *said(cudaError_t status) {
  return status == cudaSuccess ? NULL : cudaGetErrorString(status);
}

static void *cuda_alloc(size_t bytes, size_t align, const char *what) {
  void *memory = NULL;
  const char *error = said(cudaMalloc(&memory, bytes ? bytes : 1));
  if (!error) return memory;
  fprintf(stderr, "filterchain-check: cudaMalloc of %zu bytes: %s\n", bytes, error);
  exit(1);
}

static void cuda_free(void *memory) {
  cudaFree(memory);
}

/* A copy from pageable memory may return before it is complete, and our streams do not wait for the null
 * stream. */
static const char *cuda_put(void *to, const void *from, size_t bytes) {
  cudaError_t status = cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);
  return said(status == cudaSuccess ? cudaDeviceSynchronize() : status);
}

static const char *cuda_get(void *to, const void *from, size_t bytes) {
  return said(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}

/* Non-blocking, like the engine's streams. */
static void *cuda_stream_new(void) {
  cudaStream_t stream = NULL;
  const char *error = said(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  if (!error) return stream;
  fprintf(stderr, "filterchain-check: cudaStreamCreate: %s\n", error);
  exit(1);
}

static void cuda_stream_free(void *stream) {
  cudaStreamDestroy(stream);
}

static const char *cuda_finish(void *stream) {
  return said(cudaStreamSynchronize(stream));
}

/* A host function on the stream, which returns when it is released. */
typedef struct held_stream {
  sem_t gate;
} held_stream;

static void CUDART_CB wait_at_gate(void *data) {
  while (sem_wait(&((held_stream *)data)->gate) != 0) {
  }
}

static void *cuda_hold(void *stream) {
  held_stream *h = malloc(sizeof *h);
  if (!h || sem_init(&h->gate, 0, 0) != 0 || cudaLaunchHostFunc(stream, wait_at_gate, h) != cudaSuccess) {
    fprintf(stderr, "filterchain-check: a stream cannot be held back\n");
    exit(1);
  }
  return h;
}

/* Not freed: the host function may still read it. */
static void cuda_let_go(void *held) {
  sem_post(&((held_stream *)held)->gate);
}

const test_device *device_cuda(const char **reason) {
  static char name[64 + sizeof((struct cudaDeviceProp *)0)->name];
  static const test_device cuda = {FC_CUDA_DEVICE(0), name,        BAND,      cuda_alloc,
                                   cuda_free,         cuda_put,    cuda_get,  cuda_stream_new,
                                   cuda_stream_free,  cuda_finish, cuda_hold, cuda_let_go};
  int count = 0;
  struct cudaDeviceProp properties;
  *reason = said(cudaGetDeviceCount(&count));
  if (!*reason && count == 0) *reason = "no CUDA device";
  if (!*reason) *reason = said(cudaGetDeviceProperties(&properties, 0));
  if (!*reason) *reason = said(cudaSetDevice(0));
  if (*reason) return NULL;
  snprintf(name, sizeof name, "cuda:0 (%s)", properties.name);
  return &cuda;
}
