/* SPDX-License-Identifier: MIT */
/* trap.h - what trap.c has of CUDA: a copy on a stream, and before it, on request, a kernel that traps. */
#ifndef FC_TESTS_GPU_TRAP_H
#define FC_TESTS_GPU_TRAP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0, or an error of CUDA's. */
int trap_copy(void *to, const void *from, size_t bytes, int trap, void *stream);

#ifdef __cplusplus
}
#endif

#endif
