/* SPDX-License-Identifier: MIT */
/*
 * fft_choice.h - what transforms lines on a GPU, for dft, idft, dct, stft, istft and mel: a table of plain C
 * over the length of a line, so that a line is always computed by the same code. Nothing here touches a
 * device, so tests/filters/test_choice.c checks the table without one. Internal to filters/.
 */
#ifndef FC_FILTERS_FOURIER_FFT_CHOICE_H
#define FC_FILTERS_FOURIER_FFT_CHOICE_H

#include "filters/fourier/fft.h"

FC_BEGIN_DECLS

/* The two buffers of a line are in shared memory up to this size, which every chip from sm_75 on provides on
 * request (a real transform of 8192 in f32). */
#define FC_FFT_SHARED (64 * 1024)
#define FC_FFT_ACROSS                                                                                        \
  8 /* lines at least where they are neighbours: 8 floats are the 32 bytes of a transaction */
#define FC_FFT_LINE 32 /* bytes of what a kernel keeps of each of several lines */

/* In the order in which they are asked; the first that takes the case is launched. */
typedef enum fc_fft_launch {
  FC_FFT_TOGETHER, /* several lines a block of threads: fc_dft_kernel<Work, true> */
  FC_FFT_ALONE,    /* one: fc_dft_kernel<Work, false>, stft_kernel, istft_inverse */
  FC_FFT_GLOBAL    /* one, with its buffers in scratch: the same kernels */
} fc_fft_launch;

typedef struct fc_fft_case {
  int64_t values;   /* complex ones of a buffer: fc_fft_values */
  int32_t compute;  /* FC_F32 or FC_F64 */
  int32_t together; /* there is a kernel for several lines */
  int32_t across;   /* neighbouring lines are neighbours in memory */
} fc_fft_case;

typedef struct fc_fft_choice {
  fc_fft_launch launch;
  int32_t lines, pitch; /* of a block of threads; values from one to the next in a buffer */
  int32_t threads;
  int64_t bytes; /* of shared memory, or of scratch, for each block */
} fc_fft_choice;
FC_FILTERS_API fc_fft_choice fc_fft_choose(const fc_fft_case *c);

/* The length of a plan, or of its convolution. */
int64_t fc_fft_values(const fc_fft *plan);

/* Bytes of scratch for so many lines. */
size_t fc_fft_global(const fc_fft *plan, int64_t lines);

FC_END_DECLS

#endif
