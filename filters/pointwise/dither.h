/* SPDX-License-Identifier: MIT */
/*
 * dither.h - triangular noise (TPDF) for samples that are about to be rounded to fewer bits.
 *
 * Adds step * (a - b) to each sample, with a and b independent and uniform in [0, 1), on a grid of 2^-24: it
 * is within +-step, its mean is 0, its variance step^2 / 6. Then the error of rounding to multiples of step
 * has a mean and a variance that do not depend on the signal (Lipshitz, Wannamaker, Vanderkooy: Quantization
 * and Dither, J. Audio Eng. Soc. 40 (1992)).
 *
 * The noise is a function of the seed and of the sample's position n, y, x, c in the whole signal
 * (view.origin), and of nothing else: a and b are the upper 24 bits of the halves of SplitMix64's mixing
 * (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014) of a state, the sum of a
 * hash of seed and n and of multiples, by y, x and c, of constants. Along x these are the numbers of that
 * generator one after the other; a step along any other axis costs as little, an addition.
 *
 * NaN and infinities are unchanged. The noise is rounded once in the compute type (not at all where step is a
 * power of two), and the sum once, in every version: results are the same to the bit.
 *
 * Views: any strides, element types and kinds, equal shapes, any of them 0. `out` may be the memory of `in`
 * when type and strides are equal; else they do not overlap. Threads: pure functions of their arguments.
 * Cost: two multiplications of 64 bits a sample.
 */
#ifndef FC_FILTERS_DITHER_H
#define FC_FILTERS_DITHER_H

#include "core/contract/view.h"
#include "filters/base/api.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

typedef struct fc_dither {
  int32_t compute; /* FC_F32 or FC_F64 */
  fc_isa isa;      /* for fc_dither_cpu */
  uint64_t seed;
  double step; /* of the later rounding, as a real value */
} fc_dither;

/* The definition, an element at a time. `notes` as for fc_store_f32. */
FC_FILTERS_API fc_status fc_dither_ref(const fc_dither *d, const fc_view *in, const fc_view *out,
                                       uint32_t *notes);

/* Vectorised. `scratch` is fc_dither_cpu_scratch bytes, aligned to 64. */
FC_FILTERS_API size_t fc_dither_cpu_scratch(const fc_dither *d);
FC_FILTERS_API fc_status fc_dither_cpu(const fc_dither *d, const fc_view *in, const fc_view *out,
                                       void *scratch, uint32_t *notes);

/* Enqueues on `stream` (a cudaStream_t) of the current device; `notes` is memory of it. Only in a build with
 * CUDA. */
FC_FILTERS_API fc_status fc_dither_cuda(const fc_dither *d, const fc_view *in, const fc_view *out,
                                        void *stream, uint32_t *notes);

FC_END_DECLS

#endif
