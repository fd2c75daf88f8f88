/* SPDX-License-Identifier: MIT */
/*
 * conv1d_overlap.h - the convolution of conv1d.h on a CUDA device by Fourier transforms, which are faster for
 * long masks: overlap-save (Stockham 1966) in one kernel.
 *
 * Blocks. Outputs are made in blocks of `hop`, counted from the start of the signal, by one complex transform
 * of n: of 2 n inputs of a line, or of n inputs of two channels side by side. Longer masks are cut into parts
 * of hop taps (Kulp 1988): `run` consecutive blocks are transformed in turn, and the contribution of a
 * spectrum to later outputs is kept until these are computed. So a result depends on where its grid of run *
 * hop outputs begins, but not on how the output is cut, to the bit, as long as it is cut at that grid.
 *
 * Error. That of a transform: a few eps of the loudest sample in it, not of each sum's own terms. Blocks
 * whose spectrum is not finite (because of a NaN, an infinity or values near the largest) are computed again
 * tap by tap, with the bits of fc_conv1d_cuda.
 *
 * Threads: everything here is a pure function of its arguments. Cost: about 12 log2(n) * n / hop flop an
 * element.
 */
#ifndef FC_FILTERS_CONV1D_OVERLAP_H
#define FC_FILTERS_CONV1D_OVERLAP_H

#include "filters/conv1d/conv1d.h"

FC_BEGIN_DECLS

struct fc_device_function; /* core/contract/device_function.h */

/* Blocks are multiples of it, so that they are aligned in memory. */
#define FC_CONV1D_OVERLAP_UNIT 64

typedef struct fc_conv1d_overlap {
  int64_t n;           /* length of a transform; 0: direct sums */
  int64_t hop;         /* outputs per block */
  int64_t part, parts; /* taps per part of the mask, except the last; number of parts */
  int64_t run;         /* consecutive blocks; 1 for a mask of one part */
  int32_t stretches;   /* of n inputs that a block is made of: 1 of each of two channels, or 2 */
  int64_t lead;        /* leading zeros of a block, so that its samples are aligned in memory */
  int64_t workers;     /* set by init: thread blocks that the device can run at a time */
  int32_t shared;      /* set by init: bytes of shared memory available to each */
} fc_conv1d_overlap;

/* The fastest way for this many taps, with `before` as in fc_conv1d, over `extent` outputs per line (< 0:
 * unknown, many); `even`: there are pairs of channels with the same mask. May be direct sums, unless
 * `always`. Computed also without a device, so that chunks are cut in the same way with and without one. */
FC_FILTERS_API fc_conv1d_overlap fc_conv1d_overlap_plan(int64_t taps, int64_t before, int64_t extent,
                                                        int even, int compute, int axis, int always);
/* The transforms of length n, which must be one of a plan's; for tests. */
FC_FILTERS_API fc_conv1d_overlap fc_conv1d_overlap_of(int64_t taps, int64_t before, int64_t n, int stretches);
/* The output is cut at multiples of it. */
FC_FILTERS_API int64_t fc_conv1d_overlap_grid(const fc_conv1d_overlap *o);

/* As a device function (entry, members and text), where the mask has one part, else FC_UNSUPPORTED; and its
 * tables in device memory, as soon as they are there: FC_UNSUPPORTED on a device whose shared memory is too
 * small. */
FC_FILTERS_API fc_status fc_conv1d_overlap_function(const fc_conv1d_overlap *o, int64_t taps, int64_t before,
                                                    int64_t masks, struct fc_device_function *f);
FC_FILTERS_API fc_status fc_conv1d_overlap_bind(const fc_conv1d_overlap *o, const void *device_mask,
                                                const void *tables, struct fc_device_function *f);

/* The rest only in a build with CUDA. Twiddles and spectra: computed in host memory, aligned to 64, to be
 * uploaded as bytes, while the device that will use them is current. 0 bytes: not possible. FC_NO_MEMORY:
 * temporary memory could not be allocated. */
FC_FILTERS_API size_t fc_conv1d_overlap_bytes(const fc_conv1d_overlap *o, const fc_conv1d *c);
FC_FILTERS_API fc_status fc_conv1d_overlap_init(fc_conv1d_overlap *o, const fc_conv1d *c, void *tables);

/* As fc_conv1d_cuda, with the tables on the device; the origin of `out` on the axis is a
 * multiple of the grid, and there are channels for pairs (else FC_INVALID). Scratch is of the current device,
 * aligned to 16. */
FC_FILTERS_API size_t fc_conv1d_overlap_scratch(const fc_conv1d_overlap *o, const fc_conv1d *c,
                                                const fc_view *out);
FC_FILTERS_API fc_status fc_conv1d_overlap_cuda(const fc_conv1d_overlap *o, const fc_conv1d *c,
                                                const void *tables, const fc_view *in, const fc_view *out,
                                                void *scratch, size_t scratch_bytes, void *stream,
                                                uint32_t *notes);

FC_END_DECLS

#endif
