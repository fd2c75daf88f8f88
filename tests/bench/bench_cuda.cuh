// SPDX-License-Identifier: MIT
//
// bench_cuda.cuh - timing and device buffers for the ladders on a GPU.
#ifndef FC_TESTS_BENCH_CUDA_CUH
#define FC_TESTS_BENCH_CUDA_CUH

#include "tests/bench/bench.h"

#include <cstdlib>
#include <cuda_runtime.h>

// A benchmark that goes wrong has nothing to say: it ends.
inline void must(cudaError_t status, const char *what) {
  if (status == cudaSuccess) return;
  fprintf(stderr, "filterchain-bench: %s: %s\n", what, cudaGetErrorString(status));
  exit(1);
}

// Host memory for the length of a scope; without the C++ library, which nothing here links.
template <typename T> class host_array {
public:
  explicit host_array(size_t count) : memory((T *)malloc((count + 1) * sizeof(T))), count(count) {
    if (!memory) must(cudaErrorMemoryAllocation, "allocating host memory");
  }
  ~host_array() { free(memory); }
  host_array(const host_array &) = delete;
  T &operator[](size_t i) { return memory[i]; }
  const T &operator[](size_t i) const { return memory[i]; }
  T *data() { return memory; }
  size_t size() const { return count; }

private:
  T *memory;
  size_t count;
};

template <typename T> T *device_array(size_t count) {
  void *memory = NULL;
  must(cudaMalloc(&memory, count * sizeof(T)), "allocating device memory");
  return (T *)memory;
}

template <typename T> T *device_copy(const T *from, size_t count) {
  T *memory = device_array<T>(count);
  must(cudaMemcpy(memory, from, count * sizeof(T), cudaMemcpyHostToDevice), "uploading");
  return memory;
}

// Poisons the output, runs once for the answer, then times: events around each run, the
// median of `repeats`.
double time_cuda(void (*run)(void *), void *data, int repeats);

// Copies on the device, enqueued on the stream: way 0 is cudaMemcpyAsync, the others are kernels of
// ours, for whole vectors of 16 bytes. The fastest tells the machine's copy speed.
constexpr int COPY_WAYS = 3;
void copy_some_way(int way, void *to, const void *from, size_t bytes, cudaStream_t stream);

#endif
