/* SPDX-License-Identifier: MIT */
/*
 * matrix_xy.h - a matrix along X, then one along Y: separable block transforms of
 * images, Y = My X Mx'. See matrix.h for either pass.
 *
 * Values between the passes stay in the compute type. The CPU's are those of passes.h; on
 * a device small square blocks go through one kernel, others through device memory.
 */
#ifndef FC_FILTERS_MATRIX_XY_H
#define FC_FILTERS_MATRIX_XY_H

#include "filters/matrix/matrix.h"
#include "filters/base/passes.h"

FC_BEGIN_DECLS

typedef struct fc_matrix_xy {
  fc_matrix x, y; /* of axes FC_AXIS_X and FC_AXIS_Y, of one compute type */
} fc_matrix_xy;

/* One of the two passes on the CPU; refers to the matrix. */
FC_FILTERS_API fc_pass fc_matrix_pass(const fc_matrix *m);
/* The same on a CUDA device. */
FC_FILTERS_API fc_device_pass fc_matrix_device_pass(const fc_matrix *m);

FC_FILTERS_API fc_status fc_matrix_xy_ref(const fc_matrix_xy *m, const fc_view *in, const fc_view *out,
                                          void *scratch, uint32_t *notes);

/* Bytes of scratch for fc_matrix_xy_cpu and _ref; grows with the shapes. */
FC_FILTERS_API size_t fc_matrix_xy_scratch(const fc_matrix_xy *m, const fc_view *in, const fc_view *out);
/* `scratch` is aligned to 64 bytes. */
FC_FILTERS_API fc_status fc_matrix_xy_cpu(const fc_matrix_xy *m, const fc_view *in, const fc_view *out,
                                          void *scratch, uint32_t *notes);

/* Bytes of device memory for fc_matrix_xy_cuda. */
FC_FILTERS_API size_t fc_matrix_xy_device_scratch(const fc_matrix_xy *m, const fc_view *out);
FC_FILTERS_API fc_status fc_matrix_xy_cuda(const fc_matrix_xy *m, const fc_view *in, const fc_view *out,
                                           void *scratch, uint32_t *notes, void *stream);

FC_END_DECLS

#endif
