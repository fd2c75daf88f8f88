/* SPDX-License-Identifier: MIT */
/*
 * twist.h - pixels by a matrix of 3 x 3 and an offset, limited to black and white: brightness, contrast,
 * saturation and hue in one (DALI's ColorTwist); of grey images a factor and an offset.
 *
 * With 3 colours each is ((m0 x0 + m1 x1) + m2 x2) + o, every product and sum rounded by itself, so that the
 * CPU and a device give the same bits; with one it is m0 x0 + o. Channels beyond the colours are copied.
 *
 * Views: equal shapes, any strides, types and kinds, one frame. Threads: pure functions. Cost: a pass over
 * memory.
 */
#ifndef FC_FILTERS_TWIST_H
#define FC_FILTERS_TWIST_H

#include "core/contract/view.h"
#include "filters/base/api.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

typedef struct fc_twist {
  int32_t compute; /* FC_F32 or FC_F64; the numbers below are rounded to it */
  fc_isa isa;      /* for fc_twist_cpu */
  int32_t colors;  /* 1 or 3 */
  int32_t extra;   /* channels after these that are copied */
  double matrix[3][3], offset, white;
} fc_twist;

/* Brightness is a factor; contrast a factor around the middle grey; saturation a factor of the difference
 * from grey; hue an angle in turns by which the colour is rotated; in this order. Grey is luma of BT.601. */
FC_FILTERS_API void fc_twist_set(fc_twist *t, double brightness, double contrast, double saturation,
                                 double hue);

/* The definition, an element at a time. `notes` as for fc_store_f32. */
FC_FILTERS_API fc_status fc_twist_ref(const fc_twist *t, const fc_view *in, const fc_view *out,
                                      uint32_t *notes);

/* Vectorised. `scratch` is fc_twist_scratch bytes, aligned to 64. */
FC_FILTERS_API size_t fc_twist_scratch(const fc_twist *t);
FC_FILTERS_API fc_status fc_twist_cpu(const fc_twist *t, const fc_view *in, const fc_view *out, void *scratch,
                                      uint32_t *notes);

/* Enqueues on `stream` (a cudaStream_t) of the current device. Only in a build with CUDA. */
FC_FILTERS_API fc_status fc_twist_cuda(const fc_twist *t, const fc_view *in, const fc_view *out, void *stream,
                                       uint32_t *notes);

FC_END_DECLS

#endif
