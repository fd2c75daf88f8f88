/* SPDX-License-Identifier: MIT */
/*
 * fake_cuda.c - see cuda_runtime_api.h. Part of a filterchain-check that takes it for a device. As the real
 * runtime does, it finds the driver's functions by dlsym and cuGetProcAddress, waits for all streams before
 * memory is freed, and takes some of the host's memory for the first work of a stream.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <dlfcn.h>
#include <glib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check/watch.h"

typedef struct work {
  void (*function)(void *);
  void *data, *copy;
} work;

struct CUstream_st {
  GAsyncQueue *queue;
  GThread *thread;
  guint pending;
  gboolean used;
};

static GMutex mutex;
static GCond idle;
static guint pending; /* of all streams */

static gpointer serve(gpointer data) {
  cudaStream_t stream = data;
  for (work *w; (w = g_async_queue_pop(stream->queue))->function;) {
    w->function(w->data);
    g_free(w->copy);
    g_free(w);
    g_mutex_lock(&mutex);
    pending--, stream->pending--;
    g_cond_broadcast(&idle);
    g_mutex_unlock(&mutex);
  }
  return NULL;
}

static void enqueue(cudaStream_t stream, work w) {
  if (!stream->used) g_free(g_malloc(64));
  stream->used = TRUE;
  const watch_phase was = watch_enter(WATCH_OFF);
  g_mutex_lock(&mutex);
  pending++, stream->pending++;
  g_mutex_unlock(&mutex);
  g_async_queue_push(stream->queue, g_memdup2(&w, sizeof w));
  watch_enter(was);
}

static cudaError_t wait_until_none(const guint *left) {
  g_mutex_lock(&mutex);
  while (*left) g_cond_wait(&idle, &mutex);
  g_mutex_unlock(&mutex);
  return cudaSuccess;
}

/* ---- streams ---------------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  *stream = g_new0(struct CUstream_st, 1);
  (*stream)->queue = g_async_queue_new();
  (*stream)->thread = g_thread_new("stream", serve, *stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  static work end;
  cudaStreamSynchronize(stream);
  g_async_queue_push(stream->queue, &end);
  g_thread_join(stream->thread);
  g_async_queue_unref(stream->queue);
  g_free(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return wait_until_none(&stream->pending);
}

cudaError_t cudaDeviceSynchronize(void) {
  return wait_until_none(&pending);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void *), void *data) {
  enqueue(stream, (work){function, data, NULL});
  return cudaSuccess;
}

void fake_cuda_launch(cudaStream_t stream, void (*function)(void *), const void *data, size_t bytes) {
  const watch_phase was = watch_enter(WATCH_OFF);
  void *copy = g_memdup2(data, bytes);
  watch_enter(was);
  enqueue(stream, (work){function, copy, copy});
}

/* ---- the driver --------------------------------------------------------------------- */

static CUresult mem_alloc(CUdeviceptr *memory, size_t bytes) {
  const watch_phase was = watch_enter(WATCH_OFF);
  *memory = (CUdeviceptr)(uintptr_t)aligned_alloc(256, (bytes + 256) / 256 * 256);
  watch_enter(was);
  return *memory ? 0 : 2;
}

static CUresult mem_free(CUdeviceptr memory) {
  free((void *)(uintptr_t)memory);
  return 0;
}

static CUresult granularity(size_t *bytes, const CUmemAllocationProp *what,
                            CUmemAllocationGranularity_flags which) {
  *bytes = (size_t)sysconf(_SC_PAGESIZE);
  return 0;
}

static CUresult reserve(CUdeviceptr *at, size_t bytes, size_t align, CUdeviceptr wish,
                        unsigned long long flags) {
  void *pages = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *at = (CUdeviceptr)(uintptr_t)pages;
  return pages == MAP_FAILED ? 2 : 0;
}

static CUresult create(CUmemGenericAllocationHandle *memory, size_t bytes, const CUmemAllocationProp *what,
                       unsigned long long flags) {
  *memory = bytes;
  return 0;
}

static CUresult map(CUdeviceptr at, size_t bytes, size_t offset, CUmemGenericAllocationHandle memory,
                    unsigned long long flags) {
  return bytes == memory ? 0 : 1;
}

static CUresult allow(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *access, size_t count) {
  return mprotect((void *)(uintptr_t)at, bytes, PROT_READ | PROT_WRITE) ? 1 : 0;
}

static CUresult unmap(CUdeviceptr at, size_t bytes) {
  return mprotect((void *)(uintptr_t)at, bytes, PROT_NONE) ? 1 : 0;
}

static CUresult release(CUmemGenericAllocationHandle memory) {
  return 0;
}

static CUresult address_free(CUdeviceptr at, size_t bytes) {
  return munmap((void *)(uintptr_t)at, bytes) ? 1 : 0;
}

#define DRIVER(name, function)                                                                               \
  { name, (void *)function }
CUresult cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags,
                             int *found);
CUresult cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags,
                             int *found) {
  static const struct {
    const char *name;
    void *function;
  } all[] = {DRIVER("cuMemAlloc", mem_alloc),
             DRIVER("cuMemFree", mem_free),
             DRIVER("cuMemGetAllocationGranularity", granularity),
             DRIVER("cuMemAddressReserve", reserve),
             DRIVER("cuMemCreate", create),
             DRIVER("cuMemMap", map),
             DRIVER("cuMemSetAccess", allow),
             DRIVER("cuMemUnmap", unmap),
             DRIVER("cuMemRelease", release),
             DRIVER("cuMemAddressFree", address_free)};
  for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
    if (strcmp(all[i].name, name) == 0) {
      *function = all[i].function;
      return 0;
    }
  return 500;
}

/* As the runtime asks for it. */
static void *driver(const char *name) {
  CUresult (*ask)(const char *, void **, int, unsigned long long, int *) = NULL;
  void *symbol = dlsym(RTLD_DEFAULT, "cuGetProcAddress_v2"), *found = NULL;
  int result = 0;
  memcpy(&ask, &symbol, sizeof ask);
  return ask(name, &found, CUDART_VERSION, 0, &result) == 0 ? found : NULL;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *result) {
  *function = driver(name);
  *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

/* ---- memory ---------------------------------------------------------------------------- */

cudaError_t cudaMalloc(void **memory, size_t bytes) {
  CUresult (*take)(void **, size_t);
  void *symbol = driver("cuMemAlloc");
  memcpy(&take, &symbol, sizeof take);
  return take(memory, bytes) ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaFree(void *memory) {
  CUresult (*give)(void *);
  void *symbol = driver("cuMemFree");
  memcpy(&give, &symbol, sizeof give);
  cudaDeviceSynchronize();
  return give(memory) ? cudaErrorUnknown : cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  memcpy(to, from, bytes);
  return cudaSuccess;
}

/* ---- the device ------------------------------------------------------------------------- */

const char *cudaGetErrorString(cudaError_t error) {
  return "unknown error";
}

cudaError_t cudaGetDeviceCount(int *count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
  strcpy(properties->name, "none, threads of the host");
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  return cudaSuccess;
}
