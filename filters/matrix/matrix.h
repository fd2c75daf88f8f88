/* SPDX-License-Identifier: MIT */
/*
 * matrix.h - multiplication by a matrix along an axis, with an offset: y = M x + v.
 *
 * The axis is cut into blocks of `cols` elements, anchored at position 0; each becomes a block of `rows`. One
 * block may span the whole axis (a channel matrix does), and all other axes are independent. Block transforms
 * along X and Y at once are in matrix_xy.h.
 *
 * Each output is v[r] + M[r][0] x[0] + M[r][1] x[1] + ..., on the CPU summed in that order with a fused
 * multiply-add a step (two roundings where the machine has none), in blocks of FC_MATRIX_BLOCK columns whose
 * sums are added, for any layout: so the result does not depend on how the signal is cut. Products with 0 are
 * computed like any others: NaN and infinity spread over their block.
 *
 * The views: `out` starts at a multiple of `rows` and `in` at the same multiple of `cols`; `in` is readable
 * to the end of its last block. No allocation; re-entrant.
 */
#ifndef FC_FILTERS_MATRIX_H
#define FC_FILTERS_MATRIX_H

#include "core/contract/view.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

#define FC_MATRIX_BLOCK 256

typedef struct fc_matrix {
  int32_t compute; /* FC_F32 or FC_F64: of the matrix, the offset and the sums */
  int32_t isa;     /* fc_isa to use on the CPU: fc_isa_best(), or a lesser one in tests */
  int32_t axis;    /* fc_axis */
  int64_t rows, cols;
  int64_t pitch;      /* distance of columns, see fc_matrix_fill */
  const void *matrix; /* [cols][pitch], aligned to 64 bytes, in the device's memory */
  const void *offset; /* [pitch] likewise, or NULL for none */
  int32_t split; /* on devices: large products of f32 by fc_gemm_split_cuda (gemm.h) where there is that */
} fc_matrix;

/* Sets rows, cols and pitch for this compute type and instruction set; the matrix then needs
 * fc_matrix_bytes, and the offset pitch elements. */
FC_FILTERS_API void fc_matrix_init(fc_matrix *m, int compute, int isa, int axis, int64_t rows, int64_t cols);
FC_FILTERS_API size_t fc_matrix_bytes(const fc_matrix *m);
FC_FILTERS_API size_t fc_matrix_offset_bytes(const fc_matrix *m);

/* Writes a row-major matrix in the layout of m->matrix, transposed with each column padded with zeros to
 * whole vectors, and the offsets in that of m->offset; `offset` may be NULL. */
FC_FILTERS_API void fc_matrix_fill(const fc_matrix *m, void *matrix, void *offset, const double *rows,
                                   const double *offsets);

/* FC_INVALID for views that do not fit the matrix. */
FC_FILTERS_API fc_status fc_matrix_check(const fc_matrix *m, const fc_view *in, const fc_view *out);

/* The plain loops; sums in double for either type. `notes` as in fc_job, or NULL. */
FC_FILTERS_API fc_status fc_matrix_ref(const fc_matrix *m, const fc_view *in, const fc_view *out,
                                       uint32_t *notes);

/* Bytes of scratch for fc_matrix_cpu, for any views. */
FC_FILTERS_API size_t fc_matrix_scratch(const fc_matrix *m);
/* `scratch` is aligned to 64 bytes. */
FC_FILTERS_API fc_status fc_matrix_cpu(const fc_matrix *m, const fc_view *in, const fc_view *out,
                                       void *scratch, uint32_t *notes);

/* Bytes of device memory for fc_matrix_cuda, for any types of input and output; grows with the shape. */
FC_FILTERS_API size_t fc_matrix_device_scratch(const fc_matrix *m, const fc_view *out);
/* Enqueues on `stream`, a cudaStream_t; everything in the memory of its device. `scratch` is aligned to 256.
 * Sums of a matrix of more than 16 rows or columns are those of gemm.h, with the offset added last. */
FC_FILTERS_API fc_status fc_matrix_cuda(const fc_matrix *m, const fc_view *in, const fc_view *out,
                                        void *scratch, uint32_t *notes, void *stream);

/* Whether that is as fast, along the channels, as a kernel composed for the matrix (core/compose). */
FC_FILTERS_API int fc_matrix_is_quick(int compute, int64_t rows, int64_t cols, int in_dtype, int out_dtype);

FC_END_DECLS

#endif
