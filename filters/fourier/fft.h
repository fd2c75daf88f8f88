/* SPDX-License-Identifier: MIT */
/*
 * fft.h - discrete Fourier transforms of any length, in f32 and f64, of many signals at a time: X[k] = sum_i
 * x[i] exp(-2 pi i k / n).
 *
 * Lengths whose prime factors are at most FC_FFT_LARGEST_PRIME take a mixed-radix transform in Stockham's
 * order, which needs no bit reversal (Van Loan, "Computational Frameworks for the Fast Fourier Transform",
 * 1992, 1.7); others use a convolution of a smooth length (Bluestein 1970). Cost about 5 n log2 n flop, five
 * times that for the latter. Relative error (L2) about 0.5 sqrt(log2 n) eps.
 *
 * Data lie in lanes: element i of all signals side by side, real and imaginary parts apart, re[i * lanes +
 * l]. A signal's result does not depend on its lane or on how many there are, to the bit. Any number of lanes
 * works; multiples of a vector (fc_fft_lanes) are fast.
 *
 * Libraries considered: of those packaged by Debian 12, KissFFT allocates in the transform and supports one
 * precision per build, FFTW is GPL, pocketfft is only available inside other packages. None makes plans in
 * the caller's memory.
 *
 * A plan is one block of the caller's memory: it may be copied, and uploaded, as bytes. Nothing allocates;
 * everything is re-entrant.
 */
#ifndef FC_FILTERS_FFT_H
#define FC_FILTERS_FFT_H

#include "core/contract/view.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

#define FC_FFT_LARGEST_PRIME 31
#define FC_FFT_LONGEST       ((int64_t)1 << 26)
/* More passes than any supported length needs. */
#define FC_FFT_PASSES 32

/* One pass of radix r over n/r butterflies; offsets in elements from the plan's tables. */
typedef struct fc_fft_pass {
  int64_t radix;
  int64_t rest;     /* butterflies of one transform of this pass: the length that remains */
  int64_t twiddles; /* rest x (radix - 1) pairs cos, -sin */
  int64_t roots;    /* radix pairs cos, sin of 2 pi j / radix */
} fc_fft_pass;

/* Read-only except for fc_fft_init. Tables follow in the same memory. */
typedef struct fc_fft {
  int64_t n;
  int32_t compute, isa;
  int32_t passes, convolved; /* computed by Bluestein's convolution, with the plan at `inner` */
  fc_fft_pass pass[FC_FFT_PASSES];
  int64_t bytes;    /* total size to keep */
  int64_t tables;   /* offset in bytes of the twiddles and roots */
  int64_t chirp;    /* offset in bytes: n pairs cos, -sin of pi i^2 / n */
  int64_t spectrum; /* offset in bytes: inner n pairs, the chirp's spectrum over its length */
  int64_t inner;    /* offset in bytes */
} fc_fft;

/* Bytes of a plan, aligned to 64; 0 for an unsupported length. */
FC_FILTERS_API size_t fc_fft_bytes(int64_t n, int compute);
/* (Some of it is only needed during initialisation.) `plan` has that many bytes, aligned to 64; isa as in
 * fc_gemm. The tables are computed in double, accurate to about the last bit. */
FC_FILTERS_API fc_status fc_fft_init(fc_fft *plan, int64_t n, int compute, int isa);

/* How many lanes fill a vector of the plan's instruction set and type. */
FC_FILTERS_API int64_t fc_fft_lanes(const fc_fft *plan);

/* Bytes of scratch for this many lanes. */
FC_FILTERS_API size_t fc_fft_scratch(const fc_fft *plan, int64_t lanes);

/* Transforms n x lanes elements in place. For the inverse (times n) exchange re and im. */
FC_FILTERS_API void fc_fft_run(const fc_fft *plan, void *re, void *im, int64_t lanes, void *scratch);

/* ---- real signals ---------------------------------------------------------- */

/* n real values and n/2 + 1 complex ones; even lengths use a complex plan of half the length. */
typedef struct fc_rfft {
  int64_t n, bins;
  int32_t compute, isa;
  int64_t bytes;
  int64_t twiddles; /* offset in bytes: n/4 + 1 pairs cos, -sin of 2 pi k / n, for even n */
  int64_t complex;  /* offset in bytes of the complex plan */
} fc_rfft;

FC_FILTERS_API size_t fc_rfft_bytes(int64_t n, int compute);
FC_FILTERS_API fc_status fc_rfft_init(fc_rfft *plan, int64_t n, int compute, int isa);
FC_FILTERS_API int64_t fc_rfft_lanes(const fc_rfft *plan);
FC_FILTERS_API size_t fc_rfft_scratch(const fc_rfft *plan, int64_t lanes);

/* re and im get n/2 + 1 rows of lanes each; im of bin 0 (and of n/2 for even n) is 0. */
FC_FILTERS_API void fc_rfft_forward(const fc_rfft *plan, const void *x, void *re, void *im, int64_t lanes,
                                    void *scratch);
/* The inverse, with its 1/n. The imaginary parts of bin 0 (and n/2) are ignored. */
FC_FILTERS_API void fc_rfft_inverse(const fc_rfft *plan, const void *re, const void *im, void *x,
                                    int64_t lanes, void *scratch);

/* For even lengths, in place, with neighbours in one complex value, which saves passes over memory: on one
 * side re and im hold elements 2j and 2j + 1 in row j, on the other bins as above; with room for n/2 + 1
 * rows each. */
FC_FILTERS_API void fc_rfft_forward_pairs(const fc_rfft *plan, void *re, void *im, int64_t lanes,
                                          void *scratch);
FC_FILTERS_API void fc_rfft_inverse_pairs(const fc_rfft *plan, void *re, void *im, int64_t lanes,
                                          void *scratch);

static inline const fc_fft *fc_rfft_complex(const fc_rfft *plan) {
  return (const fc_fft *)(const void *)((const char *)plan + plan->complex);
}

FC_END_DECLS

#endif
