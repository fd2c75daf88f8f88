/* SPDX-License-Identifier: MIT */
/*
 * functions.h - operations on each sample or pixel as device functions (extension "device-function/1" of
 * plugin.h). Results are, to the bit, those of pointwise.cu, gather.cu and matrix.cu: the same roundings in
 * the same order.
 *
 * Texts use `real`, the compute type, FC_DEVICE, and fc_at_least, fc_at_most and fc_fma of
 * filters/gpu/map.cuh. A struct's bytes are its members one after the other, each a `real`.
 */
#ifndef FC_FILTERS_FUNCTIONS_H
#define FC_FILTERS_FUNCTIONS_H

#include "core/contract/device_function.h"
#include "filters/pointwise/pointwise.h"

FC_BEGIN_DECLS

#define FC_FUNCTION_CHANNELS 4 /* limit of channels of a pixel */

/* `p` without factors and frames in memory. */
FC_FILTERS_API void fc_function_pointwise(const fc_pointwise *p, fc_device_function *f);

/* Says that a complete function is worth a kernel alone where pointwise.cu has none of packs for these types.
 * The host composes samples of codes that become codes of 8 and 16 bits without being told. */
FC_FILTERS_API void fc_function_alone(int compute, int in_dtype, int out_dtype, fc_device_function *f);

/* A factor for each interleaved or planar channel. FC_UNSUPPORTED: there are more than
 * FC_FUNCTION_CHANNELS. */
FC_FILTERS_API fc_status fc_function_gains(int compute, const double *factors, int64_t channels,
                                           fc_device_function *f);

/* v * factor + term per channel, rounded once: pairs of the two. FC_UNSUPPORTED as above. */
FC_FILTERS_API fc_status fc_function_affines(int compute, const double *pairs, int64_t channels,
                                             fc_device_function *f);

/* y = M x + v for a pixel's channels: `rows` x `cols` numbers by rows, and `rows` offsets or NULL. Sums run
 * from the offset on, by columns. FC_UNSUPPORTED: there are more channels than FC_FUNCTION_CHANNELS. */
FC_FILTERS_API fc_status fc_function_matrix(int compute, const double *matrix, const double *offsets,
                                            int64_t rows, int64_t cols, fc_device_function *f);

/* Output channel i is input channel channels[i], counted from 0, unchanged. FC_UNSUPPORTED: there are more
 * than FC_FUNCTION_CHANNELS on either side. */
FC_FILTERS_API fc_status fc_function_mix(const int32_t *channels, int64_t out, int64_t in,
                                         fc_device_function *f);

FC_END_DECLS

#endif
