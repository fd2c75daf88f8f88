/* SPDX-License-Identifier: MIT */
/*
 * gemm_tma.h - the product on sm_90 for operands that the tensor memory accelerator can read: lines of
 * adjacent elements, aligned to 16 bytes. Internal to the .cu files of filters/, C++.
 */
#ifndef FC_FILTERS_GEMM_TMA_H
#define FC_FILTERS_GEMM_TMA_H

#include "filters/gemm/gemm.h"

/* `stream` is a cudaStream_t. C by rows is stored fastest. FC_UNSUPPORTED for another device, layout or size,
 * with nothing enqueued; sums are those of the other kernels, to the bit. */
fc_status fc_gemm_tma_f32(const fc_gemm *g, void *stream);
fc_status fc_gemm_tma_f64(const fc_gemm *g, void *stream);

#endif
