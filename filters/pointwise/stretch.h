/* SPDX-License-Identifier: MIT */
/*
 * stretch.h - maps each frame's own range onto a given one: its least value becomes `low`, its greatest low +
 * span, all channels alike. For displaying data that are not pictures: spectra, deviations, differences.
 *
 * NaN and values beyond a quarter of the compute type's largest number (infinities above all) are ignored
 * when finding the range. A frame of one value becomes `low`. The minimum and maximum do not depend on order,
 * and the map is that of pointwise.h, so results are the same to the bit on every machine.
 *
 * Views: whole frames (elements of N), any strides, element types and kinds; they do not overlap. Threads:
 * pure functions. Cost: reads memory twice, writes it once.
 */
#ifndef FC_FILTERS_STRETCH_H
#define FC_FILTERS_STRETCH_H

#include "core/contract/view.h"
#include "filters/base/api.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

typedef struct fc_stretch {
  int32_t compute; /* FC_F32 or FC_F64 */
  fc_isa isa;      /* for fc_stretch_cpu */
  double low, span;
} fc_stretch;

/* The definition, in double. */
FC_FILTERS_API fc_status fc_stretch_ref(const fc_stretch *s, const fc_view *in, const fc_view *out,
                                        uint32_t *notes);

/* Bytes of scratch, aligned to 64, that either version below needs for this many
 * frames. */
FC_FILTERS_API size_t fc_stretch_scratch(const fc_stretch *s, int64_t frames);

FC_FILTERS_API fc_status fc_stretch_cpu(const fc_stretch *s, const fc_view *in, const fc_view *out,
                                        void *scratch, uint32_t *notes);

/* Enqueues on `stream` (a cudaStream_t) of the current device, which holds the scratch
 * too. Only in a build with CUDA. */
FC_FILTERS_API fc_status fc_stretch_cuda(const fc_stretch *s, const fc_view *in, const fc_view *out,
                                         void *scratch, void *stream, uint32_t *notes);

FC_END_DECLS

#endif
