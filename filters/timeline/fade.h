/* SPDX-License-Identifier: MIT */
/*
 * fade.h - fades sound in and out: multiplies by a factor that depends on the sample's position.
 *
 * The factor of the i-th of `in` samples at the beginning is g(i / in), of the i-th from the end g(i / out),
 * with the last sample as number 0; so the fades are each other's mirror image, and begin and end with 0. It
 * is computed in double, rounded to the compute type and multiplied once. Samples between the fades are
 * unchanged.
 *
 * The ends follow from out->origin and out->extent; while the extent is not known (FC_UNKNOWN), the end is
 * assumed to be more than `out` samples beyond the output.
 *
 * Views: sound, equal shapes, any strides and element types. Threads: pure functions. Cost: reads and writes
 * memory once, and a sine or an exponential a sample of a fade.
 */
#ifndef FC_FILTERS_FADE_H
#define FC_FILTERS_FADE_H

#include "core/contract/view.h"
#include "filters/base/api.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

typedef enum fc_fade_shape {
  FC_FADE_LINEAR = 0, /* u */
  FC_FADE_COSINE = 1, /* (1 - cos(pi u)) / 2: no corners */
  FC_FADE_POWER = 2,  /* sin(pi u / 2): two that cross add up to the same power */
  FC_FADE_LOG = 3     /* 10^(-5 (1 - u)), -100 dB to 0 dB in even steps of level; 0 at u = 0 */
} fc_fade_shape;

typedef struct fc_fade {
  int64_t in, out; /* samples; 0: none */
  int32_t shape;   /* fc_fade_shape */
  int32_t compute; /* FC_F32 or FC_F64 */
} fc_fade;

/* The definition, an element at a time. `notes` as for fc_store_f32. */
FC_FILTERS_API fc_status fc_fade_ref(const fc_fade *fade, const fc_view *in, const fc_view *out,
                                     uint32_t *notes);

/* Row by row. `scratch` is fc_fade_scratch bytes, aligned to 64. */
FC_FILTERS_API size_t fc_fade_scratch(const fc_fade *fade);
FC_FILTERS_API fc_status fc_fade_cpu(const fc_fade *fade, const fc_view *in, const fc_view *out,
                                     void *scratch, uint32_t *notes);

/* Enqueues on `stream` (a cudaStream_t) of the current device. Only in a build with CUDA. */
FC_FILTERS_API fc_status fc_fade_cuda(const fc_fade *fade, const fc_view *in, const fc_view *out,
                                      void *stream, uint32_t *notes);

FC_END_DECLS

#endif
