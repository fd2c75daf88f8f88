/* SPDX-License-Identifier: MIT */
/*
 * pointwise.h - operations on each sample independently: scaling, mapping one range onto another, limiting,
 * tone curves, thresholds, and plain conversion between element types.
 *
 * Every operation is a fixed sequence of single roundings in the compute type (powers in double, power.inc),
 * on the CPU and on a device, so that results are always the same to the bit.
 *
 * Views: any strides, element types and kinds, equal shapes, any of them 0. `out` may be the memory of `in`
 * when type and strides are equal; else they do not overlap. Threads: pure functions of their arguments.
 * Cost: reads and writes memory once.
 */
#ifndef FC_FILTERS_POINTWISE_H
#define FC_FILTERS_POINTWISE_H

#include "core/contract/view.h"
#include "filters/base/api.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

typedef enum fc_pointwise_form {
  FC_POINTWISE_COPY,     /* v */
  FC_POINTWISE_SCALE,    /* v * factor */
  FC_POINTWISE_MAP,      /* (v - from) * factor + to */
  FC_POINTWISE_CLAMP,    /* low where v < low, high where v > high, else v (a NaN too) */
  FC_POINTWISE_AFFINE,   /* v * factor + to, rounded once */
  FC_POINTWISE_CURVE,    /* t ^ exponent * span + to, t = (v - from) * factor limited to 0 .. high */
  FC_POINTWISE_THRESHOLD /* high where v > from, else low; with `keeps` v on one side and 0 on the other */
} fc_pointwise_form;

#define FC_POINTWISE_KEEPS_ABOVE 1 /* v where v > from, else 0 */
#define FC_POINTWISE_KEEPS_BELOW 2 /* 0 where v > from, else v */

typedef struct fc_pointwise {
  int32_t form;    /* fc_pointwise_form */
  int32_t compute; /* FC_F32 or FC_F64; the numbers below are rounded to it */
  fc_isa isa;      /* for fc_pointwise_cpu */
  double from, factor, to;
  double low, high;
  double exponent, span; /* of a curve */
  int32_t keeps;         /* FC_POINTWISE_KEEPS_*, of a threshold, or 0 */
  /* SCALE: a factor for each channel, of the compute type, or NULL; AFFINE: `factor` and `to` of each. */
  const void *factors; /* in the memory of the views */
  /* MAP: `from` and `factor` of each frame (element of N) instead of those above: pairs of
   * the compute type, or NULL. */
  const void *frames; /* in the memory of the views */
  /* For fc_pointwise_cpu of u8 or u16: the results for all codes in the compute type, as
   * fc_pointwise_table makes them, or NULL. */
  const void *table;
} fc_pointwise;

/* Whether a table of results is faster than computing them, for codes of this type. */
FC_FILTERS_API int fc_pointwise_wants_table(const fc_pointwise *p, int dtype);
/* Elements of such a table; the results for all codes of this kind and type. */
FC_FILTERS_API int64_t fc_pointwise_codes(int dtype);
FC_FILTERS_API void fc_pointwise_table(const fc_pointwise *p, int kind, int dtype, void *table);

/* The definition, one element at a time, in double except for the final rounding to the compute type.
 * `notes` as for fc_store_f32. */
FC_FILTERS_API fc_status fc_pointwise_ref(const fc_pointwise *p, const fc_view *in, const fc_view *out,
                                          uint32_t *notes);

/* Vectorised. `scratch` is fc_pointwise_cpu_scratch bytes, aligned to 64. */
FC_FILTERS_API size_t fc_pointwise_cpu_scratch(const fc_pointwise *p);
FC_FILTERS_API fc_status fc_pointwise_cpu(const fc_pointwise *p, const fc_view *in, const fc_view *out,
                                          void *scratch, uint32_t *notes);

/* Whether fc_pointwise_cuda has a kernel of 16 bytes a load for these types, where elements are adjacent;
 * others go element by element, at 0.2 of copy, and are composed alone where that is possible. In f32 f32
 * from and to itself and codes of 8 and 16 bits, as products of matrices are converted, bytes, and u16 to
 * bytes, as pictures are stretched; in f64 f64 to itself. A constant where its arguments are. */
#define FC_POINTWISE_IS_DENSE(compute, in, out)                                                              \
  ((compute) == FC_F64                                                                                       \
       ? (in) == FC_F64 && (out) == FC_F64                                                                   \
       : ((in) == FC_F32 && FC_POINTWISE_IS_SHORT(out)) || ((out) == FC_F32 && FC_POINTWISE_IS_SHORT(in)) || \
             (((in) == FC_U8 || (in) == FC_U16) && (out) == FC_U8))
#define FC_POINTWISE_IS_SHORT(dtype) ((dtype) <= FC_U16 || (dtype) == FC_F32)

/* Enqueues on `stream` (a cudaStream_t) of the current device. Only in a build with
 * CUDA. */
FC_FILTERS_API fc_status fc_pointwise_cuda(const fc_pointwise *p, const fc_view *in, const fc_view *out,
                                           void *stream, uint32_t *notes);

FC_END_DECLS

#endif
