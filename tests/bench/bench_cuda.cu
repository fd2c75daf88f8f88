// SPDX-License-Identifier: MIT
//
// bench_cuda.cu - timing by events, and the device's own copy speed.
#include "tests/bench/bench_cuda.cuh"

#include <algorithm>
#include <cmath>
#include <cstring>

double time_cuda(void (*run)(void *), void *data, int repeats) {
  float times[200];
  repeats = std::min(repeats, 200);
  cudaEvent_t start, stop;
  must(cudaEventCreate(&start), "event");
  must(cudaEventCreate(&stop), "event");
  for (int i = 0; i < 3; i++) run(data);
  for (int i = 0; i < repeats; i++) {
    must(cudaEventRecord(start), "event");
    run(data);
    must(cudaEventRecord(stop), "event");
    must(cudaEventSynchronize(stop), "running");
    must(cudaEventElapsedTime(&times[i], start, stop), "event");
  }
  must(cudaGetLastError(), "launching");
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  std::sort(times, times + repeats);
  return times[repeats / 2] * 1e-3;
}

namespace {

struct copy_work {
  int way;
  char *to, *from;
  size_t bytes;
};

constexpr int COPY_THREADS = 512;

__global__ void __launch_bounds__(COPY_THREADS) copy_striding(float4 *to, const float4 *from, size_t count) {
  const size_t step = (size_t)gridDim.x * blockDim.x;
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  for (; i + 3 * step < count; i += 4 * step) {
    float4 a = from[i], b = from[i + step], c = from[i + 2 * step], d = from[i + 3 * step];
    to[i] = a, to[i + step] = b, to[i + 2 * step] = c, to[i + 3 * step] = d;
  }
  for (; i < count; i += step) to[i] = from[i];
}

// A stretch a block, read and written past the caches' order of use.
__global__ void __launch_bounds__(COPY_THREADS) copy_stretch(float4 *to, const float4 *from, size_t count) {
  const size_t first = (size_t)blockIdx.x * (4 * COPY_THREADS) + threadIdx.x;
  float4 v[4];
#pragma unroll
  for (int k = 0; k < 4; k++)
    if (first + k * COPY_THREADS < count) v[k] = __ldcs(from + first + k * COPY_THREADS);
#pragma unroll
  for (int k = 0; k < 4; k++)
    if (first + k * COPY_THREADS < count) __stcs(to + first + k * COPY_THREADS, v[k]);
}

void run_copy(void *data) {
  const copy_work *c = (const copy_work *)data;
  copy_some_way(c->way, c->to, c->from, c->bytes, 0);
}

} // namespace

void copy_some_way(int way, void *to, const void *from, size_t bytes, cudaStream_t stream) {
  const size_t count = bytes / sizeof(float4), stretch = 4 * COPY_THREADS;
  if (way == 1)
    copy_striding<<<132 * 8, COPY_THREADS, 0, stream>>>((float4 *)to, (const float4 *)from, count);
  else if (way == 2)
    copy_stretch<<<(unsigned)((count + stretch - 1) / stretch), COPY_THREADS, 0, stream>>>(
        (float4 *)to, (const float4 *)from, count);
  else
    cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}

extern "C" int bench_has_device(char *name, size_t size) {
  int count = 0;
  cudaDeviceProp properties;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return 0;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return 0;
  snprintf(name, size, "%s", properties.name);
  return 1;
}

extern "C" double bench_copy_cuda(void) {
  copy_work c = {0, NULL, NULL, (size_t)1 << 30};
  c.to = device_array<char>(c.bytes);
  c.from = device_array<char>(c.bytes);
  must(cudaMemset(c.from, 0x5a, c.bytes), "filling");
  double seconds = INFINITY;
  for (c.way = 0; c.way < COPY_WAYS; c.way++) seconds = std::min(seconds, time_cuda(run_copy, &c, 20));
  cudaFree(c.to);
  cudaFree(c.from);
  return 2 * (double)c.bytes / seconds;
}

extern "C" double bench_time_cuda(void (*run)(void *), void *data, int repeats) {
  return time_cuda(run, data, repeats);
}

extern "C" void *bench_device_new(const void *from, size_t bytes) {
  return from ? device_copy((const char *)from, bytes) : device_array<char>(bytes);
}

extern "C" void bench_device_free(void *memory) {
  cudaFree(memory);
}
