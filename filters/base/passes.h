/* SPDX-License-Identifier: MIT */
/*
 * passes.h - a transform of the blocks along X, then one of those along Y. Intermediate values are in the
 * compute type; on the CPU they stay in the cache, since the image is processed in bands one block high. On a
 * device all of them are in scratch memory.
 */
#ifndef FC_FILTERS_PASSES_H
#define FC_FILTERS_PASSES_H

#include "core/contract/view.h"
#include "filters/base/api.h"

FC_BEGIN_DECLS

/* Each block of `cols` elements along the axis becomes one of `rows`. */
typedef struct fc_pass {
  int64_t rows, cols;
  const void *self;
  size_t scratch; /* bytes that `run` needs, aligned to 64, for any views */
  fc_status (*run)(const void *self, const fc_view *in, const fc_view *out, void *scratch, uint32_t *notes);
} fc_pass;

typedef struct fc_passes {
  int32_t compute; /* FC_F32 or FC_F64, of the intermediate values */
  fc_pass x, y;
} fc_passes;

/* Bytes of scratch for fc_passes_run, aligned to 64; grows with the shape. */
FC_FILTERS_API size_t fc_passes_scratch(const fc_passes *p, const fc_view *out);
/* Nothing allocates; re-entrant. FC_INVALID for an output that does not consist of whole blocks. */
FC_FILTERS_API fc_status fc_passes_run(const fc_passes *p, const fc_view *in, const fc_view *out,
                                       void *scratch, uint32_t *notes);

/* The same, enqueued on a stream; everything except `self` is in the memory of its device. */
typedef struct fc_device_pass {
  int64_t rows, cols;
  const void *self;
  /* bytes that `run` needs for such an output, aligned to 256; grows with its shape */
  size_t (*scratch)(const void *self, const fc_view *out);
  fc_status (*run)(const void *self, const fc_view *in, const fc_view *out, void *scratch, uint32_t *notes,
                   void *stream);
} fc_device_pass;

typedef struct fc_device_passes {
  int32_t compute;
  fc_device_pass x, y;
} fc_device_passes;

FC_FILTERS_API size_t fc_device_passes_scratch(const fc_device_passes *p, const fc_view *out);
FC_FILTERS_API fc_status fc_device_passes_run(const fc_device_passes *p, const fc_view *in,
                                              const fc_view *out, void *scratch, uint32_t *notes,
                                              void *stream);

FC_END_DECLS

#endif
