// SPDX-License-Identifier: MIT
//
// cuda_kernels.cuh - the engine's own kernels: strided transfers, conversion of element types, borders. The
// runner (cuda.cu) calls them.
//
// Every function enqueues on the stream and returns; none synchronises or allocates, so all but transfers of
// pageable memory may be captured in a graph. The device must be current. Views may have any strides for
// which no two elements overlap, and any number of elements: what exceeds 32-bit indices takes several
// launches.
#ifndef FC_CORE_CUDA_KERNELS_CUH
#define FC_CORE_CUDA_KERNELS_CUH

#include <cuda_runtime.h>

#include "core/base/demand.h"
#include "core/base/linear_sum.h"

// Copies between host and device; shapes and dtypes are equal. Uses as few copies as the strides allow: one
// if the data are contiguous, pitched or a box on both sides.
cudaError_t fc_cuda_transfer(const fc_view *to, const fc_view *from, cudaMemcpyKind kind,
                             cudaStream_t stream);

// Copies on the device (or pinned host memory) with conversion of dtype; shapes are equal.
// notes: FC_NOTES words as in fc_job, or NULL. A NaN becomes the code of zero.
cudaError_t fc_cuda_convert(const fc_view *to, const fc_view *from, uint32_t *notes, cudaStream_t stream);

// See fc_runner.fill_border. `code` NULL means silence or black. Returns cudaErrorInvalidValue for a wrap
// whose period is not known.
cudaError_t fc_cuda_fill_border(const fc_view *view, const fc_range wanted[FC_AXES], int border,
                                const void *code, cudaStream_t stream);

// See fc_runner.sum.
cudaError_t fc_cuda_sum(const fc_linear_sum *sum, cudaStream_t stream);

// Whether this build has code for the current device; loads the code.
cudaError_t fc_cuda_has_code(void);

#endif
