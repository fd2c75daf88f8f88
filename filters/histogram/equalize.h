/* SPDX-License-Identifier: MIT */
/*
 * equalize.h - tables computed from a frame's own histogram, channel by channel: histogram equalisation,
 * which makes codes about equally frequent, and Otsu's threshold, which separates them into two classes.
 *
 * Equalisation. Of n samples, `last` of which have the largest code, b below a code: that becomes b / (n -
 * last) of white. For a white of 255 it is Pillow's ImageOps.equalize, to the code: (b + step / 2) / step
 * with step = (n - last) / 255, whole numbers all, and nothing changes where step is 0. Other whites: white *
 * b / (n - last), rounded. A channel of one value is unchanged. Integer arithmetic: the same bits everywhere.
 *
 * Otsu (1979): of all levels the lowest where the variance between the samples up to it and those above it,
 * n0 n1 (mean0 - mean1)^2, is largest; codes above become white, others 0. A channel of one value becomes 0.
 * In double, from integers, in a fixed sequence of single roundings: the same bits everywhere.
 *
 * Views: whole frames, u8 or u16, both alike, any strides. Cost: reads memory twice, writes it once.
 */
#ifndef FC_FILTERS_EQUALIZE_H
#define FC_FILTERS_EQUALIZE_H

#include "core/contract/view.h"
#include "filters/base/api.h"

FC_BEGIN_DECLS

typedef enum fc_equalize_form {
  FC_EQUALIZE_FLAT,
  FC_EQUALIZE_OTSU,
  FC_EQUALIZE_OTSU_INVERSE
} fc_equalize_form;

typedef struct fc_equalize {
  uint32_t white; /* 1 to 65535 */
  int32_t form;   /* fc_equalize_form */
} fc_equalize;

#ifdef __CUDACC__
#define FC_EQUALIZE_FN static inline __host__ __device__
#else
#define FC_EQUALIZE_FN static inline
#endif

/* The new code for a code with `below` samples less than it, out of `spread` samples that are not of the
 * largest code. */
FC_EQUALIZE_FN uint32_t fc_equalize_code(uint32_t code, uint64_t below, uint64_t spread, uint32_t white) {
  const uint64_t step = spread / 255;
  if (spread == 0 || (white == 255 && step == 0)) return code;
  const uint64_t made =
      white == 255 ? (step / 2 + below) / step : (2 * below * white + spread) / (2 * spread);
  return made < white ? (uint32_t)made : white;
}

/* n^2 times the variance between the classes: the lower one has `n0` samples with sum `s0`, all are `n`
 * with sum `s`. */
FC_EQUALIZE_FN double fc_otsu_variance(uint64_t n0, uint64_t s0, uint64_t n, uint64_t s) {
  if (n0 == 0 || n0 == n) return 0;
  const double below = (double)n0, above = (double)(n - n0);
  const double apart = (double)s0 / below - (double)(s - s0) / above;
  return below * above * (apart * apart);
}

/* The result for a code, given the threshold. */
FC_EQUALIZE_FN uint32_t fc_otsu_code(uint32_t code, uint32_t level, const fc_equalize *e) {
  return (code > level) == (e->form == FC_EQUALIZE_OTSU) ? e->white : 0;
}

/* The plain version, also used on the CPU: two additions and loads per sample. `scratch` is
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
