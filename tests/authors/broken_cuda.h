/* SPDX-License-Identifier: MIT */
/*
 * broken_cuda.h - what broken_cuda.c tells its kernel.
 */
#ifndef FC_TESTS_BROKEN_CUDA_H
#define FC_TESTS_BROKEN_CUDA_H

#include <stdint.h>

typedef struct copying {
  const char *from;
  char *to;
  int64_t shape[4], in_step[4], out_step[4], size; /* of the output, in bytes */
  int64_t ahead;                                   /* elements along x */
  int reads_beyond, writes_beyond;
} copying;

#ifdef __cplusplus
extern "C"
#endif
    void
    broken_launch(const copying *c, void *stream);

#endif
