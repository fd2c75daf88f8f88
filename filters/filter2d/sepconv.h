/* SPDX-License-Identifier: MIT */
/*
 * sepconv.h - 2-D convolution by a mask that is a product of a column and a row, or a sum of few such
 * products.
 *
 *   out(y, x, c) = sum over t < rank of
 *                  sum over i < nx of X_t[i] * sum over j < ny of Y_t[j] * in(y - top + j, x - left + i, c)
 *
 * with left = floor(nx/2) and top = floor(ny/2): taps are in reading order (correlation), so for a
 * convolution they are reversed; its centre floor((n-1)/2) is then right for odd and even n.
 *
 * Cost: rank * (nx + ny) multiply-adds an output, against nx * ny of the plain sum. Memory is read and
 * written once: the sums between the passes stay in the cache (CPU), or in registers and shared memory
 * (CUDA).
 *
 * Views. The input is readable left, nx-1-left, top and ny-1-top elements beyond the output's shape on X and
 * Y; both have the same shape, any dtypes and strides, and do not overlap. Shapes of 0 are fine. The order of
 * every sum is independent of shapes and addresses, so pieces of an image give the bits of the whole. Long
 * sums are made of runs of FC_SEPCONV_RUN taps, so that rounding errors grow with the length of a run and the
 * number of runs. Backends agree to rounding. (On a CUDA device, u8 images that stay u8 are summed
 * horizontally in exact integers with taps of 24 bits, sepconv/bytes.cu, but those that
 * fc_sepconv_in_floats of choice.h names: the error is of the same size, but the bits differ from those of a
 * float output.)
 *
 * Threads: all functions are pure functions of their arguments.
 */
#ifndef FC_FILTERS_SEPCONV_H
#define FC_FILTERS_SEPCONV_H

#include "core/contract/edges.h"
#include "core/contract/view.h"
#include "filters/base/api.h"

FC_BEGIN_DECLS

#define FC_SEPCONV_RANKS 3   /* rank is 1 to this */
#define FC_SEPCONV_RUN   128 /* taps summed in one run */

typedef struct fc_sepconv {
  int32_t compute; /* FC_F32 or FC_F64 */
  int32_t isa;     /* fc_isa, for the CPU */
  int32_t rank;
  int64_t nx, ny;                  /* >= 1 */
  const void *x, *y;               /* rank * nx and rank * ny taps of the compute type, in host memory */
  const void *device_x, *device_y; /* for CUDA: the same in the device's memory */
} fc_sepconv;

/* The definition, in f64, an output at a time. Host memory. */
FC_FILTERS_API fc_status fc_sepconv_ref(const fc_sepconv *op, const fc_view *in, const fc_view *out,
                                        uint32_t *notes);

/* Bytes of scratch, aligned to 64, that fc_sepconv_cpu needs for outputs of this
 * shape or smaller; one for each thread. */
FC_FILTERS_API size_t fc_sepconv_scratch(const fc_sepconv *op, const fc_view *out);
FC_FILTERS_API fc_status fc_sepconv_cpu(const fc_sepconv *op, const fc_view *in, const fc_view *out,
                                        void *scratch, uint32_t *notes);

/* Bytes of scratch in the device's memory, aligned to 64, for outputs of this shape or smaller: 0, or for
 * large masks the sums along the rows. Only in a build with CUDA, as those below. */
FC_FILTERS_API size_t fc_sepconv_cuda_scratch(const fc_sepconv *op, const fc_view *out);

/* Enqueues on `stream` (a cudaStream_t). FC_DEVICE when the launch fails. `scratch` may be NULL: the bits are
 * the same, a large mask takes many times as long. */
FC_FILTERS_API fc_status fc_sepconv_cuda(const fc_sepconv *op, const fc_view *in, const fc_view *out,
                                         void *scratch, void *stream, uint32_t *notes);

/* The same for a whole signal, beyond whose ends memory must not be read: the filter makes the border
 * itself. FC_UNSUPPORTED, with nothing written to `out`, if there is no kernel for it. Same bits. */
FC_FILTERS_API fc_status fc_sepconv_cuda_edges(const fc_sepconv *op, const fc_view *in, const fc_edges *edges,
                                               const fc_view *out, void *stream, uint32_t *notes);

FC_END_DECLS

#endif
