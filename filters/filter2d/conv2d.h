/* SPDX-License-Identifier: MIT */
/*
 * conv2d.h - 2-D convolution by any mask, as the plain sum:
 *
 *   out(y, x, c) = sum over j < ny, i < nx of mask[j * nx + i] * in(y - top + j, x - left + i, c)
 *
 * with left = floor(nx/2) and top = floor(ny/2): the mask is in the order of reading (correlation), see
 * sepconv.h, which also says what views, threads and bits promise. For masks of low rank sepconv costs less;
 * lowrank.h finds them.
 *
 * Masks of more than FC_CONV2D_RUN taps are summed in runs of this length, and the runs then added: the error
 * grows with the length of a run and with their number, not with their product.
 *
 * Cost: nx * ny multiply-adds an output; memory is read and written once.
 */
#ifndef FC_FILTERS_CONV2D_H
#define FC_FILTERS_CONV2D_H

#include "core/contract/edges.h"
#include "core/contract/view.h"
#include "filters/base/api.h"

FC_BEGIN_DECLS

#define FC_CONV2D_RUN 256

typedef struct fc_conv2d {
  int32_t compute;         /* FC_F32 or FC_F64 */
  int32_t isa;             /* fc_isa, for the CPU */
  int64_t nx, ny;          /* >= 1 */
  const void *mask;        /* ny rows of nx taps of the compute type, in host memory */
  const void *device_mask; /* for CUDA: the same in the device's memory */
} fc_conv2d;

/* The definition, in f64, one output at a time. Host memory. */
FC_FILTERS_API fc_status fc_conv2d_ref(const fc_conv2d *op, const fc_view *in, const fc_view *out,
                                       uint32_t *notes);

/* Bytes of scratch, aligned to 64, that fc_conv2d_cpu needs for outputs of this
 * shape or smaller; one for each thread. */
FC_FILTERS_API size_t fc_conv2d_scratch(const fc_conv2d *op, const fc_view *out);
FC_FILTERS_API fc_status fc_conv2d_cpu(const fc_conv2d *op, const fc_view *in, const fc_view *out,
                                       void *scratch, uint32_t *notes);

/* Enqueues on `stream` (a cudaStream_t). FC_DEVICE when the launch fails. */
FC_FILTERS_API fc_status fc_conv2d_cuda(const fc_conv2d *op, const fc_view *in, const fc_view *out,
                                        void *stream, uint32_t *notes);

/* The same for a whole signal, beyond whose ends memory must not be read: the filter makes the border
 * itself. FC_UNSUPPORTED, with nothing written to `out`, if there is no kernel for it. Same bits. */
FC_FILTERS_API fc_status fc_conv2d_cuda_edges(const fc_conv2d *op, const fc_view *in, const fc_edges *edges,
                                              const fc_view *out, void *stream, uint32_t *notes);

FC_END_DECLS

#endif
