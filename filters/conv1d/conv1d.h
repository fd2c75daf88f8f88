/* SPDX-License-Identifier: MIT */
/*
 * conv1d.h - one-dimensional convolution along X (or time) or Y, with a mask of any length, the same for all
 * channels or one a channel.
 *
 *     out[o] = sum over j = 0 .. taps-1 of  mask[j] * in[o - before + j]
 *
 * The mask is stored in the order in which it is applied to the input, so a convolution's impulse response is
 * reversed; the caller that fills in fc_conv1d decides that, the centre (`before`) and the normalisation.
 *
 * Sums. Every version but the reference sums each output in one fixed order: blocks of FC_CONV1D_BLOCK taps
 * counted from tap 0, each by fused multiply-adds (where the machine has them) from 0, and the block sums one
 * after another. The error thus grows with 128 + taps/128 roundings, not with taps: 640 for 65536 taps, which
 * keeps f32 usable for impulse responses of seconds. Integer samples and integer taps give exact sums below
 * 2^24 in f32 and 2^53 in f64. The order depends on the tap alone, so results are the same to the bit however
 * the output is cut.
 *
 * Views. `in` is readable `before` elements ahead of element 0 on the axis and taps - 1 - before beyond the
 * position of out's last element; its element 0 is at the position of out's element 0. Any strides, element
 * types and kinds; equal N, C and shape off the axis. They do not overlap.
 *
 * Threads: everything here is a pure function of its arguments. Cost: 2 * taps flop an element.
 */
#ifndef FC_FILTERS_CONV1D_H
#define FC_FILTERS_CONV1D_H

#include "core/contract/edges.h"
#include "core/contract/view.h"
#include "filters/base/api.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

#define FC_CONV1D_BLOCK 128

typedef struct fc_conv1d {
  const void *mask;        /* masks x taps of the compute type, in host memory; borrowed */
  const void *device_mask; /* the same on the device; for fc_conv1d_cuda */
  int64_t taps;            /* >= 1 */
  int64_t masks;           /* 1, or the number of channels */
  int64_t before;          /* 0 .. taps-1 for a centre within the mask; any value is valid */
  int32_t axis;            /* FC_AXIS_X or FC_AXIS_Y */
  int32_t compute;         /* FC_F32 or FC_F64 */
  fc_isa isa;              /* for fc_conv1d_cpu: fc_isa_best(), or a lesser one in tests */
  int64_t unit;            /* for conv1d_fft.h: longer blocks are multiples of it; 0: any */
} fc_conv1d;

/* The definition, summed in double whatever the compute type; slow. `notes` as for
 * fc_store_f32. */
FC_FILTERS_API fc_status fc_conv1d_ref(const fc_conv1d *c, const fc_view *in, const fc_view *out,
                                       uint32_t *notes);

/* Vectorised. `scratch` is fc_conv1d_cpu_scratch bytes, aligned to 64, undefined before
 * and after. */
FC_FILTERS_API size_t fc_conv1d_cpu_scratch(const fc_conv1d *c);
FC_FILTERS_API fc_status fc_conv1d_cpu(const fc_conv1d *c, const fc_view *in, const fc_view *out,
                                       void *scratch, uint32_t *notes);

/* On the current device, which holds views, mask and notes: enqueues on `stream` (a
 * cudaStream_t). No scratch. Only in a build with CUDA. */
FC_FILTERS_API fc_status fc_conv1d_cuda(const fc_conv1d *c, const fc_view *in, const fc_view *out,
                                        void *stream, uint32_t *notes);

/* The same for a whole signal, beyond whose ends memory must not be read: the filter makes the border
 * itself. FC_UNSUPPORTED, with nothing written to `out`, if there is no kernel for it. Same bits. */
FC_FILTERS_API fc_status fc_conv1d_cuda_edges(const fc_conv1d *c, const fc_view *in, const fc_edges *edges,
                                              const fc_view *out, void *stream, uint32_t *notes);

FC_END_DECLS

#endif
