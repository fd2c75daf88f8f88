/* SPDX-License-Identifier: MIT */
/*
 * cuda_runtime_api.h - in place of CUDA's, where there is none: so much of the runtime as check/cuda_host.c
 * and broken_cuda.c use, over the host's memory. A stream is a thread that works through what is enqueued.
 * See fake_cuda.c.
 */
#ifndef FC_TESTS_FAKE_CUDA_RUNTIME_H
#define FC_TESTS_FAKE_CUDA_RUNTIME_H

#include <stddef.h>

#define FAKE_CUDA      1
#define CUDART_VERSION 13000
#define CUDART_CB
typedef enum cudaError { cudaSuccess, cudaErrorMemoryAllocation = 2, cudaErrorUnknown = 999 } cudaError_t;
typedef struct CUstream_st *cudaStream_t;
typedef enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost } cudaMemcpyKind;
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess, cudaDriverEntryPointSymbolNotFound };
struct cudaDeviceProp {
  char name[256];
};
enum { cudaStreamNonBlocking = 1, cudaEnableDefault = 0 };

const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *result);
cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaFree(void *memory); /* waits for all streams */
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void *), void *data);
/* In place of a kernel's launch: `function` with a copy of `data`. */
void fake_cuda_launch(cudaStream_t stream, void (*function)(void *), const void *data, size_t bytes);

#endif
