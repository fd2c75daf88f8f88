/* SPDX-License-Identifier: MIT */
/*
 * conv1d_overlap.h - the convolution of conv1d.h on a CUDA device by Fourier transforms, for
 * masks so long that this is the shorter way: overlap-save (Stockham 1966) in one kernel.
 *
 * Blocks. Outputs are made in blocks of `hop`, counted from the start of the signal, by one
 * complex transform of n: of 2 n inputs of a line, or of n inputs of two channels side by side.
 * Longer masks are cut into parts of hop taps (Kulp 1988): `run` blocks that follow one
 * another are transformed in turn, and what a spectrum contributes to the outputs ahead is kept
 * until it is their turn. So a result depends on where its grid of run * hop outputs begins,
 * but not on how the output is cut, to the bit, as long as it is cut at that grid.
 *
 * Error. That of a transform: a few eps of the loudest that goes through it, not of each sum's
 * own terms. Blocks whose spectrum is not finite (a NaN or an infinity in them, or
 * values near the largest) are made again tap by tap, as fc_conv1d_cuda would to the bit.
 *
 * Threads: everything here is a pure function of its arguments. Cost: about 12 log2(n) * n /
 * hop flop an element.
 */
#ifndef FC_FILTERS_CONV1D_OVERLAP_H
#define FC_FILTERS_CONV1D_OVERLAP_H

#include "filters/conv1d/conv1d.h"

FC_BEGIN_DECLS

/* Blocks are multiples of it, which keeps them aligned in memory. */
#define FC_CONV1D_OVERLAP_UNIT 64

typedef struct fc_conv1d_overlap {
  int64_t n;           /* of a transform; 0: direct sums */
  int64_t hop;         /* outputs a block */
  int64_t part, parts; /* taps a part of the mask, all but the last; how many */
  int64_t run;         /* blocks one after another; 1 for a mask of one part */
  int32_t stretches;   /* of n inputs that a block is made of: 1 of each of two channels, or 2 */
  int64_t lead;        /* zeros that a block begins with, so that its samples are aligned in memory */
  int64_t workers;     /* set by init: blocks of threads that the device has room for */
  int32_t shared;      /* set by init: bytes of shared memory that one may have */
} fc_conv1d_overlap;

/* The way that takes the least time for so many taps, of which `before` as in fc_conv1d, over `extent`
 * outputs a line (< 0: unknown, many), where `even` says that there are channels in pairs with the same mask:
 * direct sums too, unless `always`. Known wherever filterchain runs, so that chunks are cut alike with and
 * without a device. */
FC_FILTERS_API fc_conv1d_overlap fc_conv1d_overlap_plan(int64_t taps, int64_t before, int64_t extent,
                                                        int even, int compute, int axis, int always);
/* The transforms of length n, which must be one of a plan's; for tests. */
FC_FILTERS_API fc_conv1d_overlap fc_conv1d_overlap_of(int64_t taps, int64_t before, int64_t n, int stretches);
/* The output is cut at multiples of it. */
FC_FILTERS_API int64_t fc_conv1d_overlap_grid(const fc_conv1d_overlap *o);

/* The rest only in a build with CUDA. Twiddles and spectra: made in host memory, aligned to
 * 64, and to be uploaded as bytes, with the device current that will use them. No bytes: it
 * cannot. FC_NO_MEMORY: making them takes memory for a while. */
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
