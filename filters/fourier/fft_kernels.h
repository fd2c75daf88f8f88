/* SPDX-License-Identifier: MIT */
/*
 * fft_kernels.h - the passes of a Fourier transform, and what real signals and convolution
 * need besides, for one instruction set. Internal. Pointers are to elements of the
 * type that the table is for; pairs are of the same type.
 */
#ifndef FC_FILTERS_FFT_KERNELS_H
#define FC_FILTERS_FFT_KERNELS_H

#include "filters/base/isa.h"

/* Real and imaginary parts, apart. */
typedef struct fc_planes {
  void *re, *im;
} fc_planes;

typedef struct fc_fft_kernels {
  int lanes;
  /*
   * One pass of Stockham's: for p < rest and q < step, the `radix` values
   * in[q + step (p + rest i)] are transformed, multiplied by the twiddles of p, and
   * become out[q + step (radix p + k)]. `in` and `out` may be the same when rest is 1.
   */
  void (*pass)(int64_t radix, int64_t rest, int64_t step, fc_planes in, fc_planes out, const void *twiddles,
               const void *roots);
  /* z[i] *= w[i] (with its conjugate where `conjugate`), i < n, over all lanes. */
  void (*multiply)(fc_planes z, const void *pairs, int64_t n, int64_t lanes, int conjugate);
  /* Between the transform of half length m of pairs of real values and the real
   * transform, in place over rows 0 .. m. */
  void (*split)(fc_planes z, const void *pairs, int64_t m, int64_t lanes);
  void (*unsplit)(fc_planes z, const void *pairs, int64_t m, int64_t lanes, double scale);
  /* z[k] = (z[k] + conj z[n - k]) / 2 for k <= n/2: the spectrum of the real part. */
  void (*fold)(fc_planes z, int64_t n, int64_t lanes);
  /* Between a spectrum and the cosine transform of the same length, see dct_fft.c. With the pair a, b of
   * row k <= n/2: y[k] = a re[k] + b im[k], y[n-k] = b re[k] - a im[k]. */
  void (*to_cosines)(void *y, fc_planes z, const void *pairs, int64_t n, int64_t lanes);
  /* re[k] = a y[k] + b y[n-k], im[k] = b y[k] - a y[n-k], where y[n] is 0. */
  void (*from_cosines)(fc_planes z, const void *y, const void *pairs, int64_t n, int64_t lanes);
  void (*scale)(void *x, int64_t count, double factor);
  void (*add)(fc_planes to, fc_planes z, int64_t count);
  /* Between signals `distance` elements apart and lanes of pairs: element i of signal l is
   * in row i/2 of re or, for odd i, of im. An even number of rows (elements). */
  void (*pack)(fc_planes to, const void *from, int64_t distance, int64_t rows, int64_t lanes);
  void (*unpack)(void *to, int64_t distance, fc_planes from, int64_t rows, int64_t lanes);
} fc_fft_kernels;

/* [0] for f32, [1] for f64. */
typedef fc_fft_kernels fc_fft_kernel_pair[2];
FC_ISA_DECLARE(fc_fft_kernel_pair, fc_fft_kernels);

static inline const fc_fft_kernels *fc_fft_kernels_of(int isa, int type) {
  return &(*FC_ISA_PICK(fc_fft_kernels, isa))[type == FC_F64];
}

#endif
