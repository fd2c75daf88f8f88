/* SPDX-License-Identifier: MIT */
/*
 * permute.h - copies with axes exchanged and reversed: each axis of the output runs along one of the input,
 * forwards or backwards. Used for flips, quarter turns and the order of dimensions. Codes are copied
 * unchanged.
 *
 * Views: the same element type, any strides. Along axes that are exchanged or reversed the input must be the
 * whole extent. They do not overlap. Threads: pure functions. Cost: reads and writes memory once; where axes
 * are exchanged in tiles, so that lines of the cache are read once.
 */
#ifndef FC_FILTERS_PERMUTE_H
#define FC_FILTERS_PERMUTE_H

#include "core/contract/view.h"
#include "filters/base/api.h"

FC_BEGIN_DECLS

typedef struct fc_permute {
  int32_t axis[FC_AXES];     /* the input axis for each output axis; N is unchanged */
  int32_t reversed[FC_AXES]; /* for each of the output */
} fc_permute;

#define FC_PERMUTE_NONE                                                                                      \
  {                                                                                                          \
    {FC_AXIS_N, FC_AXIS_Y, FC_AXIS_X, FC_AXIS_C}, {                                                          \
      0, 0, 0, 0                                                                                             \
    }                                                                                                        \
  }

/* Whether the input's whole extent is needed for this output axis. */
static inline int fc_permute_moves(const fc_permute *p, int axis) {
  return p->axis[axis] != axis || p->reversed[axis];
}

/* The input in the output's order of axes: a view of the output's shape. */
static inline fc_view fc_permute_view(const fc_permute *p, const fc_view *in, const fc_view *out) {
  fc_view seen = *in;
  int64_t offset = 0; /* summed before it is added: an intermediate sum may point outside the memory */
  for (int a = 0; a < FC_AXES; a++) {
    const int from = p->axis[a];
    const int64_t step = in->stride[from];
    seen.shape[a] = out->shape[a];
    seen.stride[a] = p->reversed[a] ? -step : step;
    if (fc_permute_moves(p, a))
      offset += (p->reversed[a] ? in->shape[from] - 1 - out->origin[a] : out->origin[a]) * step;
  }
  if (in->data) seen.data = (char *)in->data + offset;
  return seen;
}

/* The definition, an element at a time. */
FC_FILTERS_API fc_status fc_permute_ref(const fc_permute *p, const fc_view *in, const fc_view *out);

FC_FILTERS_API fc_status fc_permute_cpu(const fc_permute *p, const fc_view *in, const fc_view *out);

/* Enqueues on `stream` (a cudaStream_t) of the current device. Only in a build with CUDA. */
FC_FILTERS_API fc_status fc_permute_cuda(const fc_permute *p, const fc_view *in, const fc_view *out,
                                         void *stream);

FC_END_DECLS

#endif
