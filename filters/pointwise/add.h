/* SPDX-License-Identifier: MIT */
/*
 * add.h - a second signal added to the first, times a factor: a + factor * b.
 *
 * Product and sum round once each in the compute type, in every version: the same bits.
 *
 * Views: `a`, `b` and `out` of equal shape, any strides (also 0 for `b`: one channel or frame for all),
 * element types and kinds; `out` overlaps neither. Threads: pure functions. Cost: reads and writes memory
 * once.
 */
#ifndef FC_FILTERS_ADD_H
#define FC_FILTERS_ADD_H

#include "core/contract/view.h"
#include "filters/base/api.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

typedef struct fc_add {
  int32_t compute; /* FC_F32 or FC_F64; the factor is rounded to it */
  double factor;
} fc_add;

/* The definition, an element at a time. `notes` as for fc_store_f32. */
FC_FILTERS_API fc_status fc_add_ref(const fc_add *add, const fc_view *a, const fc_view *b, const fc_view *out,
                                    uint32_t *notes);

/* Row by row. `scratch` is fc_add_scratch bytes, aligned to 64. */
FC_FILTERS_API size_t fc_add_scratch(const fc_add *add);
FC_FILTERS_API fc_status fc_add_cpu(const fc_add *add, const fc_view *a, const fc_view *b, const fc_view *out,
                                    void *scratch, uint32_t *notes);

/* Enqueues on `stream` (a cudaStream_t) of the current device. Only in a build with CUDA. */
FC_FILTERS_API fc_status fc_add_cuda(const fc_add *add, const fc_view *a, const fc_view *b,
                                     const fc_view *out, void *stream, uint32_t *notes);

FC_END_DECLS

#endif
