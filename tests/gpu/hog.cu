// SPDX-License-Identifier: MIT
//
// hog.cu - takes a device's memory, but for so many MiB, until standard input ends: another process.
//   hog MIB      prints "ready" when it has it
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  size_t left = 0, all = 0, leave = argc > 1 ? strtoull(argv[1], NULL, 10) << 20 : 0;
  if (cudaMemGetInfo(&left, &all) != cudaSuccess) return 77;
  for (size_t piece = left; piece >= 1 << 20; piece /= 2)
    for (void *memory; cudaMemGetInfo(&left, &all) == cudaSuccess && left >= leave + piece;)
      if (cudaMalloc(&memory, piece) != cudaSuccess) break;
  (void)cudaGetLastError();
  printf("ready\n");
  fflush(stdout);
  while (getchar() != EOF) {
  }
  return 0;
}
