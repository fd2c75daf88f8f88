/* SPDX-License-Identifier: MIT */
/*
 * noise.h - adds noise with a given standard deviation: normal or uniform. The noise of a sample depends only
 * on a key and the sample's position (core/contract/random.h), not on cuts, threads and devices.
 *
 * Normal numbers are Box and Muller's (A note on the generation of random normal deviates, 1958) of words of
 * 32 bits: within 6.8 deviations. Logarithm and sine are our own, in double (filters/base/power.inc,
 * tone_math.h); noise times deviation and the sum are rounded to the compute type, one by one: the same bits
 * everywhere.
 *
 * Views: equal shapes, any strides, types and kinds, one frame; channels from `colors` on are copied. `out`
 * may be the memory of `in` when type and strides are equal. Threads: pure functions. Cost: a logarithm and
 * two sines a pair of samples, about 2 ns a sample.
 */
#ifndef FC_FILTERS_NOISE_H
#define FC_FILTERS_NOISE_H

#include "core/contract/view.h"
#include "filters/base/api.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

typedef struct fc_noise {
  int32_t compute; /* FC_F32 or FC_F64 */
  fc_isa isa;      /* for fc_noise_cpu */
  int32_t even;    /* uniform; else normal */
  int32_t shared;  /* one value for all channels */
  uint64_t key;    /* of the frame */
  double deviation;
  int64_t colors;
} fc_noise;

/* The definition, an element at a time. `notes` as for fc_store_f32. */
FC_FILTERS_API fc_status fc_noise_ref(const fc_noise *noise, const fc_view *in, const fc_view *out,
                                      uint32_t *notes);

/* Vectorised. `scratch` is fc_noise_scratch bytes, aligned to 64. */
FC_FILTERS_API size_t fc_noise_scratch(const fc_noise *noise);
FC_FILTERS_API fc_status fc_noise_cpu(const fc_noise *noise, const fc_view *in, const fc_view *out,
                                      void *scratch, uint32_t *notes);

/* Enqueues on `stream` (a cudaStream_t) of the current device. Only in a build with CUDA. */
FC_FILTERS_API fc_status fc_noise_cuda(const fc_noise *noise, const fc_view *in, const fc_view *out,
                                       void *stream, uint32_t *notes);

FC_END_DECLS

#endif
