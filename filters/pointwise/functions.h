/* SPDX-License-Identifier: MIT */
/*
 * functions.h - operations on each sample or pixel as device functions: source text that the host composes
 * into kernels of its own (extension "device-function/1" of plugin.h), and the bytes of its members. What
 * they give is, to the bit, what pointwise.cu and matrix_mix.cu give: the same roundings in the same order.
 *
 * Texts are in terms of `real`, the type computed with, FC_DEVICE, and fc_at_least, fc_at_most and fc_fma of
 * filters/gpu/map.cuh. A struct's bytes are its members one after the other, each a `real`.
 */
#ifndef FC_FILTERS_FUNCTIONS_H
#define FC_FILTERS_FUNCTIONS_H

#include "filters/pointwise/pointwise.h"

FC_BEGIN_DECLS

#define FC_FUNCTION_CHANNELS 4 /* of pixels, at most */
#define FC_FUNCTION_NUMBERS  (FC_FUNCTION_CHANNELS * (FC_FUNCTION_CHANNELS + 1))

typedef struct fc_function {
  const char *source; /* constant */
  char entry[32];     /* the struct's name, with its arguments */
  uint32_t in, out;   /* channels; 0: each sample by itself */
  uint32_t n_bytes, align;
  union {
    float f32[FC_FUNCTION_NUMBERS];
    double f64[FC_FUNCTION_NUMBERS];
  } numbers;
} fc_function;

/* `p` without factors and frames in memory. */
FC_FILTERS_API void fc_function_pointwise(const fc_pointwise *p, fc_function *f);

/* A factor for each of so many interleaved or planar channels. FC_UNSUPPORTED: there are more than
 * FC_FUNCTION_CHANNELS. */
FC_FILTERS_API fc_status fc_function_gains(int compute, const double *factors, int64_t channels,
                                           fc_function *f);

/* y = M x + v for a pixel's channels: `rows` x `cols` numbers by rows, and `rows` offsets or NULL. Sums run
 * from the offset on, by columns. FC_UNSUPPORTED: there are more channels than FC_FUNCTION_CHANNELS. */
FC_FILTERS_API fc_status fc_function_matrix(int compute, const double *matrix, const double *offsets,
                                            int64_t rows, int64_t cols, fc_function *f);

/* Output channel i is input channel channels[i], counted from 0, as it is. FC_UNSUPPORTED: there are more
 * than FC_FUNCTION_CHANNELS on either side. */
FC_FILTERS_API fc_status fc_function_mix(const int32_t *channels, int64_t out, int64_t in, fc_function *f);

FC_END_DECLS

#endif
