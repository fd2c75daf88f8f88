/* SPDX-License-Identifier: MIT */
/*
 * gather.h - copies samples from other positions: out(n, y, x, c) is the input's element (n, y + shift[Y], x
 * + shift[X], channels[c]). Used for cropping and the selection of channels. Codes are copied unchanged.
 *
 * Views: the same element type, any strides; the input is readable at all these positions. They do not
 * overlap. Threads: pure functions. Cost: reads and writes memory once.
 */
#ifndef FC_FILTERS_GATHER_H
#define FC_FILTERS_GATHER_H

#include "core/contract/view.h"
#include "filters/base/api.h"

FC_BEGIN_DECLS

typedef struct fc_gather {
  int64_t shift_y, shift_x;
  /* for each output channel the number of an input channel, in the memory of the views; NULL: the same */
  const int32_t *channels;
} fc_gather;

/* The definition, an element at a time. */
FC_FILTERS_API fc_status fc_gather_ref(const fc_gather *g, const fc_view *in, const fc_view *out);

FC_FILTERS_API fc_status fc_gather_cpu(const fc_gather *g, const fc_view *in, const fc_view *out);

/* Enqueues on `stream` (a cudaStream_t) of the current device. Only in a build with
 * CUDA. */
FC_FILTERS_API fc_status fc_gather_cuda(const fc_gather *g, const fc_view *in, const fc_view *out,
                                        void *stream);

FC_END_DECLS

#endif
