/* SPDX-License-Identifier: MIT */
/*
 * conv1d_fft.h - the convolution of conv1d.h by Fourier transforms, which are faster for long masks:
 * overlap-save (Stockham 1966).
 *
 * Blocks. Outputs are made in blocks of `hop`, counted from the start of the signal: block b is made of
 * inputs b*hop - before .. b*hop - before + n - 1 by one transform of n = hop + taps - 1 or a little more. As
 * the grid is anchored there, results are the same to the bit however the output is cut, as long as it is cut
 * at multiples of hop. Masks of more than FC_CONV1D_FFT_PART taps are cut into parts, whose spectra meet the
 * input's, shifted, and are summed before the one inverse transform.
 *
 * Error. That of a transform: a few eps of the loudest in the block, not of each sum's own terms. A block
 * whose result is not finite (because of a NaN, an infinity or values near the largest) is computed again by
 * fc_conv1d_cpu, so that a NaN affects only the outputs whose mask covers it.
 *
 * Threads: everything here is a pure function of its arguments.
 */
#ifndef FC_FILTERS_CONV1D_FFT_H
#define FC_FILTERS_CONV1D_FFT_H

#include "filters/conv1d/conv1d.h"

FC_BEGIN_DECLS

#define FC_CONV1D_FFT_PART ((int64_t)1 << 17)

/* Read-only except for fc_conv1d_fft_init. Tables follow in the same memory. */
typedef struct fc_conv1d_fft {
  int64_t n, hop;      /* length of a transform; outputs per block */
  int64_t parts, part; /* of the mask; taps per part, except the last */
  int64_t plan;        /* offset in bytes of the fc_rfft */
  int64_t spectra;     /* offset in bytes: masks x parts x (n/2 + 1) pairs */
} fc_conv1d_fft;

/* The fastest length of transform for this many taps over `extent` outputs (< 0: unknown, many), or 0
 * where fc_conv1d_cpu is faster - unless `always`. `unit` as in fc_conv1d. */
FC_FILTERS_API int64_t fc_conv1d_fft_length(int64_t taps, int64_t extent, int compute, int64_t unit,
                                            int always);
/* Outputs per block for transforms of length n; > 0 for a length from fc_conv1d_fft_length. */
FC_FILTERS_API int64_t fc_conv1d_fft_hop(int64_t taps, int64_t n, int64_t unit);
/* How many segments - lines x blocks - fill a vector of the widest instruction set. */
FC_FILTERS_API int64_t fc_conv1d_fft_lanes(int compute);

/* Bytes for `fft`, aligned to 64; 0 for an impossible length. */
FC_FILTERS_API size_t fc_conv1d_fft_bytes(const fc_conv1d *c, int64_t n);
/* FC_NO_MEMORY: temporary memory could not be allocated. The mask is copied. */
FC_FILTERS_API fc_status fc_conv1d_fft_init(fc_conv1d_fft *fft, const fc_conv1d *c, int64_t n);

/* Like fc_conv1d_cpu, with the same `c` that `fft` was made from; the origin of `out` on the axis must be
 * a multiple of hop (else FC_INVALID). Reads the same inputs as fc_conv1d_cpu. */
FC_FILTERS_API size_t fc_conv1d_fft_scratch(const fc_conv1d_fft *fft, const fc_conv1d *c);
FC_FILTERS_API fc_status fc_conv1d_fft_cpu(const fc_conv1d_fft *fft, const fc_conv1d *c, const fc_view *in,
                                           const fc_view *out, void *scratch, uint32_t *notes);

FC_END_DECLS

#endif
