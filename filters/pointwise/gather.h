/* SPDX-License-Identifier: MIT */
/*
 * gather.h - copies samples from elsewhere: out(n, y, x, c) is the input's element
 * (n, y + shift[Y], x + shift[X], channels[c]). What cropping and the selection of
 * channels are made of. Codes are copied as they are.
 *
 * Views: the same element type, any strides; the input is readable where it is
 * looked at. They do not overlap. Threads: pure functions. Cost: reads and writes
 * memory once.
 */
#ifndef FC_FILTERS_GATHER_H
#define FC_FILTERS_GATHER_H

#include "core/contract/view.h"
#include "filters/base/api.h"

FC_BEGIN_DECLS

typedef struct fc_gather {
  int64_t shift_y, shift_x;
  const int32_t *channels; /* for each channel of the output one of the input, in the memory of
                              the views; NULL: its own */
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
