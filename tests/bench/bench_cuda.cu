// SPDX-License-Identifier: MIT
//
// bench_cuda.cu - timing by events, and the device's own copy speed.
#include "tests/bench/bench_cuda.cuh"

#include <algorithm>
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
  float4 *to, *from;
  size_t bytes;
};

__global__ void copy_kernel(float4 *to, const float4 *from, size_t count) {
  const size_t step = (size_t)gridDim.x * blockDim.x;
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  for (; i + 3 * step < count; i += 4 * step) {
    float4 a = from[i], b = from[i + step], c = from[i + 2 * step], d = from[i + 3 * step];
    to[i] = a, to[i + step] = b, to[i + 2 * step] = c, to[i + 3 * step] = d;
  }
  for (; i < count; i += step) to[i] = from[i];
}

void run_memcpy(void *data) {
  copy_work *c = (copy_work *)data;
  cudaMemcpyAsync(c->to, c->from, c->bytes, cudaMemcpyDeviceToDevice, 0);
}

void run_kernel(void *data) {
  copy_work *c = (copy_work *)data;
  copy_kernel<<<132 * 8, 512>>>(c->to, c->from, c->bytes / sizeof(float4));
}

} // namespace

extern "C" int bench_has_device(char *name, size_t size) {
  int count = 0;
  cudaDeviceProp properties;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return 0;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return 0;
  snprintf(name, size, "%s", properties.name);
  return 1;
}

extern "C" double bench_copy_cuda(void) {
  copy_work c = {NULL, NULL, (size_t)1 << 30};
  c.to = (float4 *)device_array<char>(c.bytes);
  c.from = (float4 *)device_array<char>(c.bytes);
  must(cudaMemset(c.from, 0x5a, c.bytes), "filling");
  double seconds = std::min(time_cuda(run_memcpy, &c, 20), time_cuda(run_kernel, &c, 20));
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
