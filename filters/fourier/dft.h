/* SPDX-License-Identifier: MIT */
/*
 * dft.h - discrete Fourier transforms of blocks along X, along Y, or both, of real values, and back: X[k] =
 * scale * sum_i x[i] exp(-2 pi i k / n), x[i] = scale / n * sum_k X[k] exp(2 pi i k / n).
 *
 * Each axis that is transformed is cut into blocks of n values, anchored at position 0; each becomes as many
 * bins - or, along the axis that a real transform is taken of (X where it is transformed, else Y), the first
 * n/2 + 1 if `half`, as numpy.fft.rfft and rfft2. The components of a bin are adjacent on C, grouped by
 * channel.
 *
 * Back, from the real and imaginary parts: the missing half is that of real values, and along the last axis
 * the imaginary parts of bin 0 (and n/2) are ignored, as in numpy.fft.irfft and irfft2; of full spectra the
 * result's real part is taken.
 *
 * A NaN or infinity makes all bins of its block NaN, or all values. Any length up to FC_FFT_LONGEST, at the
 * cost given in fft.h. Nothing allocates; re-entrant.
 */
#ifndef FC_FILTERS_DFT_H
#define FC_FILTERS_DFT_H

#include "core/contract/view.h"
#include "filters/fourier/fft.h"
#include "filters/fourier/stft.h"

FC_BEGIN_DECLS

typedef struct fc_dft {
  int32_t compute, isa;
  int64_t nx, ny; /* values of a block along X and Y; 0: that axis is not transformed */
  int32_t half;
  int32_t components; /* number of components (ignored by the inverse) */
  int32_t component[FC_COMPONENTS];
  double scale;
  const fc_rfft *real;                      /* of nx, or of ny where X is not transformed */
  const fc_fft *complex;                    /* of ny, where both are */
  const void *device_real, *device_complex; /* the same in device memory, for CUDA */
} fc_dft;

/* Bins of a block along X and Y: 1 if the axis is not transformed. */
static inline int64_t fc_dft_bins_x(const fc_dft *d) {
  return d->nx == 0 ? 1 : d->half ? d->nx / 2 + 1 : d->nx;
}
static inline int64_t fc_dft_bins_y(const fc_dft *d) {
  return d->ny == 0 ? 1 : d->half && d->nx == 0 ? d->ny / 2 + 1 : d->ny;
}

/* `out` begins at a multiple of the bins, and `in` at that block; it is readable to the end
 * of its last block. */
FC_FILTERS_API fc_status fc_dft_check(const fc_dft *d, const fc_view *in, const fc_view *out);

/* The sums themselves, in double. */
FC_FILTERS_API size_t fc_dft_ref_scratch(const fc_dft *d, const fc_view *out);
FC_FILTERS_API fc_status fc_dft_ref(const fc_dft *d, const fc_view *in, const fc_view *out, void *scratch,
                                    uint32_t *notes);
/* Scratch grows with the output; in two dimensions it holds a row of blocks. */
FC_FILTERS_API size_t fc_dft_scratch(const fc_dft *d, const fc_view *out);
FC_FILTERS_API fc_status fc_dft_cpu(const fc_dft *d, const fc_view *in, const fc_view *out, void *scratch,
                                    uint32_t *notes);
FC_FILTERS_API size_t fc_dft_device_scratch(const fc_dft *d, const fc_view *out);
FC_FILTERS_API fc_status fc_dft_cuda(const fc_dft *d, const fc_view *in, const fc_view *out, void *scratch,
                                     size_t scratch_bytes, uint32_t *notes, void *stream);

/* The way back: `out` begins at a multiple of the values of a block, and `in`, of two
 * channels for each of out's, at that block; it is readable to the end of its last block. */
FC_FILTERS_API fc_status fc_idft_check(const fc_dft *d, const fc_view *in, const fc_view *out);
FC_FILTERS_API size_t fc_idft_ref_scratch(const fc_dft *d, const fc_view *out);
FC_FILTERS_API fc_status fc_idft_ref(const fc_dft *d, const fc_view *in, const fc_view *out, void *scratch,
                                     uint32_t *notes);
FC_FILTERS_API size_t fc_idft_scratch(const fc_dft *d, const fc_view *out);
FC_FILTERS_API fc_status fc_idft_cpu(const fc_dft *d, const fc_view *in, const fc_view *out, void *scratch,
                                     uint32_t *notes);
FC_FILTERS_API size_t fc_idft_device_scratch(const fc_dft *d, const fc_view *out);
FC_FILTERS_API fc_status fc_idft_cuda(const fc_dft *d, const fc_view *in, const fc_view *out, void *scratch,
                                      size_t scratch_bytes, uint32_t *notes, void *stream);

FC_END_DECLS

#endif
