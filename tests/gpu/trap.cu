// SPDX-License-Identifier: MIT
//
// trap.cu - see trap.h.
#include "tests/gpu/trap.h"

#include <cuda_runtime.h>

static __global__ void trap_kernel() {
  asm("trap;");
}

extern "C" int trap_copy(void *to, const void *from, size_t bytes, int trap, void *stream) {
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  if (trap) trap_kernel<<<1, 1, 0, s>>>();
  cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) status = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, s);
  return static_cast<int>(status);
}
