/* SPDX-License-Identifier: MIT */
/*
 * equalize.h - histogram equalisation: each channel of each frame by a table that makes its codes about
 * equally frequent.
 *
 * Of n samples, `last` of which have the largest code, b below a code: that becomes b / (n - last) of white.
 * For a white of 255 it is Pillow's ImageOps.equalize, to the code: (b + step / 2) / step with step = (n -
 * last) / 255, whole numbers all, and nothing changes where step is 0. Other whites: white * b / (n - last),
 * rounded. An even channel stays as it is. Whole numbers: the same bits everywhere.
 *
 * Views: whole frames, u8 or u16, both alike, any strides. Cost: reads memory twice, writes it once.
 */
#ifndef FC_FILTERS_EQUALIZE_H
#define FC_FILTERS_EQUALIZE_H

#include "core/contract/view.h"
#include "filters/base/api.h"

FC_BEGIN_DECLS

typedef struct fc_equalize {
  uint32_t white; /* 1 to 65535 */
} fc_equalize;

#ifdef __CUDACC__
#define FC_EQUALIZE_FN static inline __host__ __device__
#else
#define FC_EQUALIZE_FN static inline
#endif

/* What a code becomes that `below` samples lie under, of `spread` that are not of the largest one. */
FC_EQUALIZE_FN uint32_t fc_equalize_code(uint32_t code, uint64_t below, uint64_t spread, uint32_t white) {
  const uint64_t step = spread / 255;
  if (spread == 0 || (white == 255 && step == 0)) return code;
  const uint64_t made =
      white == 255 ? (step / 2 + below) / step : (2 * below * white + spread) / (2 * spread);
  return made < white ? (uint32_t)made : white;
}

/* The plain version, which is the CPU's too: two additions and loads a sample. `scratch` is
 * fc_equalize_scratch bytes, aligned to 64. */
FC_FILTERS_API size_t fc_equalize_scratch(const fc_view *out);
FC_FILTERS_API fc_status fc_equalize_cpu(const fc_equalize *e, const fc_view *in, const fc_view *out,
                                         void *scratch);

/* Enqueues on `stream` (a cudaStream_t) of the current device, which holds the scratch too. Only in a build
 * with CUDA. */
FC_FILTERS_API size_t fc_equalize_cuda_scratch(const fc_view *out);
FC_FILTERS_API fc_status fc_equalize_cuda(const fc_equalize *e, const fc_view *in, const fc_view *out,
                                          void *scratch, void *stream);

FC_END_DECLS

#endif
