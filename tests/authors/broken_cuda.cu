/* SPDX-License-Identifier: MIT */
/*
 * broken_cuda.cu - the kernel of broken_cuda.c, in what C and CUDA C++ share: compiled by nvcc, or, for
 * fake_cuda, as part of broken_cuda.c.
 */
#include "tests/authors/broken_cuda.h"

#ifdef __CUDACC__
#define DEVICE static __device__
#else
#define DEVICE static
#endif

/* Element i of the output is the next one of the input. */
DEVICE void copy_element(const copying *c, int64_t i) {
  const int64_t *n = c->shape,
                at[] = {i / (n[1] * n[2] * n[3]), i / (n[2] * n[3]) % n[1], i / n[3] % n[2], i % n[3]};
  const char *from = c->from + c->ahead * c->in_step[2];
  char *to = c->to;
  for (int a = 0; a < 4; a++) from += at[a] * c->in_step[a], to += at[a] * c->out_step[a];
  for (int64_t b = 0; b < c->size; b++) to[b] = from[b];
  if (i != n[0] * n[1] * n[2] * n[3] - 1) return;
  /* The last one: far beyond, in its row or, where that is short, behind the frame. */
  const int64_t far = 64 * c->size;
  if (c->reads_beyond) to[0] = ((const volatile char *)from)[far] == 1 ? from[0] : to[0];
  if (c->writes_beyond) ((volatile char *)to)[far] = 1;
}

#ifdef __CUDACC__

static __global__ void copy_kernel(copying c, int64_t count) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < count) copy_element(&c, i);
}

extern "C" void broken_launch(const copying *c, void *stream) {
  const int64_t count = c->shape[0] * c->shape[1] * c->shape[2] * c->shape[3];
  if (count) copy_kernel<<<(unsigned)((count + 127) / 128), 128, 0, (cudaStream_t)stream>>>(*c, count);
}

#else

static void copy_all(void *data) {
  const copying *c = data;
  for (int64_t i = 0; i < c->shape[0] * c->shape[1] * c->shape[2] * c->shape[3]; i++) copy_element(c, i);
}

void broken_launch(const copying *c, void *stream) {
  fake_cuda_launch(stream, copy_all, c, sizeof *c);
}

#endif
