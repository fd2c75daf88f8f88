/* SPDX-License-Identifier: MIT */
/*
 * place.h - a signal put into a larger one: out(n, y, x, c) is in(n, y - down, x - right, c) where that is
 * inside the signal, else the code of channel c. Positions are those of the signals, by origin and extent.
 * Codes are copied unchanged.
 *
 * Views: the same element type, any strides; the input begins where the output does, and is readable as far
 * as the signal goes. They do not overlap. Threads: pure functions. Cost: reads and writes memory once.
 */
#ifndef FC_FILTERS_PLACE_H
#define FC_FILTERS_PLACE_H

#include "core/contract/view.h"
#include "filters/base/api.h"

FC_BEGIN_DECLS

#define FC_PLACE_CODES 16 /* limit of channels that may have different codes */

typedef struct fc_place {
  int64_t down, right;
  uint64_t codes[FC_PLACE_CODES]; /* stored elements, in the lowest bytes */
  int32_t n_codes;                /* 1: for all channels */
} fc_place;

/* The definition, an element at a time. */
FC_FILTERS_API fc_status fc_place_ref(const fc_place *p, const fc_view *in, const fc_view *out);

FC_FILTERS_API fc_status fc_place_cpu(const fc_place *p, const fc_view *in, const fc_view *out);

/* Enqueues on `stream` (a cudaStream_t) of the current device. Only in a build with CUDA. */
FC_FILTERS_API fc_status fc_place_cuda(const fc_place *p, const fc_view *in, const fc_view *out,
                                       void *stream);

FC_END_DECLS

#endif
