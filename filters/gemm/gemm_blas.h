/* SPDX-License-Identifier: MIT */
/*
 * gemm_blas.h - the product of gemm.h by an installed BLAS (OpenBLAS), for callers that prefer its speed to
 * reproducible bits. Built as libfilterchain-blas with -Dblas=enabled, or auto where there is one.
 *
 * The result is that of fc_gemm_cpu to rounding. An element may depend on m and n, on the strides and on the
 * number of threads, which are BLAS's own: the operators, whose chunks must give the bits of the whole, use
 * fc_gemm_cpu. Figures of both: WHY.md.
 */
#ifndef FC_FILTERS_GEMM_BLAS_H
#define FC_FILTERS_GEMM_BLAS_H

#include "filters/gemm/gemm.h"

FC_BEGIN_DECLS

/* FC_UNSUPPORTED, with nothing written, for what BLAS cannot express: matrices whose elements are adjacent
 * neither along rows nor along columns, or sizes beyond its integers. Re-entrant if the BLAS is. */
FC_FILTERS_API fc_status fc_gemm_blas(const fc_gemm *g);

FC_END_DECLS

#endif
