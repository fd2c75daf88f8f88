/* SPDX-License-Identifier: MIT */
/*
 * gemm_tma.h - the product on sm_90 for operands that the tensor memory accelerator can read: lines of
 * adjacent elements, aligned to 16 bytes. Internal to the .cu files of filters/, C++.
 */
#ifndef FC_FILTERS_GEMM_TMA_H
#define FC_FILTERS_GEMM_TMA_H

#include "filters/gemm/gemm_plan.h"

/* A product of fc_gemm_by_rows as fc_gemm_choose says; `stream` is a cudaStream_t. FC_UNSUPPORTED, with
 * nothing enqueued, for sizes beyond 32 bits and where the kernel is not in the build; sums are those of the
 * other kernels, to the bit. */
fc_status fc_gemm_tma_f32(const fc_gemm *g, const fc_gemm_choice *choice, void *stream);
fc_status fc_gemm_tma_f64(const fc_gemm *g, const fc_gemm_choice *choice, void *stream);

#endif
