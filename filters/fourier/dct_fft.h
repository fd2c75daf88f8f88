/* SPDX-License-Identifier: MIT */
/*
 * dct_fft.h - the transforms of dct.h by way of a Fourier transform of the same length, for
 * blocks too long for a matrix (Makhoul, "A fast cosine transform in one and two
 * dimensions", IEEE Trans. ASSP 28, 1980): cost about 2.5 log2 n + 5 flop a value.
 *
 * The axis is cut into blocks of `cols` values, of which the first `rows` results are made; values
 * beyond the columns count as 0, as in a matrix of so many rows and columns.
 *
 * A block that holds a NaN or infinity becomes NaN throughout. A block's result depends on nothing but
 * the block, to the bit. The views are as in matrix.h.
 */
#ifndef FC_FILTERS_DCT_FFT_H
#define FC_FILTERS_DCT_FFT_H

#include "filters/fourier/dct.h"
#include "filters/fourier/fft.h"
#include "filters/base/passes.h"

FC_BEGIN_DECLS

/* Read-only except for fc_dct_fft_init; the caller sets `device`. Tables follow in the same memory. */
typedef struct fc_dct_fft {
  fc_dct dct;
  int32_t compute, isa, axis;
  int64_t rows, cols;
  int64_t pairs;      /* offset in bytes of n/2 + 1 pairs of a cosine and a sine, scaled */
  int64_t real;       /* offset in bytes of the fc_rfft of n */
  const void *device; /* for the CUDA functions: a copy of all its bytes on the device, made by the caller */
} fc_dct_fft;

/* Whether this is faster on the CPU than the n x n matrix: from about 40 values on, and later for odd n
 * and large prime factors. */
FC_FILTERS_API int fc_dct_fft_pays(int64_t n);

/* What makes the transform of blocks of n values on a GPU. */
typedef enum fc_dct_launch {
  FC_DCT_BLOCKS, /* here: a block in the registers of a thread (gpu/dct_blocks.cu) */
  FC_DCT_LINES,  /* here: a Fourier transform of each line (gpu/dct_fft.cu) */
  FC_DCT_MATRIX  /* not here: the n x n matrix (matrix/matrix.h) */
} fc_dct_launch;
typedef struct fc_dct_choice {
  fc_dct_launch launch;
  double us; /* predicted for 16 Mi values of f32 along X on an H200 */
} fc_dct_choice;
/* `alone`: along one axis, not two; `major` of the compute capability. Needs no GPU. */
FC_FILTERS_API fc_dct_choice fc_dct_choose(int64_t n, int compute, int alone, int major);
/* The major compute capability of a device FC_CUDA_DEVICE(n), 0 if there is none. Only in a build with CUDA.
 */
FC_FILTERS_API int fc_dct_major_of(int32_t device);

/* Whether the transform is of type II, as such or as the inverse of type III. */
FC_FILTERS_API int fc_dct_fft_is_second(const fc_dct *dct);

/* Twice the factor of the plain sum of coefficient k of a type II; and of coefficient k before a type III,
 * half of it for the first. */
double fc_dct_fft_weight(const fc_dct *dct, int64_t k);

/* Bytes of a plan, aligned to 64; 0 for an unsupported length. */
FC_FILTERS_API size_t fc_dct_fft_bytes(int64_t n, int compute);
/* rows and cols from 1 to dct->size; compute and isa as in matrix.h. */
FC_FILTERS_API fc_status fc_dct_fft_init(fc_dct_fft *plan, const fc_dct *dct, int compute, int isa, int axis,
                                         int64_t rows, int64_t cols);

/* FC_INVALID for views that do not consist of whole blocks. */
FC_FILTERS_API fc_status fc_dct_fft_check(const fc_dct_fft *plan, const fc_view *in, const fc_view *out);

/* Bytes of scratch, aligned to 64, for any views. */
FC_FILTERS_API size_t fc_dct_fft_scratch(const fc_dct_fft *plan);
FC_FILTERS_API fc_status fc_dct_fft_cpu(const fc_dct_fft *plan, const fc_view *in, const fc_view *out,
                                        void *scratch, uint32_t *notes);

/* The transform as one of two passes; refers to the plan. */
FC_FILTERS_API fc_pass fc_dct_fft_pass(const fc_dct_fft *plan);

/* On a CUDA device, enqueued on `stream`; views and scratch in its memory, the plan in the host's. */
FC_FILTERS_API size_t fc_dct_fft_device_scratch(const fc_dct_fft *plan);
FC_FILTERS_API fc_status fc_dct_fft_cuda(const fc_dct_fft *plan, const fc_view *in, const fc_view *out,
                                         void *scratch, uint32_t *notes, void *stream);
FC_FILTERS_API fc_device_pass fc_dct_fft_device_pass(const fc_dct_fft *plan);

FC_END_DECLS

#endif
