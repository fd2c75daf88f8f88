/* SPDX-License-Identifier: MIT */
/*
 * cuda_host.c - the first CUDA device for the operator tests: plain memory and plain
 * copies through the runtime, guarded memory through the driver; see device.h.
 */
#include "check/device.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- guarded memory: addresses reserved, and memory for some of them (driver API) --------- */

static void *driver(const char *name) {
  void *found = NULL;
  enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
#else
  cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
  return result == cudaDriverEntryPointSuccess ? found : NULL;
}

static struct driver_functions {
  CUresult (*granularity)(size_t *, const CUmemAllocationProp *, CUmemAllocationGranularity_flags);
  CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
  CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *, unsigned long long);
  CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
  CUresult (*allow)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
  CUresult (*unmap)(CUdeviceptr, size_t);
  CUresult (*release)(CUmemGenericAllocationHandle);
  CUresult (*give_back)(CUdeviceptr, size_t);
} cu;

static const CUmemAllocationProp on_device = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                              .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};

static size_t cuda_page(void) {
  static const char *const names[] = {"cuMemGetAllocationGranularity",
                                      "cuMemAddressReserve",
                                      "cuMemCreate",
                                      "cuMemMap",
                                      "cuMemSetAccess",
                                      "cuMemUnmap",
                                      "cuMemRelease",
                                      "cuMemAddressFree"};
  void *found[sizeof names / sizeof *names];
  size_t page = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!(found[i] = driver(names[i]))) return 0;
  memcpy(&cu, found, sizeof cu);
  return cu.granularity(&page, &on_device, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ? 0 : page;
}

static char *cuda_map(size_t inner, size_t page, uint64_t *kept) {
  const CUmemAccessDesc access = {on_device.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemGenericAllocationHandle memory = 0;
  CUdeviceptr pages = 0;
  if (cu.reserve(&pages, inner + 2 * page, 0, 0, 0)) return NULL;
  if (inner && (cu.create(&memory, inner, &on_device, 0) || cu.map(pages + page, inner, 0, memory, 0) ||
                cu.allow(pages + page, inner, &access, 1)))
    return NULL;
  *kept = memory;
  return (char *)(uintptr_t)pages;
}

static void cuda_unmap(char *pages, size_t inner, size_t page, uint64_t kept) {
  const CUdeviceptr at = (CUdeviceptr)(uintptr_t)pages;
  cudaDeviceSynchronize(); /* as cudaFree would */
  if (inner) {
    cu.unmap(at + page, inner);
    cu.release(kept);
  }
  cu.give_back(at, inner + 2 * page);
}

/* A host function on the stream, which returns when it is let go. */
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
  static const struct guard_pages pages = {cuda_page, cuda_map, cuda_unmap};
  static const test_device cuda = {
      FC_CUDA_DEVICE(0), name,        BAND,      cuda_alloc,  cuda_free, cuda_put, cuda_get, cuda_stream_new,
      cuda_stream_free,  cuda_finish, cuda_hold, cuda_let_go, &pages};
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
