/* SPDX-License-Identifier: MIT */
/*
 * stft_kernels.h - the loops of a short-time transform besides its Fourier transforms, for one instruction
 * set. Internal. Pointers are to elements of the type that the table is for; lanes as in fft.h.
 */
#ifndef FC_FILTERS_STFT_KERNELS_H
#define FC_FILTERS_STFT_KERNELS_H

#include "filters/base/isa.h"
#include "filters/fourier/stft.h"

typedef struct fc_stft_kernels {
  /* x[i * lanes + l] = window[i] * from[l * distance + i], i < rows, l < count; 0 in the other
   * lanes. Without a window the values themselves. */
  void (*gather)(void *x, const void *from, int64_t distance, const void *window, int64_t rows, int64_t count,
                 int64_t lanes);
  /* to[l * rows + i] = x[i * lanes + l], i < rows, l < count. */
  void (*scatter)(void *to, const void *x, int64_t rows, int64_t count, int64_t lanes);
  /* The same of two, in pairs: to[2 (l * rows + i)] = x[..], to[2 (l * rows + i) + 1] = y[..]. */
  void (*weave)(void *to, const void *x, const void *y, int64_t rows, int64_t count, int64_t lanes);

  /* taint[l] += 0 * x[i * lanes + l], i < rows: NaN where there is a NaN or infinity. */
  void (*taint)(void *taint, const void *x, int64_t rows, int64_t lanes);
  /* x[i * lanes + l] = taint[l] where that is not 0 */
  void (*spread)(void *x, const void *taint, int64_t rows, int64_t lanes);

  void (*power)(void *to, const void *re, const void *im, int64_t count);
  void (*magnitude)(void *to, const void *re, const void *im, int64_t count);
  void (*decibels)(void *to, const void *power, int64_t count);
  /* to[b * lanes + l] = sum over the weights of band b, block by block; `part` has a row of lanes. */
  void (*bands)(void *to, void *part, const void *from, const fc_bands *bands, int64_t lanes);

  /* sum[i] += w[i] * y[i], weight[i] += w[i]^2 */
  void (*overlap)(void *sum, void *weight, const void *y, const void *w, int64_t count);
  /* sum[i] /= weight[i], or 0 if the weight is at most `least`. */
  void (*divide)(void *sum, const void *weight, double least, int64_t count);
} fc_stft_kernels;

/* [0] for f32, [1] for f64. */
typedef fc_stft_kernels fc_stft_kernel_pair[2];
FC_ISA_DECLARE(fc_stft_kernel_pair, fc_stft_kernels);

static inline const fc_stft_kernels *fc_stft_kernels_of(int isa, int type) {
  return &(*FC_ISA_PICK(fc_stft_kernels, isa))[type == FC_F64];
}

#endif
