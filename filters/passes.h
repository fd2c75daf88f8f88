/* SPDX-License-Identifier: MIT */
/*
 * passes.h - a transform of the blocks along X, then one of those along Y. What lies between
 * them stays in the compute type, and on the CPU in the cache too: the image is taken in
 * bands one block high.
 */
#ifndef FC_FILTERS_PASSES_H
#define FC_FILTERS_PASSES_H

#include "core/view.h"
#include "filters/api.h"

FC_BEGIN_DECLS

/* Along its axis each block of `cols` elements becomes one of `rows`. */
typedef struct fc_pass {
  int64_t rows, cols;
  const void *self;
  size_t scratch; /* bytes that `run` needs, aligned to 64, whatever the views */
  fc_status (*run)(const void *self, const fc_view *in, const fc_view *out, void *scratch, uint32_t *notes);
} fc_pass;

typedef struct fc_passes {
  int32_t compute; /* FC_F32 or FC_F64, of what lies between */
  fc_pass x, y;
} fc_passes;

/* Bytes of scratch for fc_passes_run, aligned to 64; grows with the shape. */
FC_FILTERS_API size_t fc_passes_scratch(const fc_passes *p, const fc_view *out);
/* Nothing allocates; re-entrant. FC_INVALID for an output that is not made of whole blocks. */
FC_FILTERS_API fc_status fc_passes_run(const fc_passes *p, const fc_view *in, const fc_view *out,
                                       void *scratch, uint32_t *notes);

FC_END_DECLS

#endif
